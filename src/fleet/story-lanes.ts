/** The lanes of a list of stories as units of their own: any worker takes them, and what they have proven comes back by git. */
import { currentRun, type Lane } from '../domain/lanes/board.ts';
import type { StopReason } from '../domain/run/stop-reason.ts';
import { defined } from '../domain/text/fields.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { endedChild, giveUp, handIn, type LaneWorld, type RemoteLanes, resultOf } from '../parallel/lanes.ts';
import { childId, pinName, worktreeName } from '../parallel/names.ts';
import { patientRemote } from '../parallel/patient-remote.ts';
import { type EngineWorld, warn } from '../run/steps.ts';
import { pause } from '../run/wait.ts';
import { readStories } from '../store/kept.ts';
import { laterLedger } from '../store/ledger-end.ts';
import { newRunPaths } from '../store/paths.ts';
import type { Integration } from '../workspace/integration.ts';
import type { Remote } from '../workspace/remote.ts';
import type { listBudget } from './budget.ts';
import { unpack } from './carry.ts';
import { cancelUnit } from './commands.ts';
import type { Database, Querying } from './database.ts';
import { heldRef, OVER, shownBranch, type Unit } from './unit.ts';
import { addUnit, allLines, holds, readLines, unitOf } from './units.ts';

export interface StoryWorld {
  readonly database: Database;
  /** That of the list. */
  readonly unit: Unit;
  readonly remote: Remote;
  readonly worker: string;
  readonly budget: ReturnType<typeof listBudget>;
}

/** Milliseconds between two looks at a unit. */
const LOOK_EVERY = 500;

/** Of a list whose stories are units of their own: how they are worked on, what they may spend, and the branch that they land on. */
export function remoteLanes(fleet: StoryWorld): RemoteLanes {
  return {
    budget: fleet.budget,
    integration: (here, world) => remoteIntegration(here, waitedFor(fleet.remote, world), fleet.unit),
    async workOn(world, lane, _stop, spent) {
      const child = await submitted(world, fleet, lane);
      if (isProblem(child)) return giveUp(world, lane.id, child);
      if (child === undefined) return;
      const unit = await untilOver(world, fleet, lane, child);
      if (!unit) return;
      spent(unit.cost === null ? { costSource: 'unknown' } : { cost: unit.cost, costSource: 'agent' });
      await fleet.budget.look();
      await take(world, fleet, lane, unit);
    },
  };
}

/** One unit for each time that it is begun: after a crash the one that is there is waited for. undefined: the list has spent what it may, or was cancelled. */
async function submitted(
  { board, parts, runId, work }: LaneWorld,
  fleet: StoryWorld,
  lane: Lane,
): Promise<string | Problem | undefined> {
  const { unit, database } = fleet;
  const { tip: from } = board();
  const last = lane.runs.at(-1);
  const current = currentRun(lane);
  const isThere = current !== undefined;
  const id = current ?? childId(worktreeName(runId, lane, board()), lane);
  const before = lane.sentBack && !isThere && last !== undefined ? await unitOf(database, last) : undefined;
  const hash = parts.past().stories?.hash;
  const task = work.taskOf?.(lane);
  const list = hash === undefined ? undefined : readStories(parts.paths, hash);
  if (list === undefined && task === undefined)
    return { where: lane.id, what: 'the list of stories is not on record' };
  const { sentBack } = lane;
  const given = { ...defined({ list, task }), ...(sentBack && !isThere && { sentBack }) };
  const index = board().lanes.findIndex(({ id: each }) => each === lane.id);
  const story = { lane: lane.id, index, tip: from, ...given };
  const budget = await fleet.budget.look();
  if (!isThere && fleet.budget.room() !== 'yes') return undefined;
  const add = (tx: Querying) =>
    addUnit(tx, {
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
  // Nobody cancels the list in between: a story that is added later would outlive it.
  const addIfWanted = async (tx: Querying) => {
    const isWanted = (await holds(tx, unit.id, unit.fence)) && (await unitOf(tx, unit.id))?.cancel === null;
    if (isWanted) await add(tx);
    return isWanted;
  };
  if (!isThere && !(await database.transaction(addIfWanted))) {
    await pause(LOOK_EVERY, parts.stopping);
    return undefined;
  }
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
  const missing = await waitedFor(remote, { ...world, emit: parts.emit }).bring([`refs/ralph/${unit.id}/*`]);
  // Whoever continues a run that was stopped meanwhile asks again.
  if (missing) return world.stop.stopping.aborted ? undefined : gone(formatProblem(missing));
  const lines = await allLines(database, unit.id);
  const paths = newRunPaths(parts.project, unit.id);
  const unpacked = await unpack(integration.own, paths, unit.carry, lines, parts.project.root);
  const unread = isProblem(unpacked) ? unpacked : laterLedger(unit.id, paths.events);
  if (unread) return gone(formatProblem(unread));
  const child = endedChild(world, unit.id);
  const { headSha } = unit;
  if (!child?.past.result || headSha === null) return gone(unit.detail ?? `it ended as ${unit.state}`);
  await handIn(
    world,
    lane,
    unit.id,
    {
      commit: async () => headSha,
      keep: async child => integration.pin(pinName(child), headSha),
    },
    resultOf(child),
  );
}

/** A list holds no slot meanwhile. */
function waitedFor(remote: Remote, { stop, emit }: Waiter): Remote {
  const waits = (problem: Problem) => warn(emit, `It waits for the repository: ${formatProblem(problem)}`);
  return patientRemote(remote, { stopping: stop.stopping, waits });
}

type Waiter = Pick<EngineWorld, 'stop' | 'emit'>;

/** The integration branch of a list: it is in the remote, and moves there only from where Ralph left it. */
async function remoteIntegration(
  here: Integration,
  remote: Remote,
  unit: Pick<Unit, 'id' | 'fence' | 'kind' | 'parent'>,
): Promise<Integration | Problem> {
  const ref = `refs/heads/${shownBranch(unit)}`;
  // What the holder before has merged and put into the queue.
  const known = await remote.bring([`refs/ralph/${unit.id}/*`]);
  if (known) return known;
  const there = await remote.tip(ref);
  if (isProblem(there)) return there;
  const missing = there === undefined ? undefined : await remote.bring([ref]);
  if (missing) return missing;
  if (there !== undefined) await here.swap(await here.tip(), there);
  return {
    ...here,
    /** The remote first: what is not there has not landed. */
    async swap(from, to) {
      const moved = await remote.swap(ref, from, to);
      if (isProblem(moved)) return moved;
      return moved === 'done' && here.swap(from, to);
    },
    pin: async (name, commit) =>
      (await remote.put(commit, heldRef(unit, `pins/${name}`))) ?? here.pin(name, commit),
    async others() {
      const there = await remote.tip(ref);
      if (isProblem(there)) return there;
      return (there === undefined ? undefined : await remote.bring([ref])) ?? here.others(there ?? null);
    },
  };
}
