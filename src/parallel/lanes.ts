/** The runs of the lanes: starts and resumes them, each in its worktree, and puts what they have proven into the queue. */
import { type Board, type Lane, laneOf, type SentBack } from '../domain/board.ts';
import { currentRun } from '../domain/board-sums.ts';
import type { RecordedEvent } from '../domain/event.ts';
import { doubtsOf, trustWith } from '../domain/ledger-trust.ts';
import { formatProblem, isProblem, type Problem } from '../domain/problem.ts';
import { proofOfRun } from '../domain/proof.ts';
import type { LoopResult } from '../domain/result.ts';
import { endingSentence, isSuccess, type StopReason } from '../domain/stop-reason.ts';
import type { Usage } from '../domain/usage.ts';
import { warn } from '../engine/plan.ts';
import { createStopRequest, type StopRequest } from '../engine/stop.ts';
import { loadPast } from '../store/checkpoint.ts';
import { lastEntry } from '../store/ledger-end.ts';
import { runPaths } from '../store/paths.ts';
import { ledgerTrust } from '../store/trust.ts';
import type { PlanParts } from '../turns/plan-parts.ts';
import type { Integration } from '../workspace/integration.ts';
import { openStoryBranch } from '../workspace/story-branch.ts';
import { openWorktree, type Worktree } from '../workspace/worktree.ts';
import type { createAccounts } from './accounts.ts';
import type { ChildRequest, Crew, EndedChild } from './crew.ts';
import { mergeTip } from './merging.ts';
import type { Money } from './money.ts';
import { childId, worktreeName } from './names.ts';

export interface LaneWorld {
  readonly runId: string;
  readonly crew: Crew;
  readonly parts: PlanParts;
  readonly stop: StopRequest;
  readonly integration: Integration;
  readonly money: Money;
  readonly accounts: ReturnType<typeof createAccounts>;
  board(): Board;
  onChildEvent(lane: string, event: RecordedEvent): void;
}

export interface Lanes {
  running(): number;
  isRunning(lane: string): boolean;
  /** What runs that are not over have used, as far as it is known. */
  openUsage(): readonly Usage[];
  /** One lane, until its run is over and its work is in the queue, or somebody is needed. */
  work(id: string): Promise<void>;
}

export function createLanes(world: LaneWorld): Lanes {
  const running = new Map<string, StopRequest>();
  const used = new Map<string, Usage>();
  const { stop } = world;
  const stopAll = (how: 'now' | 'after-this-step') => {
    const { reason = 'interrupted', detail } = stop.requested() ?? {};
    for (const child of running.values()) child.request(reason, how, detail);
  };
  stop.stopping.addEventListener('abort', () => stopAll('after-this-step'));
  stop.abort.addEventListener('abort', () => stopAll('now'));
  return {
    running: () => running.size,
    isRunning: (lane: string) => running.has(lane),
    openUsage: () => [...used.values()],
    async work(id): Promise<void> {
      const own = createStopRequest();
      running.set(id, own);
      try {
        await workOn(world, id, own, usage => used.set(id, usage));
      } finally {
        running.delete(id);
        if (!world.stop.requested()) used.delete(id);
        world.money.release(id);
      }
    },
  };
}

