/** The runs of the lanes: starts and resumes them, each in its worktree, and puts what they have proven into the queue. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { proofOfRun } from '../domain/checks/proof.ts';
import { type Board, currentRun, type Lane, laneOf, type SentBack } from '../domain/lanes/board.ts';
import { type Conflict, pathsOf, withConflicts, withoutKept } from '../domain/lanes/conflict.ts';
import { treeOf } from '../domain/run/best.ts';
import type { Paid } from '../domain/run/budget.ts';
import type { RecordedEvent } from '../domain/run/event.ts';
import { endingSentence } from '../domain/run/headline.ts';
import { doubtsOf, trustWith } from '../domain/run/ledger-trust.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { isSuccess, type StopReason } from '../domain/run/stop-reason.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import type { Usage } from '../domain/turn/usage.ts';
import { diskTrouble, isFull } from '../platform/disk.ts';
import { type EngineWorld, warn } from '../run/steps.ts';
import { createStopRequest, type StopRequest } from '../run/stop.ts';
import type { RunContext } from '../run/turns/context.ts';
import { undoOthers } from '../run/turns/others.ts';
import { loadState } from '../store/checkpoint.ts';
import { lastEntry } from '../store/ledger-end.ts';
import { runPaths } from '../store/paths.ts';
import type { Integration } from '../workspace/integration.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import { openStoryBranch } from '../workspace/story-branch.ts';
import { openWorktree, type Worktree } from '../workspace/worktree.ts';
import type { createBudget } from './budget.ts';
import type { AloneGate } from './check-gate.ts';
import type { LanePlaces } from './lane-place.ts';
import type { ChildRequest, EndedChild, LaneWork } from './lane-work.ts';
import { mergeTip, type NoteMerge, undecided } from './merging.ts';
import { childId, pinName, worktreeName } from './names.ts';

export interface LaneWorld {
  readonly runId: string;
  readonly work: LaneWork;
  readonly parts: RunContext;
  readonly stop: StopRequest;
  readonly integration: Integration;
  readonly budget: ReturnType<typeof createBudget>;
  readonly places: LanePlaces;
  readonly gate: AloneGate;
  board(): Board;
  onChildEvent(lane: string, event: RecordedEvent): void;
}

/** One lane, until its run is over and its work is in the queue, or somebody is needed. `spent`: what a run that is over has used. */
export type WorkOn = (
  world: LaneWorld,
  lane: Lane,
  stop: StopRequest,
  spent: (usage: Usage) => void,
) => Promise<void>;

/** A parallel run whose lanes are worked on by other machines, and whose branch is in a repository that they all reach. */
export interface RemoteLanes {
  readonly workOn: WorkOn;
  /** Who else spends it is not known here. */
  readonly budget: { room(): Paid };
  /** The branch there instead of the one here. */
  integration(here: Integration, world: Pick<EngineWorld, 'stop' | 'emit'>): Promise<Integration | Problem>;
}

export type Lanes = ReturnType<typeof createLanes>;

/** `workOn`: where the runs of the lanes are not here. */
export function createLanes(world: LaneWorld, workOn: WorkOn = workHere) {
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
    /** What runs that are not over have used, as far as it is known. */
    openUsage: () => [...used.values()],
    async work(id: string): Promise<void> {
      const lane = laneOf(world.board(), id);
      if (!lane) return;
      const own = createStopRequest();
      running.set(id, own);
      try {
        await workOn(world, lane, own, usage => used.set(id, usage));
      } catch (error) {
        const trouble = diskTrouble(error);
        if (trouble === undefined) throw error;
        world.parts.disk.failed(trouble);
      } finally {
        running.delete(id);
        if (!world.stop.requested()) used.delete(id);
        world.budget.of(id).release();
      }
    },
  };
}

