/** Everything that happens in a run, in one closed union. The terminal, JSON, the journal and the tests are its readers. */
import type { AgentEvent } from './agent-event.ts';
import type { CheckResult } from './check.ts';
import type { Claim } from './completion.ts';
import type { TurnOutcome, Violation } from './evidence.ts';
import type { LoopResult } from './result.ts';
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
