/** The result of a run: what the library and `--json` return. */

import { type CheckResult, isGreen } from '../checks/check.ts';
import type { Measured, Mutation } from '../checks/mutation.ts';
import { type Proof, type Proven, proofOfRun } from '../checks/proof.ts';
import { type FileChange, findTestChanges, type TestCount } from '../checks/test-changes.ts';
import type { LaneOutcome } from '../lanes/board.ts';
import type { StoryReport } from '../stories/report.ts';
import { pick } from '../text/fields.ts';
import {
  addWasted,
  type CostSource,
  countTurn,
  type Tokens,
  type Totals,
  uncountedIn,
  unpricedIn,
} from '../turn/usage.ts';
import { scoreOf } from './best.ts';
import type { EndedTurn, Restored, ScmResult } from './event.ts';
import type { TurnOutcome } from './evidence.ts';
import { limitedTurn } from './limits.ts';
import type { IterationState, RunState } from './state.ts';
import { isSuccess, type StopReason, type SuccessReason } from './stop-reason.ts';

const SUMMARY = [
  ...(['passed', 'exitCode', 'duration', 'output', 'flaked', 'ungated'] as const),
  ...(['voided', 'clean', 'without', 'isSetup', 'tests'] as const),
];

/** A check in the result of an iteration. */
export interface CheckSummary extends Pick<CheckResult, (typeof SUMMARY)[number]> {
  readonly name: string;
  /** Its time was over. */
  readonly timedOut?: true;
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
  /** Test files that the run changed or removed, tests that it turned off, fewer tests than before: a line each. Absent: the run is of an older Ralph. */
  readonly testsChanged?: readonly string[];
  /** The latest result of each task of source control; absent: none was begun. */
  readonly scm?: readonly ScmResult[];
  /** Whether the checks would notice a fault in the changed lines; absent: that was not asked, or not found out. */
  readonly mutation?: Mutation;
  /** In `ralph loop` and `ralph prd`: the iteration that ended best, of the last story that was worked on. Absent: no check has run. */
  readonly best?: BestResult;
  /** The files are those of that iteration again, because the run ended worse; absent: they are as the last iteration left them. */
  readonly restored?: Omit<Restored, 'why' | 'undone' | 'problem'>;
  /** In `ralph prd`: what became of the stories. */
  readonly stories?: StoryReport;
  /** Of a parallel run: what became of each piece of work. */
  readonly lanes?: readonly LaneOutcome[];
}

/** The iteration of a run that ended best. */
export interface BestResult {
  readonly iteration: number;
  readonly checksGreen: number;
  /** Failing tests of its red checks; null: one of them does not tell. */
  readonly failures: number | null;
}

/** The checks as they stood at the end; an iteration that never got to one changes nothing. */
export function lastChecksOf({ iterations }: Pick<LoopResult, 'iterations'>): readonly CheckSummary[] {
  return iterations.findLast(({ checkResults }) => checkResults.length > 0)?.checkResults ?? [];
}

/** What its headline and its line of proof are made of. */
export function provenBy(result: LoopResult, sandbox?: string | null): LoopResult & Proven {
  return { ...result, checks: countChecks(lastChecksOf(result)), sandbox };
}

export function countChecks(checks: readonly { readonly passed: boolean }[]) {
  const passed = checks.filter(check => check.passed).length;
  return { passed, failed: checks.length - passed };
}

export interface RunEnding {
  readonly runId: string;
  readonly stopReason: StopReason;
  readonly detail: string | undefined;
  /** Seconds since the run began. */
  readonly duration: number;
  readonly place: { readonly worktreePath: string; readonly branch: string } | undefined;
  /** Files with tests that differ from how they were when it began. */
  readonly tests?: readonly FileChange[];
}