async function workOn(
  world: LaneWorld,
  id: string,
  stop: StopRequest,
  spent: (usage: Usage) => void,
): Promise<void> {
  const lane = laneOf(world.board(), id);
  if (!lane) return;
  const { parts, runId, board } = world;
  const name = worktreeName(runId, lane, board());
  const from = board().tip;
  const current = currentRun(lane);
  // One that was cut off before its first line has nothing to resume, and nothing to lose: it is begun again.
  const done = current === undefined ? undefined : endedChild(world, current);
  const isAgain = done !== undefined && !isDone(done);
  const child = current ?? childId(name, lane);
  const worktree = await openWorktree({ root: parts.project.root, env: parts.env, name, from });
  if (isProblem(worktree)) return giveUp(world, id, worktree);
  const place = { ...worktree, created: !lane.runs.some(run => endedChild(world, run)?.past.prepared) };
  try {
    if (isDone(done) && done)
      return await handIn(world, lane, child, workIn(world, lane, worktree), resultOf(done));
    const sentBack = isAgain ? undefined : lane.sentBack;
    if (sentBack) {
      const merged = await mergeInto(world, worktree, sentBack);
      if (isProblem(merged)) return giveUp(world, id, merged);
    }
    parts.emit({ type: 'story-started', story: id, child, from });
    const request = requestFor(world, { lane, child, worktree: place, sentBack, stop });
    const opened = isAgain ? await world.crew.resume(request) : await world.crew.open(request);
    if (isProblem(opened)) return giveUp(world, id, opened);
    const result = await opened.run();
    const usage = usageOf(result);
    spent(usage);
    // What we stopped ourselves is resumed with the whole.
    if (world.stop.requested() && !isSuccess(result.stopReason)) return;
    await handIn(world, lane, child, workIn(world, lane, worktree), { ...result, usage });
  } finally {
    worktree.release();
  }
}

interface Going {
  readonly lane: Lane;
  readonly child: string;
  readonly worktree: Worktree;
  readonly sentBack: SentBack | undefined;
  readonly stop: StopRequest;
}

function requestFor(world: LaneWorld, { lane, child, worktree, sentBack, stop }: Going): ChildRequest {
  const { money, accounts, onChildEvent, parts } = world;
  return {
    id: child,
    lane,
    worktree,
    sentBack,
    stop,
    shared: money.sharedBy(lane.id, accounts),
    sync: () => sync(world, worktree),
    onEvent(event) {
      if (event.type === 'iteration-started') {
        const { mode = 'work', iteration: number } = event;
        parts.emit({ type: 'story-step', story: lane.id, mode, number, reserved: money.held(lane.id) });
      }
      onChildEvent(lane.id, event);
    },
  };
}

/** Before a review: conflicts are solved before somebody looks, not after. */
async function sync(world: LaneWorld, worktree: Worktree): Promise<SentBack | undefined> {
  const { tip } = world.board();
  const merged = await mergeInto(world, worktree);
  if (isProblem(merged)) {
    warn(world.parts.emit, `${worktree.name} was not brought up to date: ${formatProblem(merged)}`);
    return undefined;
  }
  if (merged.length === 0) return undefined;
  return { why: 'conflict', files: merged, others: await othersSince(world, tip, merged), detail: '' };
}

/** A merge that was made before the queue sent the work back is not made again. */
async function mergeInto(
  { integration, crew, board, parts }: LaneWorld,
  worktree: Worktree,
  _why?: SentBack,
): Promise<readonly string[] | Problem> {
  const branch = await openStoryBranch({ cwd: worktree.path, env: parts.env }, worktree.branch);
  return isProblem(branch) ? branch : mergeTip(integration, branch, board().tip, crew.ownPaths);
}

/** Titles of what has landed and touches one of these files. */
async function othersSince(
  { board, integration }: LaneWorld,
  tip: string,
  files: readonly string[],
): Promise<readonly string[]> {
  const { landed, base } = board();
  const titles: string[] = [];
  let before = base;
  for (const { story, commit } of landed) {
    const changed = await integration.own.changedPaths(`${before}^{tree}`, `${commit}^{tree}`);
    if (!isProblem(changed) && changed.some(({ path }) => files.includes(path)))
      titles.push(laneOf(board(), story)?.title ?? story);
    before = commit;
    if (commit === tip) break;
  }
  return titles;
}

/** Where the work of a lane is. */
export interface LaneWork {
  /** What was proven, as a commit that is known here. */
  commit(tree: string | undefined): Promise<string | Problem>;
  /** Work that does not land stays reachable all the same. */
  keep(child: string): Promise<void>;
}

function workIn(world: LaneWorld, lane: Lane, worktree: Worktree): LaneWork {
  return {
    commit: tree => committed(world, lane, worktree, tree),
    keep: child => keepHead(world, worktree, child),
  };
}

export type Result = Pick<LoopResult, 'stopReason' | 'detail' | 'proof'> & { readonly usage: Usage };

