/**
 * The heart: an agent's turn has ended. Is it done, may it go on, and what should it be told?
 *
 * The order is law: completion with proof → integrity → limits → continue.
 * Limits come last, so work finished on the last allowed iteration is finished. A claim without proof never
 * ends a run. The verdict does not depend on the order in which the evidence came in.
 */
import type { CheckResult } from './check.ts';
import type { CompletionRule, NearMiss } from './completion.ts';
import type { EndedBy, Evidence, Violation } from './evidence.ts';
import { type Limits, spentLimit } from './limits.ts';
import type { StopReason } from './stop-reason.ts';
import type { Trouble } from './trouble.ts';

/** What `judge` needs to know of a run: what counts as done, and how far it may go. */
export interface Run {
  readonly rule: CompletionRule;
  readonly limits: Limits;
}

/** Something the agent should be told before its next turn. */
export type Feedback =
  | { readonly kind: 'check-failed'; readonly check: CheckResult }
  | { readonly kind: 'violation'; readonly violation: Violation }
  | { readonly kind: 'near-miss'; readonly nearMiss: NearMiss; readonly said?: string }
  | { readonly kind: 'turn-ended'; readonly by: EndedBy }
  | { readonly kind: 'turn-failed'; readonly trouble: Trouble };

export type Verdict =
  | { readonly kind: 'stop'; readonly reason: StopReason; readonly detail?: string }
  | { readonly kind: 'continue'; readonly feedback: readonly Feedback[] };

export function judge(run: Run, evidence: Evidence): Verdict {
  if (isProven(evidence)) return { kind: 'stop', reason: 'promise_accepted' };
  const spent = spentLimit(run.limits, evidence);
  if (spent) return { kind: 'stop', reason: spent.reason, detail: spent.detail };
  return { kind: 'continue', feedback: feedbackOn(evidence) };
}

/** Done means: the agent says so in a turn that did not fail, every check is green, and what they rest on is intact. */
function isProven({ claim, outcome, checks, violations }: Evidence): boolean {
  return (
    claim.found &&
    outcome.kind !== 'failed' &&
    checks.every(check => check.passed) &&
    violations.every(violation => violation.restored)
  );
}

/** Integrity first, then how the turn ended, then the checks as they are configured, then the claim itself. */
function feedbackOn({ violations, outcome, checks, claim }: Evidence): readonly Feedback[] {
  const feedback: Feedback[] = [];
  for (const violation of [...violations].sort((a, b) => (a.what < b.what ? -1 : a.what > b.what ? 1 : 0))) {
    feedback.push({ kind: 'violation', violation });
  }
  if (outcome.kind === 'ended') feedback.push({ kind: 'turn-ended', by: outcome.by });
  if (outcome.kind === 'failed') feedback.push({ kind: 'turn-failed', trouble: outcome.trouble });
  for (const check of [...checks].sort((a, b) => a.index - b.index)) {
    if (!check.passed) feedback.push({ kind: 'check-failed', check });
  }
  if (!claim.found && claim.nearMiss) {
    const { nearMiss, said } = claim;
    feedback.push({ kind: 'near-miss', nearMiss, ...(said !== undefined && { said }) });
  }
  return feedback;
}
