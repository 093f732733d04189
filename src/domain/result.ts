/** What a run came to: the answer of the library and of `--json`. */
import type { StopReason } from './stop-reason.ts';
import type { StoryReport } from './story-report.ts';
import type { CostSource, Tokens } from './usage.ts';

export interface CheckSummary {
  readonly name: string;
  readonly passed: boolean;
  readonly exitCode: number;
  readonly duration: number;
  readonly output: string;
  /** How often it failed before it passed. */
  readonly flaked?: number;
  /** It was red before the first iteration and does not gate. */
  readonly ungated?: true;
}

export interface IterationResult {
  /** Counted from 1. */
  readonly iteration: number;
  readonly mode: string;
  /** In `ralph prd`: the story it was for. */
  readonly story?: string;
  readonly stepsTaken: number;
  /** null: this agent does not tell. */
  readonly toolCalls: number | null;
  /** Dollars; null: unknown, which is not zero. */
  readonly cost: number | null;
  readonly costSource: CostSource;
  readonly tokens: Tokens | null;
  /** Seconds. */
  readonly duration: number;
  readonly checkResults: readonly CheckSummary[];
  readonly allChecksPassed: boolean;
  readonly completionTagFound: boolean;
  readonly violations: readonly string[];
  readonly error: string | null;
}

export interface LoopResult {
  readonly runId: string;
  readonly success: boolean;
  readonly stopReason: StopReason;
  /** The exact limit, the last error: what the stop reason alone does not say. */
  readonly detail: string | null;
  readonly iterations: readonly IterationResult[];
  /** null: unknown, which is not zero. */
  readonly totalCost: number | null;
  /** Calls beside the turns (commit messages) whose cost is not in `totalCost`, because they do not tell it. */
  readonly unreportedCalls: number;
  readonly totalTokens: Tokens | null;
  readonly totalDuration: number;
  /** Seconds spent on waiting for limits and passing trouble; absent where there was none. Part of the duration. */
  readonly waited?: number;
  readonly worktreePath: string | null;
  readonly branch: string | null;
  /** In `ralph prd`: what became of the stories. */
  readonly stories?: StoryReport;
}
