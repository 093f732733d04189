/**
 * The heart: an agent's turn has ended. Is it done, may it continue, and what should it hear?
 *
 * The order is law: completion with proof → integrity → limits → continue. What was changed and is not the agent's to
 * change voids the proof and heads the feedback; what it says of being blocked comes before the limits.
 * Limits come last, so work finished on the last allowed iteration is finished. A claim without proof never
 * ends a run. The verdict does not depend on the order in which the evidence came in.
 */
import { type CheckResult, isGreen, redChecks, whyUnmade } from '../checks/check.ts';
import type { Survivor } from '../checks/mutation.ts';
import { unfitForCommit } from '../text/feedback.ts';
import type { CompletionRule, NearMiss } from '../turn/claim.ts';
import type { Trouble } from '../turn/trouble.ts';
import type { GoBack } from './best.ts';
import type { Undone } from './event.ts';
import type { EndedBy, Evidence, StoryEvidence, Violation } from './evidence.ts';
import { isStuck, type Limits, spentLimit } from './limits.ts';
import type { Standstill } from './standstill.ts';
import type { StopReason, SuccessReason } from './stop-reason.ts';

/** What `judge` needs to know of a run: what counts as done, and how far it may go. */
export interface Run {
  readonly rule: CompletionRule;
  readonly limits: Limits;
  /** What to call it when it is done. */
  readonly success: SuccessReason;
  /** A claim counts only from an agent that called so many tools, or changed a file, since the run began. 0: always. */
  readonly minToolCalls: number;
  /** A changed check input, or checks that change what is handed over, void the proof. */
  readonly strict?: boolean;
  /** Percent of the faults in the changed lines that the checks must notice; absent: the agent hears of survivors once. */
  readonly mutateMin?: number;
  /** When it goes back to the files of its best iteration; absent: never. */
  readonly goBack?: GoBack;
}

/** Something the agent should hear before its next turn. */
export type Feedback =
  /** These iterations ended worse than one before them, and the files are those of that one again. */
  | { readonly kind: 'undone'; readonly to: number; readonly iterations: readonly Undone[] }
  | { readonly kind: 'check-failed'; readonly check: CheckResult }
  | { readonly kind: 'violation'; readonly violation: Violation }
  /** What the checks rest on is not what it was when the run began. */
  | { readonly kind: 'inputs-changed'; readonly paths: readonly string[]; readonly voids: boolean }
  /** The checks change files that are handed over, each time they run. */
  | { readonly kind: 'unstable'; readonly paths: readonly string[]; readonly voids: boolean }
  /** The sandbox stopped something it tried. */
  | { readonly kind: 'denied'; readonly what: readonly string[] }
  | { readonly kind: 'near-miss'; readonly nearMiss: NearMiss; readonly said?: string }
  /** Every check is green and the agent has not said that it is done. */
  | { readonly kind: 'claim-missing' }
  /** It says that it is done, and a check is red. */
  | { readonly kind: 'claim-unproven' }
  /** It says that it is done, and has done nothing. */
  | { readonly kind: 'no-work' }
  /** It says that everything is done, and these stories are not. */
  | { readonly kind: 'stories-open'; readonly ids: readonly string[] }
  /** What its mode asks for was not done. */
  | { readonly kind: 'story-missing'; readonly message: string }
  /** Faults that no check noticed. `min`: fewer than so many percent were noticed, so the work does not count as proven. */
  | {
      readonly kind: 'survivors';
      readonly survivors: readonly Survivor[];
      readonly checks: readonly string[];
      readonly score: number;
      readonly min?: number;
    }
  /** It could not be found out whether the checks would notice a fault, and that is asked for. */
  | { readonly kind: 'unmeasured'; readonly why: string }
  | { readonly kind: 'uncommitted'; readonly paths: readonly string[] }
  /** The same failure again and again, and no file has changed. */
  | { readonly kind: 'stuck'; readonly repeats: number }
  /** Another way of getting nowhere. */
  | { readonly kind: 'standstill'; readonly standstill: Standstill }
  | { readonly kind: 'turn-ended'; readonly by: EndedBy }
  | { readonly kind: 'turn-failed'; readonly trouble: Trouble };

/** Stop with a reason, or continue with feedback. */
export type Verdict =
  | { readonly kind: 'stop'; readonly reason: StopReason; readonly detail?: string }
  | { readonly kind: 'continue'; readonly feedback: readonly Feedback[] };

/** Decides by the evidence of a turn: completion with proof first, then violations, then limits; else it continues. */
export function judge(run: Run, evidence: Evidence): Verdict {
  if (isProven(run, evidence) && unwatched(run, evidence).length === 0)
    return { kind: 'stop', reason: successOf(run, evidence.checks.length > 0) };
  const unmade = whyUnmade(evidence.checks);
  if (unmade !== undefined) return { kind: 'stop', reason: 'disk_failed', detail: `${unmade}.` };
  const capped = evidence.stories?.capped;
  if (capped !== undefined) return { kind: 'stop', reason: 'review_cap', detail: capped };
  if (evidence.blocked !== undefined) return { kind: 'stop', reason: 'blocked', detail: evidence.blocked };
  const spent = spentLimit(run.limits, evidence);
  if (spent) {
    const why = unfitForCommit(evidence.checks) ?? emptyClaim(run, evidence);
    const detail = why === undefined ? spent.detail : `${spent.detail} ${why}.`;
    return { kind: 'stop', reason: spent.reason, detail };
  }
  return { kind: 'continue', feedback: feedbackOn(run, evidence) };
}

