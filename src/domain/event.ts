/** Everything that happens in a run, in one closed union. The terminal, JSON, the journal and the tests are its readers. */
import type { AgentEvent } from './agent-event.ts';
import type { BoardEvent } from './board-event.ts';
import type { CheckResult } from './check.ts';
import type { Claim } from './completion.ts';
import type { Evidence, TurnOutcome, Violation } from './evidence.ts';
import type { Limits } from './limits.ts';
import type { Measured } from './mutation.ts';
import type { Contained } from './proof.ts';
import type { LoopResult } from './result.ts';
import type { SpokenReview } from './review.ts';
import type { Story } from './story.ts';
import type { Trouble } from './trouble.ts';
import type { Usage } from './usage.ts';
import type { Verdict } from './verdict.ts';

export type LoopCommand = 'run' | 'loop' | 'prd' | 'session';

/** What a run is, as recorded at its start and whenever it is resumed. */
export interface RunHead {
  readonly runId: string;
  readonly command: LoopCommand;
  readonly agent: string;
  readonly model?: string;
  /** What the run is about, in one line; absent: unknown, or recorded before this was. */
  readonly title?: string;
  /** 0: no limit. */
  readonly maxIterations: number;
  readonly checks: readonly string[];
  readonly cwd: string;
  /** What agent and checks run in, in a few words; absent: nothing. */
  readonly sandbox?: string;
  /** What ends the processes of a turn or a check with it; absent: recorded before this was. */
  readonly contained?: Contained;
}

export type RunEvent =
  | ({ readonly type: 'run-started' } & RunHead)
  /** The run continues after it was cut off or had stopped. */
  | ({ readonly type: 'run-resumed' } & RunHead & Resumption)
  /** Everything that is done once is done. */
  | ({ readonly type: 'prepared' } & Prepared)
  | {
      readonly type: 'iteration-started';
      readonly iteration: number;
      /** In `ralph prd`: what this iteration is for. */
      readonly mode?: string;
      readonly story?: string;
      /** A name for the files that a review must leave as they are, kept in the run's folder. */
      readonly kept?: string;
      /** Who does it, where the roles of a run are given to different agents. */
      readonly role?: 'implementer' | 'reviewer';
      readonly agent?: string;
    }
  | {
      readonly type: 'agent-started';
      readonly purpose: 'work' | 'commit-message';
      /** Counted from 2 where the same iteration is tried again; absent for the first. */
      readonly attempt?: number;
      /** Whose stream it speaks. */
      readonly adapter?: string;
      /** The command as it was run, fit to be shown. */
      readonly command: string;
      readonly promptChars: number;
      /** So many of them are the user's own words; the rest is Ralph's. */
      readonly userChars?: number;
      /** The first 200 characters of the prompt. */
      readonly promptHead: string;
    }
  | { readonly type: 'agent'; readonly event: AgentEvent }
  | {
      readonly type: 'agent-ended';
      readonly purpose: 'work' | 'commit-message';
      readonly outcome: TurnOutcome;
      /** Seconds. */
      readonly duration: number;
      /** null: this agent does not tell. */
      readonly toolCalls: number | null;
      readonly toolErrors: number | null;
      /** Of this turn. */
      readonly usage: Usage;
    }
  /** The result of the iteration's turn, after all attempts at it: evidence from here on. */
  | ({ readonly type: 'turn-ended' } & EndedTurn)
  /** Nothing is done until the trouble has passed; then the same iteration is tried again. */
  | {
      readonly type: 'waiting';
      /** Who met the trouble. */
      readonly agent: string;
      readonly trouble: Trouble;
      /** Milliseconds since 1970. */
      readonly until: number;
    }
  /** Another agent takes over: this one is limited, or the one that is preferred is free again. */
  | {
      readonly type: 'agent-switched';
      readonly from: string;
      readonly to: string;
      readonly why: 'limited' | 'free-again';
      /** Until when `from` is limited, in milliseconds since 1970; absent where nobody knows. */
      readonly until?: number;
    }
  /** The user has paused the run; nothing is begun until it is continued. */
  | { readonly type: 'paused' }
  | { readonly type: 'continued' }
  /** What the user says to the agent goes into the prompt of this iteration, and of no other. */
  | { readonly type: 'told'; readonly iteration: number; readonly hint: string; readonly text: string }
  /** The agent asks the user to decide something: its story waits for the answer. */
  | {
      readonly type: 'question-asked';
      readonly iteration: number;
      readonly story: string;
      readonly question: string;
    }
  | {
      readonly type: 'question-answered';
      readonly story: string;
      readonly question: string;
      readonly answer: string;
      /** The message that brought it. */
      readonly message: string;
    }
  | {
      readonly type: 'check-started';
      readonly index: number;
      readonly command: string;
      /** In a clean checkout of the tree that is handed over. */
      readonly clean?: true;
    }
  | { readonly type: 'check-ended'; readonly result: CheckResult }
  /** Faults were put into the changed lines, in copies, before the run is done. */
  | ({ readonly type: 'mutated'; readonly iteration: number } & Measured)
  /** Written before anything of it is undone, so that a crash in the middle does not hide what was there. */
  | { readonly type: 'tampered'; readonly what: readonly string[] }
  /** The agent changed something that is not its to change. */
  | { readonly type: 'violation'; readonly violation: Violation }
  /** The evidence that is not told by other events, and what was made of it; before anything is kept. */
  | ({ readonly type: 'judged'; readonly iteration: number; readonly verdict: Verdict } & Judged)
  /** Written before the task runs: `head` is the commit it starts from, null where there is none to be found. */
  | {
      readonly type: 'scm-started';
      readonly task: string;
      readonly head: string | null;
      /** Of a commit: the tree that it will hold. */
      readonly tree?: string;
    }
  /** The sandbox stopped something. What it was is told by the inside: a hint, nothing to rely on. */
  | { readonly type: 'denied'; readonly what: string }
  /** Ralph's own copy of the story list is this one now: it is in the run's folder, under its hash. */
  | {
      readonly type: 'stories-settled';
      readonly iteration: number;
      readonly hash: string;
      readonly done: number;
      readonly total: number;
      /** The story whose state changed, and what it is now. */
      readonly moved?: Pick<Story, 'id' | 'passes' | 'reviewStatus' | 'reviewFeedback'> & {
        /** How many reviews it has had, and may have. */
        readonly reviewCount?: number;
        readonly reviewCap?: number;
      };
    }
  | ({ readonly type: 'scm' } & ScmResult)
  | {
      readonly type: 'iteration-ended';
      readonly iteration: number;
      readonly claim: Claim;
      readonly verdict: Verdict;
      /** Of the whole run up to now. */
      readonly usage: Usage;
      /** Seconds; absent in ledgers of 0.1. */
      readonly duration?: number;
      /** In `ralph prd`: the story that it really changed, where that is not the one it was for. */
      readonly story?: string;
    }
  | BoardEvent
  /** Something the user should know that is no ending: a warning, what was killed, what was left alone. */
  | { readonly type: 'notice'; readonly level: 'info' | 'warning' | 'debug'; readonly text: string }
  | { readonly type: 'run-ended'; readonly result: LoopResult };

