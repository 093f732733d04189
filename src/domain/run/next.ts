/**
 * What a run does next, from what it has done so far. Every step is over when one event of its own is on the ledger, so a run that
 * was cut off anywhere continues with the step that has no such event yet, and a run that starts is one with an empty state.
 */

import { pick } from '../text/fields.ts';
import { spentSoFar } from '../turn/usage.ts';
import { nextReturn, stuckWords } from './best.ts';
import type { Restoring, ResumedStep } from './event.ts';
import type { Evidence, Spent } from './evidence.ts';
import { budgetLimit, type Limits, limitedTurn, reachedLimit, type Spending } from './limits.ts';
import type { IterationState, RunState } from './state.ts';
import { endingOf, isSuccess, type StopReason } from './stop-reason.ts';
import { type Feedback, feedbackOn, type Run } from './verdict.ts';

export type Step =
  /** Done once, before the first iteration; over with `prepared`. */
  | { readonly kind: 'prepare' }
  /** The agent works; over with `turn-ended`. */
  | { readonly kind: 'turn'; readonly iteration: number; readonly feedback: readonly Feedback[] }
  /** Protected files are restored, the checks run, and the evidence is judged; over with `judged`. */
  | { readonly kind: 'check'; readonly iteration: number }
  /** The work is committed, where that was asked for; over with `iteration-ended`. */
  | { readonly kind: 'finish'; readonly iteration: number }
  /** The files become those of an earlier iteration; over with `restored`. */
  | { readonly kind: 'restore'; readonly to: number; readonly why: Restoring['why'] }
  /** Over with `run-ended`. */
  | { readonly kind: 'end'; readonly reason: StopReason; readonly detail?: string };

export function next(state: RunState, run: Run): Step {
  const step = nextStep(state, run);
  // A turn that was cut off, or a commit message, may have spent what was left since the last verdict.
  const spent = step.kind === 'turn' && budgetLimit(run.limits, spentBy(state));
  return spent ? { kind: 'end', ...spent } : step;
}

function nextStep(state: RunState, run: Run): Step {
  const { prepared, open, last } = state;
  if (!prepared) return { kind: 'prepare' };
  if (state.restoring) return { kind: 'restore', ...pick(state.restoring, 'to', 'why') };
  if (open?.judged) return { kind: 'finish', iteration: open.number };
  const limited = open?.turn && limitedTurn(open.turn);
  if (limited) return { kind: 'end', ...limited };
  if (open?.turn) return { kind: 'check', iteration: open.number };
  if (open) return { kind: 'turn', iteration: open.number, feedback: [...feedbackAfter(last, run), CUT_OFF] };
  const verdict = last?.judged?.verdict;
  // It was a limit that stopped the run, and there is more of it now.
  const isRaised =
    verdict?.kind === 'stop' && endingOf(verdict.reason).isLimit && !stillSpent(state, run.limits);
  if (verdict?.kind === 'stop' && !state.isOverruled && !isRaised) {
    const { reason, detail } = verdict;
    const failed = isSuccess(reason) ? last?.tasks.find(({ outcome }) => outcome === 'failed') : undefined;
    if (failed?.refused !== undefined && mayTryAgain(state, run.limits)) return nextTurn(state, run);
    if (failed)
      return { kind: 'end', reason: 'scm_failed', detail: `${failed.task}: ${failed.detail ?? ''}` };
    return { kind: 'end', reason, ...(detail !== undefined && { detail }) };
  }
  return nextTurn(state, run);
}

/** With the files of the best iteration, where those since then ended worse for too long. */
function nextTurn(state: RunState, run: Run): Step {
  const { best } = state;
  const back = nextReturn(state, run.goBack);
  if (!best || !back) return turnAfter(state, run);
  if (back === 'stuck') return { kind: 'end', reason: 'stuck', detail: stuckWords(best) };
  return { kind: 'restore', to: best.at.number, why: 'worse' };
}

function turnAfter({ last }: RunState, run: Run): Step {
  return { kind: 'turn', iteration: (last?.number ?? 0) + 1, feedback: feedbackAfter(last, run) };
}

