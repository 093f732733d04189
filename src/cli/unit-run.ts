/** Runs a unit of the fleet in its place, as `ralph loop` and `ralph resume` would. */
import { dirname } from 'node:path';
import { layerProblems } from '../config/load.ts';
import type { SettingsCommand } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { SentBack } from '../domain/lanes/board.ts';
import { type Conflict, pathsOf, withConflicts } from '../domain/lanes/conflict.ts';
import type { RunEvent } from '../domain/run/event.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { readList } from '../domain/stories/story.ts';
import { pick } from '../domain/text/fields.ts';
import { parseObject } from '../domain/text/json.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { listBudget } from '../fleet/budget.ts';
import { noteLane } from '../fleet/leftovers.ts';
import type { Place } from '../fleet/place.ts';
import { remoteLanes } from '../fleet/story-lanes.ts';
import { textAt } from '../fleet/submit.ts';
import { shownBranch, type Unit } from '../fleet/unit.ts';
import { lastLanded } from '../fleet/units.ts';
import type { RunUnit, RunWorld } from '../fleet/work-unit.ts';
import { roomFor } from '../forge/again.ts';
import type { Job, StoryLane } from '../opening/job.ts';
import { commitsOnly, laneSettings, laneTask } from '../opening/jobs/parallel.ts';
import { parallelStories, storyJob } from '../opening/jobs/parallel-stories.ts';
import { parallelTasks } from '../opening/jobs/parallel-tasks.ts';
import { taskJob } from '../opening/jobs/task.ts';
import { openRun, type RunRequest } from '../opening/open-run.ts';
import { reopen } from '../opening/reopen.ts';
import type { SetUp } from '../opening/set-up.ts';
import { openLanePlace } from '../parallel/lane-place.ts';
import type { RemoteLanes } from '../parallel/lanes.ts';
import { mergeTip, type NoteMerge, sentBackWords } from '../parallel/merging.ts';
import { loadStories, policyOf } from '../run/stories/load.ts';
import { limitsOf } from '../run/turns/goal.ts';
import { newRunPaths } from '../store/paths.ts';
import { ownFiles, prdPaths } from '../store/prd-paths.ts';
import { isList } from '../store/tasks-file.ts';
import { createIntegration } from '../workspace/integration.ts';
import { openStoryBranch } from '../workspace/story-branch.ts';
import { type Call, Problems } from './command.ts';
import { setUp } from './set-up.ts';

type Provider = Settings['sandbox']['provider'];

/** `sandbox`: where the unit itself asks for none. */
export function unitRunner(call: Call, sandbox: Provider): RunUnit {
  return async (unit, place, world) => {
    try {
      const ready = readyFor(call, unit, place, world, sandbox);
      return await inLane(unit, world, own => (own.isBegun ? resume : begin)(unit, place, ready, own));
    } catch (error) {
      if (error instanceof Problems && error.problems[0]) return error.problems[0];
      throw error;
    }
  };
}

/** A story of a list has what a lane has, while this worker works on it. */
async function inLane(
  { id, parent, config }: Unit,
  world: RunWorld,
  run: (world: RunWorld) => Promise<LoopResult | Problem>,
): Promise<LoopResult | Problem> {
  const { lane, index = 0 } = config.story ?? {};
  if (lane === undefined) return run(world);
  const own = await openLanePlace(world.env, { run: parent ?? id, lane, index });
  if (isProblem(own)) return own;
  return run({ ...world, env: own.env }).finally(own.release);
}

function readyFor(call: Call, unit: Unit, { root }: Place, { env }: RunWorld, sandbox: Provider): SetUp {
  const isLoop = unit.kind === 'loop' || unit.config.tasks !== undefined;
  const command: SettingsCommand = isLoop ? 'loop' : 'prd';
  const here = { ...call, options: {}, args: [], cwd: root, root, env };
  const layer = unit.config.flags;
  const ready = setUp(command, here, () => [], { layer, problems: layerProblems(layer, unit.id) });
  const provider = ready.settings.sandbox.provider === 'none' ? sandbox : ready.settings.sandbox.provider;
  // What others will rest on is proven in a clean copy; that of a story is made when it lands.
  const settings: Settings =
    unit.kind === 'story'
      ? laneSettings(ready.settings)
      : { ...commitsOnly(ready.settings), proof: ready.settings.proof === 'sealed' ? 'sealed' : 'clean' };
  return { ...ready, flags: layer, settings: { ...settings, sandbox: { ...settings.sandbox, provider } } };
}

function requestOf(unit: Unit, ready: SetUp, world: RunWorld, job: Job): RunRequest {
  const { budget } = world;
  // Made anew by each worker, and taken away when it leaves.
  const begins = () => noteLane(newRunPaths(ready.project, unit.id), ready.settings, world.env);
  const laneSetUp = unit.kind === 'story' ? { begins, done() {} } : undefined;
  return {
    ...{ ...ready, job, child: { id: unit.id, budget, laneSetUp }, places: dirname(ready.project.root) },
    ...pick(world, 'env', 'stop', 'copy', 'onEvent', 'isFresh', 'sendCommit'),
  };
}

/** The stories of a list are units of their own. */
function elsewhereOf(
  unit: Unit,
  { remote, database, worker }: RunWorld,
  settings: Settings,
): RemoteLanes | undefined {
  if (unit.kind !== 'prd') return undefined;
  const budget = listBudget(database, unit, limitsOf(settings));
  return remoteLanes({ unit, remote, database, worker, budget });
}

