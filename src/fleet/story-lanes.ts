/** The lanes of a list of stories as units of their own: any worker takes them, and what they have proven comes back by git. */
import { type Lane, laneOf } from '../domain/board.ts';
import { currentRun } from '../domain/board-sums.ts';
import { defined } from '../domain/fields.ts';
import { formatProblem, isProblem, type Problem } from '../domain/problem.ts';
import type { StopReason } from '../domain/stop-reason.ts';
import type { Usage } from '../domain/usage.ts';
import { warn } from '../engine/plan.ts';
import { pause } from '../engine/wait.ts';
import { endedChild, giveUp, handIn, type Lanes, type LaneWorld, resultOf } from '../parallel/lanes.ts';
import { childId, worktreeName } from '../parallel/names.ts';
import { runPaths } from '../store/paths.ts';
import { readStoryCopy } from '../store/story-copies.ts';
import type { Remote } from '../workspace/remote.ts';
import { unpack } from './carry.ts';
import { cancelUnit } from './commands.ts';
import type { Database } from './database.ts';
import type { ListPurse } from './list-purse.ts';
import { OVER, type Unit } from './unit.ts';
import { addUnit, allLines, readLines, unitOf } from './units.ts';

export interface StoryWorld {
  readonly database: Database;
  /** That of the list. */
  readonly unit: Unit;
  readonly remote: Remote;
  readonly worker: string;
  readonly purse: ListPurse;
}

/** Milliseconds between two looks at a unit. */
const LOOK_EVERY = 500;
/** And after its work could not be had. */
const BRING_AGAIN = 2_000;

export function storyLanes(world: LaneWorld, fleet: StoryWorld): Lanes {
  const running = new Set<string>();
  const open = new Map<string, Usage>();
  return {
    running: () => running.size,
    isRunning: lane => running.has(lane),
    openUsage: () => [...open.values()],
    async work(id) {
      running.add(id);
      try {
        await workOn(world, fleet, id, usage => open.set(id, usage));
      } finally {
        running.delete(id);
        if (!world.stop.requested()) open.delete(id);
      }
    },
  };
}

async function workOn(
  world: LaneWorld,
  fleet: StoryWorld,
  id: string,
  spent: (usage: Usage) => void,
): Promise<void> {
  const lane = laneOf(world.board(), id);
  if (!lane) return;
  const child = await submitted(world, fleet, lane);
  if (isProblem(child)) return giveUp(world, id, child);
  if (child === undefined) return;
  const unit = await untilOver(world, fleet, lane, child);
  if (!unit) return;
  spent(unit.cost === null ? { costSource: 'unknown' } : { cost: unit.cost, costSource: 'agent' });
  await fleet.purse.look();
  await take(world, fleet, lane, unit);
}

/** One unit for each time that it is begun: after a crash the one that is there is waited for. undefined: the list has spent what it may. */
async function submitted(
  { board, parts, runId, crew }: LaneWorld,
  fleet: StoryWorld,
  lane: Lane,
): Promise<string | Problem | undefined> {
  const { unit, database, purse } = fleet;
  const { tip: from } = board();
  const last = lane.runs.at(-1);
  const current = currentRun(lane);
  const isThere = current !== undefined;
  const id = current ?? childId(worktreeName(runId, lane, board()), lane);
  const before = lane.sentBack && !isThere && last !== undefined ? await unitOf(database, last) : undefined;
  const hash = parts.past().stories?.hash;
  const task = crew.taskOf?.(lane);
  const list = hash === undefined ? undefined : readStoryCopy(parts.paths, hash);
  if (list === undefined && task === undefined)
    return { where: lane.id, what: 'the list of stories is not on record' };
  const { sentBack } = lane;
  const given = { ...defined({ list, task }), ...(sentBack && !isThere && { sentBack }) };
  const story = { lane: lane.id, tip: from, ...given };
  const budget = await purse.look();
  if (!isThere && purse.spending()) return undefined;
  if (!isThere)
    await addUnit(database, {
      ...{
        id,
        kind: 'story',
        parent: unit.id,
        title: lane.title,
        base: before?.headSha ?? from,
        depends: [],
      },
      owner: unit.owner,
      repoUrl: unit.repoUrl,
      config: { ...unit.config, story },
      needs: unit.needs,
      account: unit.account,
      budget,
      priority: unit.priority,
      minVersion: unit.minVersion,
    });
  parts.emit({ type: 'story-started', story: lane.id, child: id, from });
  return id;
}

/** undefined: the run was stopped, and this one with it or not. */
async function untilOver(
  { stop, parts }: LaneWorld,
  { database, worker }: StoryWorld,
  lane: Lane,
  child: string,
): Promise<Unit | undefined> {
  let after = 0;
  while (!stop.stopping.aborted) {
    const unit = await unitOf(database, child).catch(() => undefined);
    const lines = await readLines(database, child, after).catch(() => []);
    for (const { type, text } of lines) {
      if (type !== 'iteration-started') continue;
      const { iteration: number, mode = 'work' } = JSON.parse(text);
      parts.emit({ type: 'story-step', story: lane.id, mode, number });
    }
    after = lines.at(-1)?.seq ?? after;
    if (unit && OVER.includes(unit.state)) return unit;
    await pause(LOOK_EVERY, stop.stopping);
  }
  // Whoever ends the whole ends its parts; who only leaves it to another worker does not.
  if (stop.requested()?.reason === 'cancelled') await cancelUnit(database, child, worker).catch(() => {});
  return undefined;
}

/** Its ledger, its state and its work are known here, as if it had been done here. */
async function take(
  world: LaneWorld,
  { database, remote }: StoryWorld,
  lane: Lane,
  unit: Unit,
): Promise<void> {
  const { parts, integration } = world;
  const gone = (why: string) =>
    parts.emit({
      type: 'story-ended',
      story: lane.id,
      child: unit.id,
      reason: (unit.stopReason ?? 'agent_failed') as StopReason,
      usage: { costSource: 'unknown' },
      ledger: '',
      why,
    });
  if (unit.carry === null) return gone(unit.detail ?? `it ended as ${unit.state}`);
  if (!(await bringWork(world, remote, unit.id))) return;
  const lines = await allLines(database, unit.id);
  const paths = runPaths(parts.project, unit.id);
  const unpacked = await unpack(integration.own, paths, unit.carry, lines, parts.project.root);
  if (isProblem(unpacked)) return gone(formatProblem(unpacked));
  const child = endedChild(world, unit.id);
  const { headSha } = unit;
  if (!child || child.past.ended === undefined || headSha === null)
    return gone(unit.detail ?? `it ended as ${unit.state}`);
  await handIn(
    world,
    lane,
    unit.id,
    {
      commit: async () => headSha,
      keep: async name => integration.pin(`${lane.id}/${name.split('.').at(-1)}`, headSha),
    },
    resultOf(child),
  );
}

/** It is safe there: where the remote is away, it is waited for. False: the run was stopped meanwhile, and whoever continues it asks again. */
async function bringWork({ stop, parts }: LaneWorld, remote: Remote, id: string): Promise<boolean> {
  for (let isSaid = false; !stop.stopping.aborted; isSaid = true) {
    const missing = await remote.bring([`refs/ralph/${id}/*`]);
    if (!missing) return true;
    if (!isSaid)
      warn(parts.emit, `${id} has ended, and its work cannot be had yet: ${formatProblem(missing)}`);
    await pause(BRING_AGAIN, stop.stopping);
  }
  return false;
}
