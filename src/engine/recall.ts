/** Where a run goes on, from what its ledger tells of it. */
import type { ResumedStep } from '../domain/event.ts';
import type { Evidence } from '../domain/evidence.ts';
import { type Limits, reachedLimit, type Spending } from '../domain/limits.ts';
import { needsAgent, type Past, type PastIteration } from '../domain/past.ts';
import { isSuccess, endingOf as traitsOf } from '../domain/stop-reason.ts';
import { type Feedback, feedbackOn, type Run, type Verdict } from '../domain/verdict.ts';

export interface GoOn {
  readonly step: ResumedStep;
  readonly iteration: number;
  readonly feedback: readonly Feedback[];
  /** The iteration that was cut off after the agent's turn: what of it is known. */
  readonly open?: PastIteration;
  /** How the run was about to end. */
  readonly ending?: Verdict & { readonly kind: 'stop' };
}

/** What the agent hears of a turn that was cut off. */
const CUT_OFF: Feedback = { kind: 'turn-ended', by: 'interrupt' };

export function goOn(past: Past, run: Run): GoOn {
  const last = past.iterations.at(-1);
  if (!last) return { step: past.prepared ? 'next' : 'prepare', iteration: 1, feedback: [] };
  const { number } = last;
  if (needsAgent(last))
    return { step: 'agent', iteration: number, feedback: [...told(past.iterations.at(-2), run), CUT_OFF] };
  if (!last.ended)
    return { step: last.judged ? 'scm' : 'check', iteration: number, feedback: [], open: last };
  const ending = endingOf(last, past, run);
  if (ending) return { step: 'end', iteration: number, feedback: [], ending };
  return { step: 'next', iteration: number + 1, feedback: told(last, run) };
}

/** A run that was about to stop does so, unless what stopped it was a limit and there is more of it now. */
function endingOf({ judged }: PastIteration, past: Past, run: Run): GoOn['ending'] {
  const verdict = judged?.verdict;
  if (past.result || verdict?.kind !== 'stop') return undefined;
  return traitsOf(verdict.reason).isLimit && !stillSpent(past, run.limits) ? undefined : verdict;
}

/** The limit that would stop the run at once. */
export function stillSpent(past: Past, limits: Limits): Spending | undefined {
  const judged = past.iterations.findLast(iteration => iteration.judged)?.judged;
  return judged && reachedLimit(limits, { ...judged.spent, elapsed: past.elapsed });
}

export function isDone(past: Past): boolean {
  return past.result !== undefined && isSuccess(past.result.stopReason);
}

/** As after any iteration; what stopped the run then does not count any more. */
function told(iteration: PastIteration | undefined, run: Run): readonly Feedback[] {
  const verdict = iteration?.judged?.verdict;
  if (verdict?.kind === 'continue') return verdict.feedback;
  const evidence = iteration && evidenceOf(iteration);
  if (!evidence) return [];
  // Whoever resumes has changed something: what got nowhere begins to count anew.
  const { standstill: _, ...rest } = evidence;
  return feedbackOn(run, { ...rest, repeats: 0 });
}

/** What was seen in a finished iteration, as `judge` wants it. */
export function evidenceOf({ turn, judged, checks, violations }: PastIteration): Evidence | undefined {
  if (!turn || !judged) return undefined;
  const { outcome, claim, blocked } = turn;
  const { treeChanged, repeats, spent, standstill, denials, stories } = judged;
  return {
    outcome,
    claim,
    ...(blocked !== undefined && { blocked }),
    checks,
    violations,
    ...(denials && { denials }),
    ...(stories && { stories }),
    treeChanged,
    repeats,
    ...(standstill && { standstill }),
    spent,
  };
}