async function begin(unit: Unit, place: Place, ready: SetUp, world: RunWorld): Promise<LoopResult | Problem> {
  const { sentBack, lane = '' } = unit.config.story ?? {};
  const begins: RunEvent[] = [];
  const note: NoteMerge = left => begins.push({ type: 'merge-left', story: lane, ...left });
  const merged = sentBack && (await mergeLanded(unit, place, world, note));
  if (isProblem(merged)) return merged;
  const merging = sentBack && { ...sentBack, conflicts: withConflicts(sentBack.conflicts, merged) };
  const job = await jobOf(unit, place, ready, world, merging);
  if (isProblem(job)) return job;
  const opened = await openRun({ ...requestOf(unit, ready, world, job), begins });
  if (isProblem(opened)) return opened;
  await world.hear();
  return opened.run();
}

/** `sentBack`: why its story begins anew. */
async function jobOf(
  unit: Unit,
  place: Place,
  { settings }: SetUp,
  world: RunWorld,
  sentBack: SentBack | undefined,
): Promise<Job | Problem> {
  const { task, folder = 'ralph', tasks, story, issue } = unit.config;
  const elsewhere = elsewhereOf(unit, world, settings);
  if (unit.kind === 'loop') return taskJob({ task: task ?? unit.title, issue });
  if (unit.kind === 'prd' && tasks !== undefined) {
    const source = await textAt(place.own.repository.git, unit.base, tasks);
    return isProblem(source) ? source : parallelTasks(tasks, source, settings, elsewhere);
  }
  const prd = prdPaths(place.root, folder);
  const policy = policyOf(settings);
  if (unit.kind === 'prd') {
    const list = loadStories(prd, policy);
    return isList(list) ? parallelStories({ prd, list }, settings, elsewhere) : (list[0] as Problem);
  }
  const list = story && readList(parseObject(story.list ?? '{}'));
  if (!story || !list || (!isList(list) && story.task === undefined))
    return { where: unit.id, what: 'there is no story in it' };
  if (!isList(list)) return laneTask({ task: story.task ?? '', lane: story.lane, sentBack });
  return storyJob(
    { prd, policy, list },
    {
      ...laneOf(unit, place, world),
      sentBack,
      aside: dirname(place.root),
    },
  );
}

function laneOf(unit: Unit, place: Place, world: RunWorld): StoryLane {
  return {
    id: unit.config.story?.lane ?? '',
    async sync(note) {
      const conflicts = await mergeLanded(unit, place, world, note);
      if (isProblem(conflicts) || conflicts.length === 0) return undefined;
      return sentBackWords({ why: 'conflict', files: pathsOf(conflicts), conflicts, others: [], detail: '' });
    },
  };
}

/** Puts what has landed meanwhile into the files; answers what conflicts. */
async function mergeLanded(
  unit: Unit,
  { own, root }: Place,
  { remote, env, database }: RunWorld,
  note: NoteMerge,
): Promise<readonly Conflict[] | Problem> {
  // Whoever can push can have moved the branch: what has landed is on record.
  const landed = await lastLanded(database, unit.parent ?? '').catch(() => undefined);
  const tip = landed ?? unit.config.story?.tip;
  if (tip === undefined) return [];
  // With what it was built on before it was sent back.
  const missing = await remote.bring([`refs/heads/ralph/${unit.parent}/*`]);
  if (missing) return missing;
  const branch = await openStoryBranch({ cwd: root, env }, shownBranch(unit), unit.base);
  if (isProblem(branch)) return branch;
  const { tasks, folder = 'ralph' } = unit.config;
  const prd = prdPaths(root, folder);
  const lists = ownFiles(prd).map(path => path.slice(prd.root.length + 1));
  const ownPaths = tasks === undefined ? lists : [tasks];
  return mergeTip(createIntegration(own, unit.id), branch, tip, ownPaths, note);
}

/** As many iterations as it was given when it was reopened last. */
function withRoom(ready: SetUp, { maximumIterations }: Readonly<Record<string, unknown>>): SetUp {
  if (typeof maximumIterations !== 'number') return ready;
  const more = { maximumIterations };
  return { ...ready, flags: { ...ready.flags, ...more }, settings: { ...ready.settings, ...more } };
}

async function resume(
  unit: Unit,
  place: Place,
  ready: SetUp,
  world: RunWorld,
): Promise<LoopResult | Problem> {
  const { project, settings } = ready;
  let known: LoopResult | undefined;
  const again = await reopen<SetUp>(unit.id, {
    ...{ project, env: world.env, elsewhere: elsewhereOf(unit, world, settings) },
    ...(unit.kind === 'story' && { lane: laneOf(unit, place, world) }),
    async continueWith({ file, past, doubts: [what] }) {
      if (what !== undefined) return [{ where: unit.id, what }];
      // Of a run that had ended when its worker died, or could not push: what came of it is pushed, and nothing is done again.
      const isOver = !unit.reopened && past.result?.stopReason !== 'interrupted';
      known = isOver ? past.result : undefined;
      return known ? [] : withRoom(ready, { ...file.given.flags, ...(unit.reopened && roomFor(past)) });
    },
  });
  if (known) return known;
  if (!('job' in again)) return again[0] as Problem;
  const request = requestOf(unit, again.ready, world, again.job);
  const opened = await openRun({ ...request, resumed: again.resumed });
  if (isProblem(opened)) return opened;
  await world.hear();
  return opened.run();
}
