/** Runs a unit of the fleet in its place, as `ralph loop` and `ralph resume` would. */
import { dirname } from 'node:path';
import type { SettingsCommand } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import { pick } from '../domain/fields.ts';
import { parseObject } from '../domain/json.ts';
import type { Past } from '../domain/past.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { LoopResult } from '../domain/result.ts';
import { readList } from '../domain/story.ts';
import { listPurse } from '../fleet/list-purse.ts';
import type { Place } from '../fleet/place.ts';
import { remoteIntegration } from '../fleet/remote-integration.ts';
import { storyLanes } from '../fleet/story-lanes.ts';
import { textAt } from '../fleet/submit.ts';
import { shownBranch, type Unit } from '../fleet/unit.ts';
import type { RunUnit, RunWorld } from '../fleet/work-unit.ts';
import { runAgain } from '../opening/again.ts';
import { type RunKind, taskKind } from '../opening/kind.ts';
import { commitsOnly, laneSettings } from '../opening/lane-runs.ts';
import { openRun, type RunRequest } from '../opening/open-run.ts';
import { parallelStories } from '../opening/parallel-stories.ts';
import { parallelTasks } from '../opening/parallel-tasks.ts';
import { claimRun, clearWorkplace, kindAgain, recoverRun } from '../opening/resume.ts';
import type { SetUp } from '../opening/set-up.ts';
import { laneKind } from '../opening/stories-crew.ts';
import type { StoryLane } from '../opening/stories-kind.ts';
import { laneTask } from '../opening/tasks-crew.ts';
import type { Elsewhere } from '../parallel/elsewhere.ts';
import { mergeTip, sentBackWords } from '../parallel/merging.ts';
import { fileSize } from '../platform/files.ts';
import { ownerName } from '../platform/spawn.ts';
import { VERSION } from '../platform/version.ts';
import { lineEndingAt } from '../store/ledger-end.ts';
import { type RunPaths, runPaths } from '../store/paths.ts';
import { prdPaths } from '../store/prd-paths.ts';
import { writeRunFile } from '../store/run-file.ts';
import { isList } from '../store/tasks-file.ts';
import { loadStories } from '../stories/load.ts';
import { policyOf } from '../stories/standing.ts';
import { limitsOf } from '../turns/plan-parts.ts';
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
      return await (world.isBegun ? resume : begin)(unit, place, ready, world);
    } catch (error) {
      if (error instanceof Problems && error.problems[0]) return error.problems[0];
      throw error;
    }
  };
}

function readyFor(call: Call, unit: Unit, { root }: Place, { env }: RunWorld, sandbox: Provider): SetUp {
  const isLoop = unit.kind === 'loop' || unit.config.tasks !== undefined;
  const command: SettingsCommand = isLoop ? 'loop' : 'prd';
  const here = { ...call, options: {}, args: [], cwd: root, root, env };
  const layer = unit.config.flags;
  const ready = setUp(command, here, () => [], { layer, problems: [] });
  const provider = ready.settings.sandbox.provider === 'none' ? sandbox : ready.settings.sandbox.provider;
  // What others will rest on is proven in a clean copy; that of a story is made when it lands.
  const settings: Settings =
    unit.kind === 'story' ? laneSettings(ready.settings) : { ...commitsOnly(ready.settings), proof: 'clean' };
  return { ...ready, flags: layer, settings: { ...settings, sandbox: { ...settings.sandbox, provider } } };
}

function requestOf(unit: Unit, ready: SetUp, world: RunWorld, kind: RunKind): RunRequest {
  const { project, settings, agent, fallbacks, reviewer, flags } = ready;
  const { env, stop, copy, shared, onEvent, isFresh } = world;
  return {
    ...{ kind, project, settings, flags, env, stop, copy, onEvent, isFresh },
    agents: [agent, ...fallbacks],
    ...(reviewer && { reviewer }),
    ...(unit.kind === 'prd' && { elsewhere: elsewhereOf(unit, world, settings) }),
    version: VERSION,
    child: { id: unit.id, shared },
  };
}

/** The stories of a list are units of their own. */
function elsewhereOf(unit: Unit, { remote, database, worker }: RunWorld, settings: Settings): Elsewhere {
  const purse = listPurse(database, unit, limitsOf(settings));
  return {
    funds: purse,
    lanes: lanes => storyLanes(lanes, { unit, remote, database, worker, purse }),
    integration: here => remoteIntegration(here, remote, unit),
  };
}

async function begin(unit: Unit, place: Place, ready: SetUp, world: RunWorld): Promise<LoopResult | Problem> {
  const kind = await kindOf(unit, place, ready, world);
  if (isProblem(kind)) return kind;
  const opened = await openRun(requestOf(unit, ready, world, kind));
  return isProblem(opened) ? opened : opened.run();
}