const workHere: WorkOn = async (world, lane, stop, spent) => {
  const { id } = lane;
  const { parts, runId, board } = world;
  const name = worktreeName(runId, lane, board());
  const from = board().tip;
  const current = currentRun(lane);
  // One that was cut off before its first line has nothing to resume, and nothing to lose: it is begun again.
  const done = current === undefined ? undefined : endedChild(world, current);
  const isAgain = done !== undefined && !isDone(done);
  const child = current ?? childId(name, lane);
  const own = await world.places.of(id);
  if (isProblem(own)) return giveUp(world, id, own);
  const worktree = await openLane(world, lane, name, from);
  if (isProblem(worktree)) return giveUp(world, id, worktree);
  const place = { ...worktree, created: !lane.runs.some(run => endedChild(world, run)?.past.prepared) };
  try {
    if (isDone(done) && done)
      return await handIn(world, lane, child, handedBy(world, lane, worktree), resultOf(done));
    const sentBack = isAgain ? undefined : lane.sentBack;
    if (sentBack) await undoSince(world, lane, worktree);
    const tips = [...(lane.merges && !isAgain ? [lane.merges] : []), ...(sentBack ? [board().tip] : [])];
    for (const tip of tips) {
      const note: NoteMerge = left => parts.emit({ type: 'merge-left', story: id, ...left });
      const merged = await mergeInto(world, worktree, note, tip);
      if (isProblem(merged)) return giveUp(world, id, merged);
    }
    parts.emit({ type: 'story-started', story: id, child, from });
    const merging = sentBack && (await withOpen(world, sentBack, id, worktree));
    const going = { lane, id: child, worktree: place, sentBack: merging, stop, env: own.env };
    const request = requestFor(world, going);
    const opened = isAgain ? await world.work.resume(request) : await world.work.open(request);
    if (isProblem(opened)) return giveUp(world, id, opened);
    const watch = watchFolder(worktree.path, () => stop.request('interrupted', 'now', GONE));
    const result = await opened.run().finally(watch.end);
    const usage = usageOf(result);
    spent(usage);
    if (watch.isGone() && (endedChild(world, child)?.past.resumptions ?? 0) < MOST_TIMES_GONE)
      return warn(parts.emit, `${id}: ${GONE} The turn was ended, and is taken again in a new one.`);
    if (result.stopReason === 'disk_failed') failIfFull(world, result.detail ?? '');
    // What we stopped ourselves is resumed with the whole.
    if (world.stop.requested() && !isSuccess(result.stopReason)) return;
    await handIn(world, lane, child, handedBy(world, lane, worktree), { ...result, usage });
  } finally {
    worktree.release();
  }
};

/** What was written into it while it waited in the queue. */
async function undoSince({ parts, work }: LaneWorld, { id, runs }: Lane, { path }: Worktree): Promise<void> {
  const { last } = endedChild({ parts }, runs.at(-1) ?? '')?.past ?? {};
  const seen = last && treeOf(last);
  if (parts.sandbox?.contained !== 'none' || seen === undefined) return;
  const own = await openOwnGit({ cwd: path, env: parts.env });
  // A merge that a crash has cut off from its turn is Ralph's own.
  if (!isProblem(own) && (await own.head()).commit === own.stand()?.commit) return;
  const stays = (file: string) => work.ownPaths.includes(file);
  const problem = isProblem(own) ? own : await undoOthers(parts, own, seen, stays);
  if (problem)
    warn(parts.emit, `Whether others have written into ${id} is not known: ${formatProblem(problem)}.`);
}

/** Its worktree, which Ralph puts on what has landed when it is new. */
async function openLane(
  world: LaneWorld,
  { runs }: Lane,
  name: string,
  from: string,
): Promise<Worktree | Problem> {
  const { project, env } = world.parts;
  const worktree = await openWorktree({ root: project.root, env, name, from });
  if (isProblem(worktree) || !worktree.created || runs.length > 0) return worktree;
  const branch = await branchOf(world, worktree);
  if (!isProblem(branch)) branch.begin(from);
  return isProblem(branch) ? branch : worktree;
}

