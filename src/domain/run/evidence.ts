/** What Ralph saw in one turn. Gathered by a driver, weighed by `judge`. */
import type { CheckResult } from '../checks/check.ts';
import type { Measured } from '../checks/mutation.ts';
import type { Claim } from '../turn/claim.ts';
import type { Trouble } from '../turn/trouble.ts';
import type { Usage } from '../turn/usage.ts';
import type { Standstill } from './standstill.ts';

/** How a turn ended. Success is judged from the agent's stream; the exit code only speaks where there is none. */
export type TurnOutcome =
  | { readonly kind: 'completed' }
  /** `why` it was not tried again, where that is not plain from the trouble. */
  | { readonly kind: 'failed'; readonly trouble: Trouble; readonly why?: string }
  /** Ralph ended it. What the agent had done by then is kept. */
  | { readonly kind: 'ended'; readonly by: EndedBy };

/** What ended a turn before the agent did. */
export type EndedBy =
  | 'idle-timeout'
  | 'iteration-timeout'
  | 'max-time'
  | 'max-cost'
  | 'max-tokens'
  | 'interrupt';

/** A change to something the agent must not change. `restored` says that it has been undone, or never came about. */
export interface Violation {
  readonly what: string;
  readonly restored: boolean;
  /** A hook refused it before it happened. */
  readonly refused?: true;
  /** `what` is not a thing that was changed but the whole sentence. */
  readonly isSentence?: true;
  /** The command of the check that did it; absent: the agent. */
  readonly by?: string;
}

/** In `ralph prd`: what Ralph's own copy of the story list says, and what else is to be said of this turn. */
export interface StoryEvidence {
  /** The ids of those that are not done. */
  readonly open: readonly string[];
  /** What a turn in this mode should have done and did not. */
  readonly missing: readonly string[];
  /** Files that are not committed. */
  readonly uncommitted: readonly string[];
  /** A story has reached its review cap and is not approved: which one, and what the last review says. */
  readonly capped?: string;
  /** All are done, and the pull request asks for more: no review says whether that is done, so the agent has to. */
  readonly isRound?: true;
}

/** Totals of the run up to now, this turn included. */
export interface Spent {
  readonly iterations: number;
  /** Turns in a row that failed or hung. */
  readonly failures: number;
  /** Tool calls since the run began; null: this agent does not tell. */
  readonly toolCalls: number | null;
  readonly usage: Usage;
  /** Seconds since the run began, without those in which the user had paused it. */
  readonly elapsed: number;
}

/** All that was observed in a turn: what `judge` decides by. */
export interface Evidence {
  readonly outcome: TurnOutcome;
  readonly claim: Claim;
  /** Why the agent says that it cannot continue. */
  readonly blocked?: string;
  readonly checks: readonly CheckResult[];
  readonly violations: readonly Violation[];
  /** What the sandbox stopped in this turn and its checks; absent: nothing. */
  readonly denials?: readonly string[];
  readonly stories?: StoryEvidence;
  /** Files that the checks rest on, not protected, and changed since the run began; absent: none. */
  readonly inputsChanged?: readonly string[];
  /** The checks change files that are handed over, again each time they run: which; absent: none. */
  readonly unstable?: readonly string[];
  /** Whether the checks would notice a fault; absent: that was not asked, or not yet. */
  readonly mutation?: Measured;
  /** The agent had heard of survivors before. */
  readonly survivorsShown?: true;
  /** Whether the files differ from what they were when the run began; null: not looked at. */
  readonly treeChanged: boolean | null;
  /** How many turns in a row have now failed in the same way without changing a file, this one included. */
  readonly repeats: number;
  /** Another way of getting nowhere, where there is one. */
  readonly standstill?: Standstill;
  readonly spent: Spent;
}

/** What counts towards giving up: a turn that broke, or one that showed no sign of life. */
export function isFailure(outcome: TurnOutcome): boolean {
  return outcome.kind === 'failed' || (outcome.kind === 'ended' && outcome.by === 'idle-timeout');
}