/** What it has proven goes into the queue; else the user is needed. */
export async function handIn(
  world: LaneWorld,
  lane: Lane,
  child: string,
  work: LaneWork,
  { stopReason, detail, proof, usage }: Result,
): Promise<void> {
  const { parts, integration, crew, board } = world;
  const paths = runPaths(parts.project, child);
  const end = { type: 'story-ended', story: lane.id, child, reason: stopReason, usage } as const;
  const ledger = lastEntry(paths.events).prev;
  if (!isSuccess(stopReason)) {
    parts.emit({ ...end, ledger, why: endingSentence(stopReason, detail, 1) });
    await work.keep(child);
    return;
  }
  const commit = await work.commit(proof.tree ?? undefined);
  if (isProblem(commit)) {
    parts.emit({ ...end, ledger, why: formatProblem(commit) });
    return;
  }
  const base = await integration.baseOf(board().tip, commit);
  const patch = isProblem(base) ? base : await integration.patchOf(base, commit, crew.ownPaths);
  if (isProblem(patch)) {
    parts.emit({ ...end, ledger, why: formatProblem(patch) });
    return;
  }
  await integration.pin(`${lane.id}/${child.split('.').at(-1)}`, commit);
  parts.emit({ ...end, ledger });
  if (crew.choose && !lane.sentBack) {
    const why = 'it is proven, and is compared with the others';
    parts.emit({ type: 'lane-kept', story: lane.id, why, needsYou: false, commit });
  } else parts.emit({ type: 'queued', story: lane.id, head: commit, patch });
}

async function committed(
  { integration, crew, parts }: LaneWorld,
  lane: Lane,
  worktree: Worktree,
  tree: string | undefined,
): Promise<string | Problem> {
  const branch = await openStoryBranch({ cwd: worktree.path, env: parts.env }, worktree.branch);
  if (isProblem(branch)) return branch;
  const saved = await branch.commitAll(tree, crew.message(lane));
  if (isProblem(saved)) return saved;
  if (saved.left.length > 0) warn(parts.emit, `Not in the commit of ${lane.id}: ${saved.left.join(', ')}.`);
  return (await integration.own.bring(saved.commit)) ?? saved.commit;
}

async function keepHead({ integration, parts }: LaneWorld, worktree: Worktree, child: string): Promise<void> {
  const branch = await openStoryBranch({ cwd: worktree.path, env: parts.env }, worktree.branch);
  const { commit } = isProblem(branch) ? {} : await branch.own.head();
  if (commit !== undefined)
    await integration.pin(`${worktree.name.split('/').at(-1)}/${child.split('.').at(-1)}`, commit);
}

export function giveUp({ parts }: LaneWorld, story: string, problem: Problem): void {
  parts.emit({ type: 'lane-kept', story, why: formatProblem(problem), needsYou: true });
}

export function endedChild({ parts }: Pick<LaneWorld, 'parts'>, id: string): EndedChild | undefined {
  const paths = runPaths(parts.project, id);
  const { past, problems } = loadPast(paths);
  const isBelieved = doubtsOf(trustWith(ledgerTrust(paths), problems)).length === 0;
  return past.head ? { past, paths, isBelieved } : undefined;
}

function isDone(child: EndedChild | undefined): boolean {
  const { ended } = child?.past ?? {};
  return child?.isBelieved === true && ended !== undefined && isSuccess(ended);
}

export function resultOf({ past }: EndedChild): Result {
  const reason = past.ended as StopReason;
  return { stopReason: reason, detail: null, proof: proofOfRun(past), usage: past.totals.usage ?? UNKNOWN };
}

const UNKNOWN: Usage = { costSource: 'unknown' };

function usageOf({ totalCost, totalTokens, unreportedCalls }: LoopResult): Usage {
  if (totalCost === null && totalTokens === null) return UNKNOWN;
  return {
    ...(totalCost !== null && { cost: totalCost }),
    ...(totalTokens !== null && { tokens: totalTokens }),
    costSource: totalCost === null ? 'unknown' : 'agent',
    ...(unreportedCalls > 0 && { unpriced: unreportedCalls }),
  };
}
