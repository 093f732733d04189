/** Adds up what a run has done so far and turns it into its result. */
import { type CheckResult, isGreen } from '../domain/check.ts';
import { isFailure, type Spent, type TurnOutcome, type Violation } from '../domain/evidence.ts';
import type { Past } from '../domain/past.ts';
import type { IterationResult, LoopResult } from '../domain/result.ts';
import { isSuccess, type StopReason } from '../domain/stop-reason.ts';
import type { Turn } from '../domain/turn.ts';
import { addUsage, type Usage } from '../domain/usage.ts';
import { type Clock, secondsSince } from '../platform/clock.ts';

export interface Iteration {
  readonly number: number;
  readonly mode: string;
  readonly story?: string;
  readonly turn: Pick<Turn, 'claim' | 'steps' | 'usage'> & { readonly toolCalls: number | null };
  readonly outcome: TurnOutcome;
  readonly checks: readonly CheckResult[];
  readonly violations: readonly Violation[];
  /** Whether the agent can tell how many tools it called. */
  readonly countsTools: boolean;
  /** Whether the stop came before all of it was done. */
  readonly cutShort: boolean;
  readonly duration: number;
}

export interface Account {
  /** Counts a turn that has ended; call it once a turn, before `spent`. */
  count(outcome: TurnOutcome, usage: Usage, toolCalls: number | null): void;
  /** A call beside the turns, such as asking for a commit message. One that does not tell its cost is counted as such. */
  extra(usage: Usage): void;
  /** Seconds in which nothing was done. */
  wait(seconds: number): void;
  /** Seconds in which the user held it up; no limit counts them. */
  pause(seconds: number): void;
  spent(): Spent;
  /** Of every iteration that is over. */
  results(): readonly IterationResult[];
  add(iteration: Iteration): IterationResult;
  result(ending: Ending): LoopResult;
}

export interface Ending {
  readonly runId: string;
  readonly stopReason: StopReason;
  readonly detail: string | undefined;
  readonly place: { readonly worktreePath: string; readonly branch: string } | undefined;
}

/** `past`: what the run has done before it goes on here. */
export function createAccount(clock: Clock, past?: Past): Account {
  const began = clock.ticks() - (past?.elapsed ?? 0) * 1000;
  const iterations: IterationResult[] = [];
  let turns = 0;
  let failures = 0;
  let toolCalls: number | null = 0;
  let unreported = 0;
  let waited = 0;
  let paused = 0;
  let usage: Usage | undefined;
  const use = (more: Usage) => {
    usage = usage ? addUsage(usage, more) : more;
  };

  const account: Account = {
    count(outcome, turnUsage, calls) {
      turns++;
      toolCalls = calls === null || toolCalls === null ? null : toolCalls + calls;
      failures = isFailure(outcome) ? failures + 1 : 0;
      use(turnUsage);
    },
    extra(more) {
      if (more.cost === undefined) unreported++;
      else use(more);
    },
    wait(seconds) {
      waited += seconds;
    },
    pause(seconds) {
      paused += seconds;
    },
    results: () => iterations,
    spent: () => ({
      iterations: turns,
      failures,
      toolCalls,
      usage: usage ?? { costSource: 'unknown' },
      elapsed: secondsSince(clock, began) - paused,
    }),
    add(iteration) {
      const result = iterationResult(iteration);
      iterations.push(result);
      return result;
    },
    result: ({ runId, stopReason, detail, place }) => ({
      runId,
      success: isSuccess(stopReason),
      stopReason,
      detail: detail ?? null,
      iterations,
      totalCost: usage?.cost ?? null,
      unreportedCalls: unreported,
      totalTokens: usage?.tokens ?? null,
      totalDuration: secondsSince(clock, began),
      ...(waited > 0 && { waited }),
      worktreePath: place?.worktreePath ?? null,
      branch: place?.branch ?? null,
    }),
  };
  if (past) recall(account, past);
  return account;
}

/** An iteration that was judged and not ended is counted, and added when it ends. */
function recall(account: Account, past: Past): void {
  for (const iteration of past.iterations) {
    const { number, turn, judged, ended, checks, violations, duration, story } = iteration;
    if (!turn || !judged) continue;
    const { outcome } = turn;
    account.count(outcome, turn.usage, turn.toolCalls);
    if (!ended) continue;
    const mode = iteration.mode ?? past.head?.command ?? '';
    account.add({
      number,
      mode,
      ...(story !== undefined && { story }),
      turn,
      outcome,
      checks,
      violations,
      countsTools: true,
      cutShort: false,
      duration,
    });
  }
  for (const usage of past.extras) account.extra(usage);
  if (past.waited > 0) account.wait(past.waited);
}

function iterationResult(iteration: Iteration): IterationResult {
  const { turn, outcome, checks } = iteration;
  const { usage } = turn;
  return {
    iteration: iteration.number,
    mode: iteration.mode,
    ...(iteration.story !== undefined && { story: iteration.story }),
    stepsTaken: turn.steps,
    toolCalls: iteration.countsTools ? turn.toolCalls : null,
    cost: usage.cost ?? null,
    costSource: usage.costSource,
    tokens: usage.tokens ?? null,
    duration: iteration.duration,
    checkResults: checks.map(check => ({
      name: check.command,
      passed: check.passed,
      exitCode: check.exitCode,
      duration: check.duration,
      output: check.output,
      ...(check.flaked !== undefined && { flaked: check.flaked }),
      ...(check.ungated && { ungated: check.ungated }),
    })),
    allChecksPassed: !iteration.cutShort && isGreen(checks),
    completionTagFound: turn.claim.found,
    violations: iteration.violations.map(violation => violation.what),
    error: errorOf(outcome),
  };
}

function errorOf(outcome: TurnOutcome): string | null {
  if (outcome.kind === 'failed') return outcome.trouble.message;
  if (outcome.kind === 'ended') return `ended by ${outcome.by}`;
  return null;
}
