/** The end of a parallel run: the user's branch gets what has landed, if nobody has moved it meanwhile; and the result. */

import { proofOfRun } from '../domain/checks/proof.ts';
import { findTestChanges } from '../domain/checks/test-changes.ts';
import { type Board, boardMutation, boardUsage, laneOutcome } from '../domain/lanes/board.ts';
import { endedAs, type LoopResult, testCounts } from '../domain/run/result.ts';
import { isSuccess, type StopReason } from '../domain/run/stop-reason.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { addUsage, type Usage, unpricedIn } from '../domain/turn/usage.ts';
import { joinWords } from '../platform/shell.ts';
import { type EngineWorld, warn } from '../run/steps.ts';
import { isBrokenOff } from '../run/stop.ts';
import type { RunContext } from '../run/turns/context.ts';
import { lostSince } from '../run/turns/lost-branch.ts';
import { changedTests } from '../workspace/changed-tests.ts';
import type { Integration } from '../workspace/integration.ts';
import { moveBranch } from '../workspace/take-over.ts';
import { outsideOwner } from '../workspace/user-index.ts';
import type { LaneWork } from './lane-work.ts';
import { endedChild } from './lanes.ts';

export interface Ended {
  readonly reason: StopReason;
  readonly detail?: string | undefined;
  /** What runs that are not over have used. */
  readonly open?: readonly Usage[];
}

export interface EndingOptions {
  readonly work: LaneWork;
  readonly parts: RunContext;
  readonly runId: string;
  readonly integration?: Integration;
  /** Its branch is in another repository, and the one here is nobody's. */
  readonly elsewhere?: object | undefined;
}

export async function endRun(options: EndingOptions, world: EngineWorld, ended: Ended): Promise<LoopResult> {
  const { integration, elsewhere } = options;
  const { board } = world.past();
  const isOver = !world.stop.requested();
  const moved =
    integration && !elsewhere && board && isOver && board.landed.length > 0
      ? await integrate(integration, world, options, board)
      : undefined;
  // The work is proven, and not where it was asked for.
  const isLeft = moved !== undefined && isSuccess(ended.reason);
  const now = isLeft ? { ...ended, reason: 'scm_failed' as const, detail: moved } : ended;
  world.steering.reportUndelivered();
  const result = { ...resultOf(options, world, now), ...(await testsOf(options, world, now)) };
  world.emit({ type: 'run-ended', result });
  await world.flushed();
  return result;
}

/** Of what has landed, with the counts of the runs that made it. */
async function testsOf({ integration, parts }: EndingOptions, { past, stop }: EngineWorld, ended: Ended) {
  const { board } = past();
  const isLooked = board && integration && !isBrokenOff(stop, ended.reason);
  const [from, to] = isLooked ? await treesOf(integration, board) : [];
  const changed = integration && from && to ? await integration.own.changedPaths(from, to) : [];
  const files = integration && !isProblem(changed) ? await changedTests(integration.own, changed) : [];
  const counts = (board?.landed ?? []).flatMap(({ story }) => {
    const run = board?.lanes.find(({ id }) => id === story)?.runs.at(-1);
    const past = run === undefined ? undefined : endedChild({ parts }, run)?.past;
    return past ? testCounts(past, past.results) : [];
  });
  return { testsChanged: findTestChanges(files, counts) };
}

async function treesOf({ own }: Integration, { base, tip }: Board): Promise<readonly string[]> {
  const trees = [await own.treeOf(base), await own.treeOf(tip)];
  return trees.filter(tree => typeof tree === 'string');
}

function resultOf({ work, runId }: EndingOptions, world: EngineWorld, ended: Ended): LoopResult {
  const { past, meter } = world;
  const { board, time } = past();
  const known = board && boardUsage(board);
  const all = [...(known ? [known] : []), ...(ended.open ?? [])];
  const usage = all.length === 0 ? undefined : all.reduce(addUsage);
  const report = work.report?.();
  const mutation = board && boardMutation(board);
  return {
    runId,
    ...endedAs(ended.reason),
    detail: ended.detail ?? null,
    iterations: [],
    totalCost: usage?.cost ?? null,
    unreportedCalls: usage ? unpricedIn(usage) : 0,
    totalTokens: usage?.tokens ?? null,
    totalDuration: meter.duration(),
    ...(time.waited > 0 && { waited: time.waited }),
    worktreePath: null,
    branch: board ? `ralph/${runId}/_int` : null,
    proof: proofOfRun(past()),
    ...(report && { stories: report }),
    ...(mutation && { mutation }),
    ...(board && { lanes: board.lanes.map(lane => laneOutcome(lane)) }),
  };
}

/** Moves the branch that was asked for; where it is checked out, with its files. Returns what others have done to it. */
async function integrate(
  integration: Integration,
  { emit }: EngineWorld,
  { runId, parts }: EndingOptions,
  board: Board,
): Promise<string | undefined> {
  const { branch, tip, isThere, integrated: base = board.base } = board;
  if (branch === null) return undefined;
  const tell = (text: string) => warn(emit, text);
  const owner = outsideOwner(integration.own, runId, tell);
  const problem = await moveBranch(integration.own, { branch, base, tip, isThere }, owner);
  if (!problem) {
    emit({ type: 'integrated', branch, commit: tip });
    return undefined;
  }
  const root = parts.project.root;
  const commands = `${joinWords(['git', '-C', root, 'switch', branch])} && ${joinWords(['git', '-C', root, 'merge', `ralph/${runId}/_int`])}`;
  emit({
    type: 'integrated',
    branch,
    commit: tip,
    problem: `${formatProblem(problem)}. What has landed is on ralph/${runId}/_int: ${commands}`,
  });
  if (!('now' in problem)) return undefined;
  const { now } = problem;
  return (
    (await lostSince(integration.own, { runId, branch, head: base, now })) ?? `${formatProblem(problem)}.`
  );
}