async function kindOf(
  unit: Unit,
  place: Place,
  { settings }: SetUp,
  world: RunWorld,
): Promise<RunKind | Problem> {
  const { task, folder = 'ralph', tasks, story } = unit.config;
  if (unit.kind === 'loop') return taskKind({ task: task ?? unit.title });
  if (unit.kind === 'prd' && tasks !== undefined) {
    const source = await textAt(place.own.repository.git, unit.base, tasks);
    return isProblem(source) ? source : parallelTasks(tasks, source, settings);
  }
  const prd = prdPaths(place.root, folder);
  const policy = policyOf(settings);
  if (unit.kind === 'prd') {
    const list = loadStories(prd, policy);
    return isList(list) ? parallelStories({ prd, list }, settings) : (list[0] as Problem);
  }
  const list = story && readList(JSON.parse(story.list ?? '{}'));
  if (!story || !list || (!isList(list) && story.task === undefined))
    return { where: unit.id, what: 'there is no story in it' };
  if (story.sentBack) {
    const merged = await mergeLanded(unit, place, world);
    if (isProblem(merged)) return merged;
  }
  if (!isList(list)) return laneTask({ task: story.task ?? '', ...pick(story, 'lane', 'sentBack') });
  return laneKind(
    { prd, policy, list },
    {
      ...laneOf(unit, place, world),
      sentBack: story.sentBack,
      aside: dirname(place.root),
    },
  );
}

function laneOf(unit: Unit, place: Place, world: RunWorld): StoryLane {
  return {
    id: unit.config.story?.lane ?? '',
    async sync() {
      const files = await mergeLanded(unit, place, world);
      if (isProblem(files) || files.length === 0) return undefined;
      return sentBackWords({ why: 'conflict', files, others: [], detail: '' });
    },
  };
}

/** Puts what has landed meanwhile into the files; answers those that conflict. */
async function mergeLanded(
  unit: Unit,
  { own, root }: Place,
  { remote, env }: RunWorld,
): Promise<readonly string[] | Problem> {
  const ref = `refs/heads/${shownBranch({ id: unit.parent ?? '', kind: 'prd', parent: null })}`;
  const tip = await remote.tip(ref);
  if (tip === undefined || isProblem(tip)) return tip ?? [];
  // With what it was built on before it was sent back.
  const missing = await remote.bring([`refs/heads/ralph/${unit.parent}/*`]);
  if (missing) return missing;
  const branch = await openStoryBranch({ cwd: root, env }, shownBranch(unit));
  if (isProblem(branch)) return branch;
  const { tasks, folder = 'ralph' } = unit.config;
  const prd = prdPaths(root, folder);
  const lists = [prd.tasks, prd.progress].map(path => path.slice(prd.root.length + 1));
  const ownPaths = tasks === undefined ? lists : [tasks];
  return mergeTip(createIntegration(own, unit.id), branch, tip, ownPaths);
}

/** Of a run that had ended when its worker died, or could not push: what came of it is pushed, and nothing is done again. */
function resultBefore({ events }: RunPaths, { ended }: Past): LoopResult | undefined {
  if (ended === undefined || ended === 'interrupted') return undefined;
  return parseObject(lineEndingAt(events, fileSize(events)) ?? '')?.result as LoopResult | undefined;
}

async function resume(
  unit: Unit,
  place: Place,
  ready: SetUp,
  world: RunWorld,
): Promise<LoopResult | Problem> {
  const { project, settings } = ready;
  const { env } = world;
  const paths = runPaths(project, unit.id);
  const claimed = await claimRun(paths, unit.id);
  if (isProblem(claimed)) return claimed;
  try {
    const file = { ...claimed.file, cwd: project.root };
    const { past, repaired, doubts, lost } = await recoverRun(paths);
    const [doubt = lost] = doubts;
    if (doubt !== undefined) return { where: unit.id, what: doubt };
    const known = resultBefore(paths, past);
    if (known) return known;
    const again = { file, paths, past };
    const kind =
      unit.kind === 'story'
        ? await kindAgain(again, settings, env, laneOf(unit, place, world))
        : await runAgain(again, settings, env);
    if (!('enter' in kind)) return kind[0] as Problem;
    writeRunFile(paths, { ...file, owner: ownerName() });
    const cleared = await clearWorkplace(again, project.root, env);
    const repairs = { ...cleared, repaired: [...repaired, ...cleared.repaired], changes: [] };
    const request = requestOf(unit, ready, world, kind);
    const opened = await openRun({ ...request, resumed: { ...again, repairs } });
    return isProblem(opened) ? opened : await opened.run();
  } finally {
    claimed.release();
  }
}
