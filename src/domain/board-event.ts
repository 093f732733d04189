/** The events of a parallel run. */
import type { LaneHead, LaneStep, SentBack } from './board.ts';
import type { CheckResult } from './check.ts';
import type { Measured } from './mutation.ts';
import type { StopReason } from './stop-reason.ts';
import type { Usage } from './usage.ts';

/** What happens in a run that works on several things at the same time. Each of them has runs of its own, with their own ledgers. */
export type BoardEvent =
  | {
      readonly type: 'board-set';
      readonly base: string;
      /** The integration branch stands there: on `base`, or on a commit of Ralph's own with the list. */
      readonly tip: string;
      /** The user's branch that is moved at the end. */
      readonly branch: string | null;
      readonly lanes: readonly LaneHead[];
    }
  /** Also when a run of it is resumed. `from`: the tip of the integration branch that it begins on. */
  | { readonly type: 'story-started'; readonly story: string; readonly child: string; readonly from: string }
  /** An iteration of its run begins. */
  | ({ readonly type: 'story-step'; readonly story: string } & LaneStep)
  | {
      readonly type: 'story-ended';
      readonly story: string;
      readonly child: string;
      readonly reason: StopReason;
      /** Why its work does not go into the queue, where it does not. */
      readonly why?: string;
      /** Where its ledger ends: with it the chain of this ledger covers it. */
      readonly ledger: string | null;
      readonly usage: Usage;
    }
  | { readonly type: 'queued'; readonly story: string; readonly head: string; readonly patch: string }
  | {
      readonly type: 'candidate';
      readonly story: string;
      readonly number: number;
      readonly tip: string;
      readonly commit: string;
    }
  /** What the checks say of it, each in a clean checkout of that commit. */
  | {
      readonly type: 'candidate-checked';
      readonly story: string;
      readonly number: number;
      readonly commit: string;
      readonly passed: boolean;
      /** Seconds. */
      readonly duration: number;
      readonly results: readonly CheckResult[];
      /** Whether they would notice a fault in what it changes; absent: that was not asked for. */
      readonly mutation?: Measured;
    }
  | {
      readonly type: 'landed';
      readonly story: string;
      readonly number: number;
      readonly commit: string;
      readonly tree: string;
      /** Files that a check rests on and that differ from where the run began. */
      readonly inputsChanged?: readonly string[];
    }
  | ({ readonly type: 'sent-back'; readonly story: string; readonly number: number } & SentBack)
  /** It is over without having landed: another attempt was better, or the user is needed. */
  | {
      readonly type: 'lane-kept';
      readonly story: string;
      readonly why: string;
      readonly needsYou: boolean;
      readonly commit?: string;
    }
  | { readonly type: 'account-limited'; readonly agent: string; readonly until: number }
  /** The user's branch was moved to what landed; or why not. */
  | {
      readonly type: 'integrated';
      readonly branch: string;
      readonly commit: string;
      readonly problem?: string;
    };
