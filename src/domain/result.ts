/** The result of a run: what the library and `--json` return. */
import { beforeVerdict } from './before-verdict.ts';
import type { LaneOutcome } from './board-sums.ts';
import { type CheckResult, isGreen } from './check.ts';
import type { ScmResult } from './event.ts';
import type { TurnOutcome } from './evidence.ts';
import { pick } from './fields.ts';
import { limitedTurn } from './limits.ts';
import type { Measured, Mutation } from './mutation.ts';
import type { Past } from './past.ts';
import type { PastIteration } from './past-iteration.ts';
import { type Proof, type Proven, proofOfRun } from './proof.ts';
import { isProven, isSuccess, type StopReason, type SuccessReason } from './stop-reason.ts';
import type { StoryReport } from './story-report.ts';
import { addWasted, type CostSource, type Tokens, type Totals, uncountedIn, unpricedIn } from './usage.ts';

/** A check in the result of an iteration. */
export interface CheckSummary
  extends Pick<
    CheckResult,
    'passed' | 'exitCode' | 'duration' | 'output' | 'flaked' | 'ungated' | 'voided' | 'clean' | 'isSetup'
  > {
  readonly name: string;
}

/** What an iteration did, cost and proved. */
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

/** How a run ended: `success` says whether it is done, and so which stop reasons there can be. */
export type LoopResult = DoneResult | StoppedResult;

/** The work is done. */
export interface DoneResult extends ResultFields {
  readonly success: true;
  readonly stopReason: SuccessReason;
}

/** It stopped before that. */
export interface StoppedResult extends ResultFields {
  readonly success: false;
  readonly stopReason: Exclude<StopReason, SuccessReason>;
}

/** What every result holds. */
export interface ResultFields {
  readonly runId: string;
  /** The exact limit, the last error: what the stop reason alone does not say. */
  readonly detail: string | null;
  readonly iterations: readonly IterationResult[];
  /** What is known of it; null: nothing is, which is not zero. */
  readonly totalCost: number | null;
  /** Turns, attempts and commit messages whose cost is not in `totalCost`, because nobody reported it: `totalCost` is a lower bound. */
  readonly unreportedCalls: number;
  readonly totalTokens: Tokens | null;
  /** The same for tokens: `totalTokens` is a lower bound. Absent: every call reported them, or the run is of an older Ralph. */
  readonly uncountedCalls?: number;
  readonly totalDuration: number;
  /** Seconds spent on waiting for limits and passing trouble; absent where there was none. Part of the duration. */
  readonly waited?: number;
  readonly worktreePath: string | null;
  readonly branch: string | null;
  /** What was proven and how. */
  readonly proof: Proof;
  /** The latest result of each task of source control; absent: none was begun. */
  readonly scm?: readonly ScmResult[];
  /** Whether the checks would notice a fault in the changed lines; absent: that was not asked, or not found out. */
  readonly mutation?: Mutation;
  /** In `ralph prd`: what became of the stories. */
  readonly stories?: StoryReport;
  /** Of a parallel run: what became of each piece of work. */
  readonly lanes?: readonly LaneOutcome[];
}

/** What a result has proven. */
export function provenBy({ stopReason, proof, iterations }: LoopResult, sandbox?: string | null): Proven {
  const checks = iterations.findLast(({ checkResults }) => checkResults.length > 0)?.checkResults ?? [];
  return {
    success: isProven(stopReason),
    proof,
    passed: checks.filter(({ passed }) => passed).length,
    sandbox,
  };
}

export interface RunEnding {
  readonly runId: string;
  readonly stopReason: StopReason;
  readonly detail: string | undefined;
  /** Seconds since the run began. */
  readonly duration: number;
  readonly place: { readonly worktreePath: string; readonly branch: string } | undefined;
}

/** An iteration that a signal broke off after the agent's turn is listed, too. */
export function runResult(past: Past, ending: RunEnding): LoopResult {
  const { runId, stopReason, detail, duration, place } = ending;
  const { open, head } = past;
  const seconds = open && Math.max(0, Math.round(past.time.latest - open.startedAt) / 1000);
  const isLimited = open?.turn && limitedTurn(open.turn) !== undefined;
  const brokenOff =
    open?.turn && !isLimited ? [iterationResult(open, head?.command ?? '', seconds ?? 0)] : [];
  const totals = totalsWith(past);
  const uncounted = totals.usage ? uncountedIn(totals.usage) : 0;
  const cutShort = (open?.checks.length ?? 0) < (head?.checks.length ?? 0);
  return {
    runId,
    ...endedAs(stopReason),
    detail: detail ?? null,
    iterations: [
      ...past.results,
      ...brokenOff.map(each => (cutShort ? { ...each, allChecksPassed: false } : each)),
    ],
    totalCost: totals.usage?.cost ?? null,
    unreportedCalls: totals.usage ? unpricedIn(totals.usage) : 0,
    totalTokens: totals.usage?.tokens ?? null,
    ...(uncounted > 0 && { uncountedCalls: uncounted }),
    totalDuration: duration,
    ...(past.time.waited > 0 && { waited: past.time.waited }),
    worktreePath: place?.worktreePath ?? null,
    branch: place?.branch ?? null,
    proof: proofOfRun(past),
    ...(past.scm && { scm: past.scm }),
    ...mutationOf(past),
  };
}

/** The two fields by which a result is told apart. */
export function endedAs(
  stopReason: StopReason,
): Pick<DoneResult, 'success' | 'stopReason'> | Pick<StoppedResult, 'success' | 'stopReason'> {
  return isSuccess(stopReason) ? { success: true, stopReason } : { success: false, stopReason };
}

/** As it was found out last; of an iteration that did not come so far nothing is known. */
function mutationOf({ open, last }: Past): Pick<LoopResult, 'mutation'> {
  const mutation = (open?.mutation ?? last?.mutation) as Measured | undefined;
  if (!mutation || 'failed' in mutation) return {};
  return { mutation: pick(mutation, 'score', 'mutants', 'survivors') };
}

/** With what an iteration has used that was broken off after its turn. */
function totalsWith(past: Past): Totals {
  const { totals, open } = past;
  if (!open?.turn || open.judged) return totals;
  return limitedTurn(open.turn)
    ? addWasted(totals, [open.turn.usage])
    : beforeVerdict(past, open.turn).totals;
}

export function iterationResult(
  iteration: PastIteration,
  command: string,
  duration: number,
): IterationResult {
  const { turn, story, violations } = iteration;
  const checks = [...iteration.checks, ...iteration.clean];
  return {
    iteration: iteration.number,
    mode: iteration.mode ?? command,
    ...(story !== undefined && { story }),
    stepsTaken: turn?.steps ?? 0,
    toolCalls: turn?.toolCalls ?? null,
    cost: turn?.usage.cost ?? null,
    costSource: turn?.usage.costSource ?? 'unknown',
    tokens: turn?.usage.tokens ?? null,
    duration,
    checkResults: checks.map(check => ({
      name: check.command,
      ...pick(
        check,
        'passed',
        'exitCode',
        'duration',
        'output',
        'flaked',
        'ungated',
        'voided',
        'clean',
        'isSetup',
      ),
    })),
    allChecksPassed: isGreen(checks),
    completionTagFound: turn?.claim.found ?? false,
    violations: violations.map(violation => violation.what),
    error: turn ? errorOf(turn.outcome) : null,
  };
}

function errorOf(outcome: TurnOutcome): string | null {
  if (outcome.kind === 'failed') return outcome.trouble.message;
  if (outcome.kind === 'ended') return `ended by ${outcome.by}`;
  return null;
}