/** An iteration that a signal broke off after the agent's turn is listed, too. */
export function runResult(state: RunState, ending: RunEnding): LoopResult {
  const { runId, stopReason, detail, duration, place, tests = [] } = ending;
  const { open, head } = state;
  const seconds = open && Math.max(0, Math.round(state.time.latest - open.startedAt) / 1000);
  const isLimited = open?.turn && limitedTurn(open.turn) !== undefined;
  const brokenOff =
    open?.turn && !isLimited ? [iterationResult(open, head?.command ?? '', seconds ?? 0)] : [];
  const totals = totalsWith(state);
  const uncounted = totals.usage ? uncountedIn(totals.usage) : 0;
  const cutShort = (open?.checks.length ?? 0) < (head?.checks.length ?? 0);
  const iterations = [
    ...state.results,
    ...brokenOff.map(each => (cutShort ? { ...each, allChecksPassed: false } : each)),
  ];
  return {
    runId,
    ...endedAs(stopReason),
    detail: detail ?? null,
    iterations,
    totalCost: totals.usage?.cost ?? null,
    unreportedCalls: totals.usage ? unpricedIn(totals.usage) : 0,
    totalTokens: totals.usage?.tokens ?? null,
    ...(uncounted > 0 && { uncountedCalls: uncounted }),
    totalDuration: duration,
    ...(state.time.waited > 0 && { waited: state.time.waited }),
    worktreePath: place?.worktreePath ?? null,
    branch: place?.branch ?? null,
    proof: proofOfRun(state),
    testsChanged: findTestChanges(tests, testCounts(state, iterations)),
    ...(state.scm && { scm: state.scm }),
    ...mutationOf(state),
    ...bestOf(state),
  };
}

function bestOf({ best, restored }: RunState): Pick<LoopResult, 'best' | 'restored'> {
  if (!best || best.at.checks.length === 0) return {};
  const isBack = restored?.why === 'end' && restored.problem === undefined;
  return {
    best: { iteration: best.at.number, ...pick(scoreOf(best.at.checks), 'checksGreen', 'failures') },
    ...(isBack && { restored: { from: restored.from, ...pick(restored, 'to', 'aside', 'bringBack') } }),
  };
}

/** Of each check that passed in the end: the most tests that it ran before, and how many it ran last. */
export function testCounts(
  { baseline }: Pick<RunState, 'baseline'>,
  iterations: readonly Pick<IterationResult, 'checkResults'>[],
): readonly TestCount[] {
  const most = new Map(baseline.map(({ command, tests = 0 }) => [command, tests]));
  const last = new Map<string, CheckSummary>();
  for (const check of iterations.flatMap(({ checkResults }) => checkResults)) {
    most.set(check.name, Math.max(most.get(check.name) ?? 0, check.tests ?? 0));
    last.set(check.name, check);
  }
  return [...last.values()].flatMap(({ name: command, passed, tests: after }) =>
    passed && after !== undefined ? [{ command, before: most.get(command) ?? 0, after }] : [],
  );
}

/** The two fields that tell one result from another. */
export function endedAs(
  stopReason: StopReason,
): Pick<DoneResult, 'success' | 'stopReason'> | Pick<StoppedResult, 'success' | 'stopReason'> {
  return isSuccess(stopReason) ? { success: true, stopReason } : { success: false, stopReason };
}

/** As it was found out last; of an iteration that did not come so far nothing is known. */
function mutationOf({ open, last }: RunState): Pick<LoopResult, 'mutation'> {
  const mutation = (open?.mutation ?? last?.mutation) as Measured | undefined;
  if (!mutation || 'failed' in mutation) return {};
  return { mutation: pick(mutation, 'score', 'mutants', 'survivors') };
}

/** What an iteration is judged against. */
type Before = Pick<RunState, 'totals' | 'traces' | 'repeated'> & {
  /** A name for what the files were when it began; null: not looked at. */
  readonly tree: string | null;
};

/** The totals with its own turn, and what the iterations before it left: the same however often it is judged. */
export function beforeVerdict(state: RunState, turn: EndedTurn): Before {
  const { totals, traces, repeated, open, last, prepared } = state;
  const tree = (last?.judged ?? prepared)?.tree ?? null;
  if (!open?.counted) return { totals: countTurn(totals, turn), traces, tree, ...(repeated && { repeated }) };
  const { repeated: earlier } = open.counted;
  return { totals, tree, traces: traces.slice(0, -1), ...(earlier && { repeated: earlier }) };
}

/** With what an iteration has used that was broken off after its turn. */
function totalsWith(state: RunState): Totals {
  const { totals, open } = state;
  if (!open?.turn || open.judged) return totals;
  return limitedTurn(open.turn)
    ? addWasted(totals, [open.turn.usage])
    : beforeVerdict(state, open.turn).totals;
}

export function iterationResult(
  iteration: IterationState,
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
      ...pick(check, ...SUMMARY),
      ...(check.timedOut && { timedOut: true }),
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