/** What the user has said to the agent in the last turn is worth another one, where a turn can help and the limits allow it. */
export function turnForHint(
  { reason }: Extract<Step, { readonly kind: 'end' }>,
  state: RunState,
  run: Run,
): Step | undefined {
  const canHelp = isSuccess(reason) || reason === 'stuck' || reason === 'blocked';
  if (!canHelp || state.open || !state.last || stillSpent(state, run.limits)) return undefined;
  return turnAfter(state, run);
}

/** What a hook refuses is for the agent to put right, as long as that changes anything. */
function mayTryAgain(state: RunState, limits: Limits): boolean {
  const { stuckAfter } = limits;
  return !stillSpent(state, limits) && (stuckAfter === 0 || (state.repeated?.times ?? 0) <= stuckAfter);
}

/** What the agent hears of a turn that was cut off. */
const CUT_OFF: Feedback = { kind: 'turn-ended', by: 'interrupt' };

/** The step with which a resumed run continues, in the words of the ledger. */
export function resumedStep(
  state: RunState,
  run: Run,
): { readonly step: ResumedStep; readonly iteration: number } {
  if (state.board) return { step: 'lanes', iteration: 1 };
  const step = next(state, run);
  if (step.kind === 'prepare') return { step: 'prepare', iteration: 1 };
  if (step.kind === 'end') return { step: 'end', iteration: state.last?.number ?? 1 };
  if (step.kind === 'turn') return { step: state.open ? 'agent' : 'next', iteration: step.iteration };
  if (step.kind === 'restore') return { step: 'next', iteration: (state.last?.number ?? 0) + 1 };
  return { step: step.kind === 'check' ? 'check' : 'scm', iteration: step.iteration };
}

/** The limit that would stop the run at once. */
export function stillSpent(state: RunState, limits: Limits): Spending | undefined {
  const spent = spentBy(state);
  const hasWorked = state.totals.iterations > 0 || state.open?.turn !== undefined;
  return hasWorked ? reachedLimit(limits, spent) : budgetLimit(limits, spent);
}

function spentBy({ totals, time }: RunState): Spent {
  return spentSoFar(totals, time.elapsed);
}

/** As after any iteration; what stopped the run then does not count any more. */
function feedbackAfter(iteration: IterationState | undefined, run: Run): readonly Feedback[] {
  const verdict = iteration?.judged?.verdict;
  const refusals = (iteration?.tasks ?? []).flatMap(({ outcome, refused }) =>
    outcome === 'failed' && refused !== undefined ? [refusal(refused)] : [],
  );
  const undone: readonly Feedback[] = iteration?.undone ? [{ kind: 'undone', ...iteration.undone }] : [];
  const first = [...undone, ...refusals];
  if (verdict?.kind === 'continue') return [...first, ...verdict.feedback];
  const evidence = iteration && evidenceOf(iteration);
  if (!evidence) return first;
  // Whoever resumes has changed something: repeats and standstill start to count anew.
  const { standstill: _, ...rest } = evidence;
  return [...first, ...feedbackOn(run, { ...rest, repeats: 0 })];
}

/** A hook is a check of the user's that runs when the work is committed. */
function refusal(output: string): Feedback {
  const hint =
    'A hook of the repository has refused the commit of your work. Do what it asks for; do not go around it.';
  const ran = { exitCode: 1, timedOut: false, duration: 0, output, outputCut: false, logFile: '(none)' };
  const check = {
    index: -1,
    command: 'git commit',
    failAction: 'APPEND',
    hint,
    passed: false,
    ...ran,
  } as const;
  return { kind: 'check-failed', check };
}

/** What was seen in an iteration that was judged, as `judge` takes it. */
export function evidenceOf(iteration: IterationState): Evidence | undefined {
  const { turn, judged, checks, clean, violations } = iteration;
  if (!turn || !judged) return undefined;
  return {
    ...pick(turn, 'outcome', 'claim', 'blocked'),
    checks: [...checks, ...clean],
    violations,
    ...pick(judged, 'denials', 'stories', 'treeChanged', 'repeats', 'standstill', 'spent'),
    ...pick(judged, 'inputsChanged', 'unstable'),
    ...pick(iteration, 'mutation', 'survivorsShown'),
  };
}
