/**
 * What a run does next, from what it has done so far. Every step is over when one event of its own is on the ledger, so a run that
 * was cut off anywhere continues with the step that has no such event yet, and a run that starts is one with an empty past.
 */
import type { ResumedStep } from './event.ts';
import type { Evidence, Spent } from './evidence.ts';
import { pick } from './fields.ts';
import { budgetLimit, type Limits, limitedTurn, reachedLimit, type Spending } from './limits.ts';
import type { Past } from './past.ts';
import type { PastIteration } from './past-iteration.ts';
import { endingOf, isSuccess, type StopReason } from './stop-reason.ts';
import { spentSoFar } from './usage.ts';
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
  /** Over with `run-ended`. */
  | { readonly kind: 'end'; readonly reason: StopReason; readonly detail?: string };

export function next(past: Past, run: Run): Step {
  const step = nextStep(past, run);
  // A turn that was cut off, or a commit message, may have spent what was left since the last verdict.
  const spent = step.kind === 'turn' && budgetLimit(run.limits, spentBy(past));
  return spent ? { kind: 'end', ...spent } : step;
}

function nextStep(past: Past, run: Run): Step {
  const { prepared, open, last } = past;
  if (!prepared) return { kind: 'prepare' };
  if (open?.judged) return { kind: 'finish', iteration: open.number };
  const limited = open?.turn && limitedTurn(open.turn);
  if (limited) return { kind: 'end', ...limited };
  if (open?.turn) return { kind: 'check', iteration: open.number };
  if (open) return { kind: 'turn', iteration: open.number, feedback: [...feedbackAfter(last, run), CUT_OFF] };
  const verdict = last?.judged?.verdict;
  if (verdict?.kind === 'stop' && !past.isOverruled && !isRaised(verdict.reason, past, run.limits)) {
    const { reason, detail } = verdict;
    const failed = isSuccess(reason) ? last?.tasks.find(({ outcome }) => outcome === 'failed') : undefined;
    if (failed)
      return { kind: 'end', reason: 'scm_failed', detail: `${failed.task}: ${failed.detail ?? ''}` };
    return { kind: 'end', reason, ...(detail !== undefined && { detail }) };
  }
  return { kind: 'turn', iteration: (last?.number ?? 0) + 1, feedback: feedbackAfter(last, run) };
}

/** What the agent hears of a turn that was cut off. */
const CUT_OFF: Feedback = { kind: 'turn-ended', by: 'interrupt' };

/** The step with which a resumed run continues, in the words of the ledger. */
export function resumedStep(
  past: Past,
  run: Run,
): { readonly step: ResumedStep; readonly iteration: number } {
  const step = next(past, run);
  if (step.kind === 'prepare') return { step: 'prepare', iteration: 1 };
  if (step.kind === 'end') return { step: 'end', iteration: past.last?.number ?? 1 };
  if (step.kind === 'turn') return { step: past.open ? 'agent' : 'next', iteration: step.iteration };
  return { step: step.kind === 'check' ? 'check' : 'scm', iteration: step.iteration };
}

/** It was a limit that stopped the run, and there is more of it now. */
function isRaised(reason: StopReason, past: Past, limits: Limits): boolean {
  return endingOf(reason).isLimit && !stillSpent(past, limits);
}

/** The limit that would stop the run at once. */
export function stillSpent(past: Past, limits: Limits): Spending | undefined {
  const spent = spentBy(past);
  const hasWorked = past.totals.iterations > 0 || past.open?.turn !== undefined;
  return hasWorked ? reachedLimit(limits, spent) : budgetLimit(limits, spent);
}

function spentBy({ totals, time }: Past): Spent {
  return spentSoFar(totals, time.elapsed);
}

/** As after any iteration; what stopped the run then does not count any more. */
function feedbackAfter(iteration: PastIteration | undefined, run: Run): readonly Feedback[] {
  const verdict = iteration?.judged?.verdict;
  if (verdict?.kind === 'continue') return verdict.feedback;
  const evidence = iteration && evidenceOf(iteration);
  if (!evidence) return [];
  // Whoever resumes has changed something: repeats and standstill start to count anew.
  const { standstill: _, ...rest } = evidence;
  return feedbackOn(run, { ...rest, repeats: 0 });
}

/** What was seen in an iteration that was judged, as `judge` takes it. */
export function evidenceOf(iteration: PastIteration): Evidence | undefined {
  const { turn, judged, checks, clean, violations } = iteration;
  if (!turn || !judged) return undefined;
  return {
    ...pick(turn, 'outcome', 'claim', 'blocked'),
    checks: [...checks, ...clean],
    violations,
    ...pick(judged, 'denials', 'stories', 'treeChanged', 'repeats', 'standstill', 'spent'),
    ...pick(judged, 'inputsChanged', 'unsettled'),
    ...pick(iteration, 'mutation', 'survivorsTold'),
  };
}