function branchOf({ board, parts: { env } }: LaneWorld, { path, branch }: Worktree) {
  return openStoryBranch({ cwd: path, env }, branch, board().base);
}

const GONE = 'Its worktree has disappeared.';
/** Then somebody has to look. */
const MOST_TIMES_GONE = 3;
/** Milliseconds between two looks. */
const LOOK_EVERY = 200;

/** An agent without its files only spends: it is not waited for. */
function watchFolder(path: string, onGone: () => void) {
  let isGone = false;
  const timer = setInterval(() => {
    // Contained, it cannot delete the folder itself.
    if (isGone || existsSync(join(path, '.git'))) return;
    isGone = true;
    onGone();
  }, LOOK_EVERY);
  return { isGone: () => isGone, end: () => clearInterval(timer) };
}

type Going = Pick<ChildRequest, 'id' | 'worktree' | 'sentBack' | 'stop' | 'env'> & { readonly lane: Lane };

function requestFor(world: LaneWorld, going: Going): ChildRequest {
  const { onChildEvent, parts } = world;
  const { id: story } = going.lane;
  const budget = world.budget.of(story);
  return {
    gate: world.gate,
    laneSetUp: world.places.setUpOf(story, going.env),
    ...{ ...going, budget, sync: note => sync(world, going.worktree, note) },
    onEvent(event) {
      if (event.type === 'iteration-started') {
        const { mode = 'work', iteration: number } = event;
        parts.emit({ type: 'story-step', story, mode, number, reserved: budget.held() });
      }
      onChildEvent(story, event);
    },
  };
}

/** Before a review: conflicts are solved before somebody looks, not after. */
async function sync(world: LaneWorld, worktree: Worktree, note: NoteMerge): Promise<SentBack | undefined> {
  const { tip } = world.board();
  const conflicts = await mergeInto(world, worktree, note);
  if (isProblem(conflicts)) {
    warn(world.parts.emit, `${worktree.name} was not brought up to date: ${formatProblem(conflicts)}`);
    return undefined;
  }
  if (conflicts.length === 0) return undefined;
  const files = pathsOf(conflicts);
  return { why: 'conflict', files, conflicts, others: await othersSince(world, tip, files), detail: '' };
}

/** A merge that was made before the queue sent the work back is not made again. */
async function mergeInto(
  world: LaneWorld,
  worktree: Worktree,
  note: NoteMerge,
  tip = world.board().tip,
): Promise<readonly Conflict[] | Problem> {
  const { integration, work } = world;
  const branch = await branchOf(world, worktree);
  return isProblem(branch) ? branch : mergeTip(integration, branch, tip, work.ownPaths, note);
}