/** Else only the limit would be said, where everything is green. */
function emptyClaim(run: Run, evidence: Evidence): string | undefined {
  if (evidence.stories || claimFeedback(run, evidence)[0]?.kind !== 'no-work') return undefined;
  return 'The agent said that it was done, and had called no tool and changed no file';
}

/** Without a check there is only what the agent says. */
export function successOf({ success }: Pick<Run, 'success'>, isChecked: boolean): SuccessReason {
  return success === 'all_checks_passed' && !isChecked ? 'promise_accepted' : success;
}

/**
 * Done means: the agent says so in a turn that did not fail, every check is green, and what they rest on is intact.
 * Where there are stories, the reviews say it, and what the agent says adds nothing, but for a round of their pull request.
 */
function isProven(run: Run, evidence: Evidence): boolean {
  const { claim, outcome, checks, violations, stories } = evidence;
  const isIntact =
    isGreen(checks) &&
    violations.every(violation => violation.restored) &&
    !(run.strict && restsFeedback(run, evidence).length > 0);
  if (stories && stories.open.length > 0) return false;
  if (stories && !stories.isRound) return isIntact;
  return isIntact && claim.found && outcome.kind !== 'failed' && !isIdle(run, evidence);
}

/**
 * What the checks would not notice. With `mutateMin` it is a gate. Without, the agent hears it once, if it may still act on it: what is
 * proven stays proven.
 */
function unwatched(run: Run, evidence: Evidence): readonly Feedback[] {
  const { mutation, survivorsShown } = evidence;
  const { mutateMin: min } = run;
  if (!mutation) return [];
  if ('failed' in mutation) {
    const isAsked = mutation.voids || min !== undefined;
    return isAsked ? [{ kind: 'unmeasured', why: mutation.failed }] : [];
  }
  const { score, survivors, checks } = mutation;
  if (score === null || survivors.length === 0) return [];
  if (min !== undefined) return score < min ? [{ kind: 'survivors', survivors, checks, score, min }] : [];
  const isLast = survivorsShown || spentLimit(run.limits, evidence) !== undefined;
  return isLast ? [] : [{ kind: 'survivors', survivors, checks, score }];
}

/** No work seen since the run began. What nobody tells us is not held against the agent. */
function isIdle({ minToolCalls }: Run, { spent, treeChanged }: Evidence): boolean {
  if (minToolCalls === 0 || treeChanged === true) return false;
  return spent.toolCalls === null ? treeChanged === false : spent.toolCalls < minToolCalls;
}

/** What the agent hears when it may continue. Integrity first, then how the turn ended, then the checks as they are configured, then the claim itself. */
export function feedbackOn(run: Run, evidence: Evidence): readonly Feedback[] {
  const { violations, outcome, checks, denials = [] } = evidence;
  const feedback: Feedback[] = [];
  for (const violation of [...violations].sort((a, b) => (a.what < b.what ? -1 : a.what > b.what ? 1 : 0))) {
    feedback.push({ kind: 'violation', violation });
  }
  feedback.push(...restsFeedback(run, evidence));
  if (denials.length > 0) feedback.push({ kind: 'denied', what: denials });
  if (outcome.kind === 'ended') feedback.push({ kind: 'turn-ended', by: outcome.by });
  if (outcome.kind === 'failed') feedback.push({ kind: 'turn-failed', trouble: outcome.trouble });
  for (const check of redChecks(checks)) feedback.push({ kind: 'check-failed', check });
  const { stories } = evidence;
  if (stories) feedback.push(...storyFeedback(stories, evidence));
  if (!stories || (stories.isRound && stories.open.length === 0))
    feedback.push(...claimFeedback(run, evidence));
  feedback.push(...unwatched(run, evidence));
  if (isStuck(run.limits, evidence)) feedback.push({ kind: 'stuck', repeats: evidence.repeats });
  else if (evidence.standstill) feedback.push({ kind: 'standstill', standstill: evidence.standstill });
  return feedback;
}

/** What is left to say of what the checks rest on. */
function restsFeedback({ strict: voids = false }: Run, evidence: Evidence): readonly Feedback[] {
  const { inputsChanged = [], unstable = [] } = evidence;
  return [
    ...(inputsChanged.length > 0 ? [{ kind: 'inputs-changed', paths: inputsChanged, voids } as const] : []),
    ...(unstable.length > 0 ? [{ kind: 'unstable', paths: unstable, voids } as const] : []),
  ];
}

function storyFeedback(
  { open, missing, uncommitted }: StoryEvidence,
  { claim }: Evidence,
): readonly Feedback[] {
  return [
    ...missing.map(message => ({ kind: 'story-missing', message }) as const),
    ...(claim.found && open.length > 0 ? [{ kind: 'stories-open', ids: open } as const] : []),
    ...(uncommitted.length > 0 ? [{ kind: 'uncommitted', paths: uncommitted } as const] : []),
  ];
}

function claimFeedback(run: Run, evidence: Evidence): readonly Feedback[] {
  const { claim, checks } = evidence;
  if (claim.found) {
    if (!isGreen(checks)) return [{ kind: 'claim-unproven' }];
    return isIdle(run, evidence) ? [{ kind: 'no-work' }] : [];
  }
  if (claim.nearMiss) {
    const { nearMiss, said } = claim;
    return [{ kind: 'near-miss', nearMiss, ...(said !== undefined && { said }) }];
  }
  return isGreen(checks) ? [{ kind: 'claim-missing' }] : [];
}
