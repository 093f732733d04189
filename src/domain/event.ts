/** Everything that happens in a run, in one closed union. The terminal, JSON, the journal and the tests are its readers. */
import type { AgentEvent } from './agent-event.ts';
import type { CheckResult } from './check.ts';
import type { Claim } from './completion.ts';
import type { TurnOutcome, Violation } from './evidence.ts';
import type { LoopResult } from './result.ts';
import type { Trouble } from './trouble.ts';
import type { Usage } from './usage.ts';
import type { Verdict } from './verdict.ts';

export type LoopCommand = 'run' | 'loop' | 'prd' | 'session';

export type RunEvent =
  | {
      readonly type: 'run-started';
      readonly runId: string;
      readonly command: LoopCommand;
      readonly agent: string;
      readonly model?: string;
      /** 0: no limit. */
      readonly maxIterations: number;
      readonly checks: readonly string[];
      readonly cwd: string;
    }
  | { readonly type: 'iteration-started'; readonly iteration: number }
  | {
      readonly type: 'agent-started';
      readonly purpose: 'work' | 'commit-message';
      /** Counted from 2 where the same iteration is tried again; absent for the first. */
      readonly attempt?: number;
      /** The command as it was run, fit to be shown. */
      readonly command: string;
      readonly promptChars: number;
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
  /** Nothing is done until the trouble has passed; then the same iteration is tried again. */
  | {
      readonly type: 'waiting';
      /** Who met the trouble. */
      readonly agent: string;
      readonly trouble: Trouble;
      /** Milliseconds since 1970. */
      readonly until: number;
    }
  /** Another agent goes on: this one is limited, or the one that is preferred is free again. */
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
  | { readonly type: 'check-started'; readonly index: number; readonly command: string }
  | { readonly type: 'check-ended'; readonly result: CheckResult }
  /** The agent changed something that is not its to change. */
  | { readonly type: 'violation'; readonly violation: Violation }
  | { readonly type: 'scm'; readonly task: string; readonly outcome: ScmOutcome; readonly detail: string }
  | {
      readonly type: 'iteration-ended';
      readonly iteration: number;
      readonly claim: Claim;
      readonly verdict: Verdict;
      /** Of the whole run up to now. */
      readonly usage: Usage;
    }
  /** Something the user should know that is no ending: a warning, what was killed, what was left alone. */
  | { readonly type: 'notice'; readonly level: 'info' | 'warning' | 'debug'; readonly text: string }
  | { readonly type: 'run-ended'; readonly result: LoopResult };

export type ScmOutcome = 'done' | 'nothing-to-do' | 'failed';

/** Takes every event of a run, in order. Must not throw. */
export type Emit = (event: RunEvent) => void;
