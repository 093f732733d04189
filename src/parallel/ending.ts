/** The end of a parallel run: the user's branch gets what has landed, if nobody has moved it meanwhile; and the result. */
import type { Board } from '../domain/board.ts';
import { boardMutation, boardUsage, laneOutcome } from '../domain/board-sums.ts';
import { formatProblem, isProblem, type Problem } from '../domain/problem.ts';
import { proofOfRun } from '../domain/proof.ts';
import { endedAs, type LoopResult } from '../domain/result.ts';
import type { StopReason } from '../domain/stop-reason.ts';
import { addUsage, type Usage, unpricedIn } from '../domain/usage.ts';
import type { EngineWorld } from '../engine/plan.ts';
import { complaint } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import type { ProverParts } from '../turns/prover.ts';
import type { Integration } from '../workspace/integration.ts';
import type { Crew } from './crew.ts';

export interface Ended {
  readonly reason: StopReason;
  readonly detail?: string | undefined;
  /** What runs that are not over have used. */
  readonly open?: readonly Usage[];
}

export interface EndingOptions {
  readonly crew: Crew;
  readonly parts: ProverParts;
  readonly runId: string;
  readonly integration?: Integration;
  /** Its branch is in another repository, and the one here is nobody's. */
  readonly elsewhere?: object | undefined;
}

export async function endRun(options: EndingOptions, world: EngineWorld, ended: Ended): Promise<LoopResult> {
  const { integration, elsewhere } = options;
  const { board } = world.past();
  const isOver = !world.stop.requested();
  if (integration && !elsewhere && board && isOver && board.landed.length > 0)
    await integrate(integration, world, options, board);
  world.steering.reportUndelivered();
  const result = await resultOf(options, world, ended);
  world.emit({ type: 'run-ended', result });
  await world.settled();
  return result;
}

async function resultOf(
  { crew, runId }: EndingOptions,
  world: EngineWorld,
  ended: Ended,
): Promise<LoopResult> {
  const { past, meter } = world;
  const { board, time } = past();
  const known = board && boardUsage(board);
  const all = [...(known ? [known] : []), ...(ended.open ?? [])];
  const usage = all.length === 0 ? undefined : all.reduce(addUsage);
  const report = crew.report?.();
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

/** Moves the branch that was asked for; where it is checked out, with its files. */
async function integrate(
  integration: Integration,
  { emit }: EngineWorld,
  { runId, parts }: EndingOptions,
  board: Board,
): Promise<void> {
  const { branch, tip } = board;
  if (branch === null) return;
  const problem = await move(integration, board, branch);
  if (!problem) return emit({ type: 'integrated', branch, commit: tip });
  const root = parts.project.root;
  const commands = `${joinWords(['git', '-C', root, 'switch', branch])} && ${joinWords(['git', '-C', root, 'merge', `ralph/${runId}/_int`])}`;
  emit({
    type: 'integrated',
    branch,
    commit: tip,
    problem: `${formatProblem(problem)}. What has landed is on ralph/${runId}/_int: ${commands}`,
  });
}

async function move(
  { own }: Integration,
  { base, tip }: Board,
  branch: string,
): Promise<Problem | undefined> {
  const { git } = own.repository;
  const ref = `refs/heads/${branch}`;
  const where = `branch ${branch}`;
  const now = await git.run(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  const at = now.code === 0 ? now.stdout.trim() : undefined;
  if (at === tip) return undefined;
  if (at !== undefined && at !== base)
    return { where, what: 'it has moved since the run began, so it is left alone' };
  const isOut = (await own.head()).branch === branch;
  const elsewhere = isOut ? false : await isCheckedOut(git, ref);
  if (elsewhere) return { where, what: 'it is checked out in another worktree' };
  if (isOut) {
    const status = await own.status();
    if (isProblem(status)) return status;
    const to = await own.treeOf(tip);
    if (isProblem(to)) return to;
    // They are those of the tip where it was cut off here before.
    if (status.entries.length > 0 && status.tree !== to)
      return { where, what: 'files in your work tree have changed since the run began' };
    const failed = await own.moveFiles(status.tree, to);
    if (failed) return failed;
  }
  const moved = await git.run(['update-ref', '-m', 'ralph: landed', ref, tip, at ?? '0'.repeat(tip.length)]);
  if (moved.code !== 0) return { where, what: complaint(moved.output, moved.code) };
  if (isOut) await git.run(['read-tree', tip]);
  return undefined;
}

async function isCheckedOut(git: Integration['own']['objects'], ref: string): Promise<boolean> {
  const { stdout } = await git.run(['worktree', 'list', '--porcelain']);
  return stdout.split('\n').includes(`branch ${ref}`);
}