/** With all that is to be decided in its files, also from merges before. */
async function withOpen(
  world: LaneWorld,
  sentBack: SentBack,
  id: string,
  worktree: Worktree,
): Promise<SentBack> {
  const { integration, board } = world;
  const opened = await branchOf(world, worktree);
  const { commit } = isProblem(opened) ? {} : await opened.own.head();
  if (commit === undefined) return sentBack;
  const conflicts = await undecided(integration, commit, laneOf(board(), id)?.conflicts);
  return isProblem(conflicts) ? sentBack : { ...sentBack, conflicts };
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

/** What a lane hands in. */
export interface Handed {
  /** What was proven, as a commit that is known here. */
  commit(tree: string | undefined): Promise<string | Problem>;
  /** Work that does not land stays reachable all the same. */
  keep(child: string): Promise<Problem | undefined>;
}

function handedBy(world: LaneWorld, lane: Lane, worktree: Worktree): Handed {
  const { integration, work, parts } = world;
  const open = () => branchOf(world, worktree);
  return {
    async commit(tree) {
      const branch = await open();
      const saved = isProblem(branch) ? branch : await branch.commitWork(tree, work.message(lane));
      if (isProblem(saved)) return saved;
      if (saved.left.length > 0)
        warn(parts.emit, `Not in the commit of ${lane.id}: ${saved.left.join(', ')}.`);
      return (await integration.own.bring(saved.commit)) ?? saved.commit;
    },
    async keep(child) {
      const branch = await open();
      const { commit } = isProblem(branch) ? {} : await branch.own.head();
      return commit === undefined ? undefined : integration.pin(pinName(child), commit);
    },
  };
}

export type Result = Pick<LoopResult, 'stopReason' | 'detail' | 'proof'> & { readonly usage: Usage };

/** What it has proven goes into the queue; else the user is needed. */
export async function handIn(
  world: LaneWorld,
  lane: Lane,
  child: string,
  handed: Handed,
  { stopReason, detail, proof, usage }: Result,
): Promise<void> {
  const { parts, integration, work, board } = world;
  const paths = runPaths(parts.project, child);
  const end = { type: 'story-ended', story: lane.id, child, reason: stopReason, usage } as const;
  const ledger = lastEntry(paths.events).prev;
  if (!isSuccess(stopReason)) {
    parts.emit({ ...end, ledger, why: endingSentence({ stopReason, detail, proof }) });
    const unkept = await handed.keep(child);
    if (unkept) warn(parts.emit, `The work of ${lane.id} is not kept: ${formatProblem(unkept)}`);
    return;
  }
  const fail = (problem: Problem) => {
    const why = formatProblem(problem);
    if (!failIfFull(world, why)) parts.emit({ ...end, ledger, why });
  };
  const commit = await handed.commit(proof.tree ?? undefined);
  if (isProblem(commit)) return fail(commit);
  const base = await integration.baseOf(board().tip, commit);
  const patch = isProblem(base) ? base : await integration.patchOf(base, commit, work.ownPaths);
  if (isProblem(patch)) return fail(patch);
  const unkept = await integration.pin(pinName(child), commit);
  if (unkept) return fail(unkept);
  parts.emit({ ...end, ledger });
  if (work.choose && !lane.sentBack && !lane.isRound) {
    const why = 'it is proven; of those that are proven one lands';
    parts.emit({ type: 'lane-kept', story: lane.id, why, needsYou: false, commit });
  } else {
    const conflicts = openConflicts(world, lane.id, child);
    parts.emit({
      type: 'queued',
      story: lane.id,
      head: commit,
      patch,
      ...(conflicts.length > 0 && { conflicts }),
    });
  }
}

/** What merges have left in it, before its run and in it, and its agent has not said to keep. */
function openConflicts(world: LaneWorld, id: string, child: string): readonly Conflict[] {
  const { conflicts, keeps } = endedChild(world, child)?.past ?? {};
  return withoutKept(withConflicts(laneOf(world.board(), id)?.conflicts, conflicts), keeps);
}

export function giveUp({ parts }: LaneWorld, story: string, problem: Problem): void {
  const why = formatProblem(problem);
  if (!failIfFull({ parts }, why)) parts.emit({ type: 'lane-kept', story, why, needsYou: true });
}

/** Without room no lane can be worked on: the whole stops, to be resumed, instead of one after the other. Returns whether it does. */
export function failIfFull({ parts }: Pick<LaneWorld, 'parts'>, why: string): boolean {
  const hasNoRoom = isFull(why, parts.project.root, parts.paths.state.folder);
  if (hasNoRoom) parts.disk.failed(why);
  return hasNoRoom;
}

export function endedChild({ parts }: Pick<LaneWorld, 'parts'>, id: string): EndedChild | undefined {
  const paths = runPaths(parts.project, id);
  const { state: past, problems } = loadState(paths);
  const isBelieved = doubtsOf(trustWith(paths.trust, problems)).length === 0;
  return past.head ? { past, paths, isBelieved } : undefined;
}

function isDone(child: EndedChild | undefined): boolean {
  return child?.isBelieved === true && child.past.result?.success === true;
}

export function resultOf({ past }: EndedChild): Result {
  const reason = past.result?.stopReason as StopReason;
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