export interface Prepared {
  /** A name for what the files were before the first iteration; null: not looked at. */
  readonly tree: string | null;
  /** A name for the protected files as they are kept in the run's folder. */
  readonly kept?: string;
  /** What the checks rest on: paths from where they run, each with a hash; '': it was not there. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** A name for the files of `.worktreeinclude` as they are kept in the run's folder. */
  readonly included?: string;
  /** Where the repository stood; absent: there is none, or nothing is committed. */
  readonly start?: RunStart;
}

/** What is the user's own: everything that was there before the first iteration. */
export interface RunStart {
  /** The content of the work tree, by its name in Ralph's own git directory. */
  readonly tree: string;
  /** The commit and the branch of HEAD; null: none. */
  readonly head: string | null;
  readonly branch: string | null;
}

export interface EndedTurn extends Pick<Evidence, 'outcome' | 'claim' | 'blocked'> {
  /** What the agent asks the user to decide. */
  readonly question?: string;
  /** What the agent says of stories that it reviewed. */
  readonly reviews?: readonly SpokenReview[];
  /** Model calls. */
  readonly steps: number;
  /** null: this agent does not tell. */
  readonly toolCalls: number | null;
  /** Of all attempts. */
  readonly usage: Usage;
  /** No attempt said or did anything. */
  readonly idle?: true;
}

export interface Judged
  extends Pick<
    Evidence,
    'treeChanged' | 'repeats' | 'standstill' | 'denials' | 'stories' | 'spent' | 'inputsChanged' | 'unsettled'
  > {
  /** A name for what the files were; null: not looked at. */
  readonly tree: string | null;
  /** The tree of git that was checked; absent: it is not known. */
  readonly snapshot?: string;
  /** As they were then. */
  readonly limits?: Limits;
}

/** Where a run continues: the step that was cut off, the next iteration, or nothing but its end. */
export type ResumedStep = 'prepare' | 'agent' | 'check' | 'scm' | 'next' | 'end';

export interface Resumption {
  readonly iteration: number;
  readonly step: ResumedStep;
  /** What had to be put right first, a sentence each. */
  readonly repaired: readonly string[];
  /** What differs from the settings of the start, a line each. */
  readonly changes: readonly string[];
  /** What the turn that was cut off had changed, its beginning. */
  readonly diff?: string;
}

export type ScmOutcome = 'done' | 'nothing-to-do' | 'failed';

/** What came of a task of source control. */
export interface ScmResult {
  readonly task: string;
  readonly outcome: ScmOutcome;
  readonly detail: string;
  /** A hook changed what was committed: it is not what was checked. */
  readonly differs?: true;
  /** Of a commit: its name. */
  readonly commit?: string;
}

/** What is written down only so that a run can be resumed or judged again: no news for readers. */
export type LedgerOnly = Extract<
  RunEvent,
  { readonly type: 'prepared' | 'turn-ended' | 'tampered' | 'judged' | 'scm-started' }
>;

/** An event as it is on the ledger: when it happened, in which run, and in which iteration of it (0: before the first). */
export type RecordedEvent = RunEvent & {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly run: string;
  readonly iteration: number;
};

/** Takes every event of a run, in order. Must not throw. */
export type Emit = (event: RunEvent) => void;
