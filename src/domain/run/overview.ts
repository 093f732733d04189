/** A run at a glance: what `ralph status`, the library and the dashboard say of it. */

import { provenWords } from '../checks/proof.ts';
import { type IssueSaid, type PullRequestState, pullRequestOf } from '../forge/forge-state.ts';
import { boardUsage, type LaneOutcome, laneOutcome } from '../lanes/board.ts';
import { type AskedQuestion, openQuestions } from '../stories/questions.ts';
import { pick } from '../text/fields.ts';
import type { LedgerTrust } from './ledger-trust.ts';
import { countChecks, lastChecksOf, provenBy } from './result.ts';
import { type Raise, raiseIn } from './resume-command.ts';
import { lastLimits, type RunState, usedSoFar } from './state.ts';
import { endingOf, type StopReason } from './stop-reason.ts';

/** How a run stands. */
export type RunStatus =
  | 'running'
  | 'waiting'
  | 'paused'
  /** An in-session loop whose host has ended: it is still there to be resumed. */
  | 'closed'
  | 'done'
  /** Its ledger says how it ended, and cannot be believed: it is a copy, or was changed. */
  | 'unverified'
  | 'stopped'
  /** It was cut off before its first iteration: nothing was done. */
  | 'unstarted'
  | 'crashed';

/** A run at a glance. */
export interface RunOverview {
  readonly id: string;
  readonly state: RunStatus;
  readonly command: string;
  readonly agent: string | null;
  /** What it is about; null: nobody wrote it down. */
  readonly title: string | null;
  /** What it ran in; null: nothing, or it is not known. */
  readonly sandbox: string | null;
  readonly startedAt: string | null;
  readonly stopReason: StopReason | null;
  readonly iteration: number;
  /** What the iteration is for, in `ralph prd`: `review US-002`. */
  readonly story: string | null;
  /** Until when it waits, in milliseconds since 1970; null: it does not wait. */
  readonly until: number | null;
  readonly maxIterations: number | null;
  readonly cost: number | null;
  readonly checks: { readonly passed: number; readonly failed: number };
  /** What was proven and how, in one line; null: it has not ended, or cannot be believed. */
  readonly proof: string | null;
  /** `ralph resume` can continue it; with a raised limit, where that is what stopped it. */
  readonly resumable: boolean;
  /** Its ledger is gone, with all that it has done and spent. */
  readonly isLost: boolean;
  /** What its stories ask, and nobody has answered. */
  readonly questions: readonly Pick<AskedQuestion, 'story' | 'question'>[];
  /** How to raise the limit that stopped it; null: no limit did, or it is not known. */
  readonly raise: Raise | null;
  /** Whether its ledger is what Ralph wrote, by its end. */
  readonly ledger: LedgerTrust;
  /** Its pull request; null: it has none. */
  readonly pullRequest: PullRequestState | null;
  /** What was said at its issue, oldest first; null: nothing. */
  readonly said: readonly IssueSaid[] | null;
  /** Of a parallel run: where each piece of work stands; null: it is none. */
  readonly lanes: readonly LaneOutcome[] | null;
}

/** How it stands by its ledger; `waiting` and `paused` are two ways of running. */
export type Standing = Exclude<RunStatus, 'waiting' | 'paused'>;

type Around = Pick<RunOverview, 'id' | 'command' | 'startedAt' | 'state' | 'resumable' | 'isLost' | 'ledger'>;

/** `around`: what its ledger does not say. */
export function overview(state: RunState, around: Around): RunOverview {
  const { head, result, board, waiting } = state;
  const iteration = state.open ?? state.last;
  const checks = iteration ? [...iteration.checks, ...iteration.clean] : state.baseline;
  const limits = { limits: lastLimits(state), maxIterations: head?.maxIterations };
  return {
    ...around,
    questions: result?.success
      ? []
      : openQuestions(state.questions).map(each => pick(each, 'story', 'question')),
    raise: (result && raiseIn(result, result.iterations.length, limits)) ?? null,
    agent: head?.agent ?? null,
    title: head?.title ?? null,
    sandbox: head?.sandbox ?? null,
    // An ending that nobody vouches for is none.
    stopReason: (around.ledger.kind === 'intact' && result?.stopReason) || null,
    iteration: result ? result.iterations.length : (iteration?.number ?? 0),
    story: result || iteration?.story === undefined ? null : `${iteration.mode} ${iteration.story}`,
    until: (around.state === 'waiting' && waiting?.until) || null,
    maxIterations: head?.maxIterations ?? null,
    cost: (result ? result.totalCost : (board ? boardUsage(board) : usedSoFar(state))?.cost) ?? null,
    lanes: board?.lanes.map(laneOutcome) ?? null,
    pullRequest: pullRequestOf(state.forge),
    said: state.said ?? null,
    checks: countChecks(result ? lastChecksOf(result) : checks),
    proof: result && around.ledger.kind === 'intact' ? provenWords(provenBy(result, head?.sandbox)) : null,
  };
}

/** How it stands, in a few words for a table: an ending that cannot be believed is none. */
export function standingWords(state: RunStatus, stopReason: string | null): string {
  if (state === 'unstarted') return 'did not begin';
  return state === 'unverified' || stopReason === null ? state : endingOf(stopReason).short;
}

/** `unended`: how it stands where its ledger has no end. */
export function statusOf(
  { result, waiting, time }: RunState,
  ledger: LedgerTrust,
  unended: () => Standing,
): RunStatus {
  if (result && ledger.kind !== 'intact') return 'unverified';
  if (result) return result.success ? 'done' : 'stopped';
  const status = unended();
  if (status !== 'running') return status;
  return time.isPaused ? 'paused' : waiting ? 'waiting' : status;
}
