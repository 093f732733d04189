/** Runs a unit of the fleet in its place, as `ralph loop` and `ralph resume` would. */
import type { SettingsCommand } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { LoopResult } from '../domain/result.ts';
import type { Place } from '../fleet/place.ts';
import type { Unit } from '../fleet/unit.ts';
import type { RunUnit, RunWorld } from '../fleet/work-unit.ts';
import { runAgain } from '../opening/again.ts';
import { type RunKind, taskKind } from '../opening/kind.ts';
import { openRun, type RunRequest } from '../opening/open-run.ts';
import { claimRun, clearWorkplace, recoverRun } from '../opening/resume.ts';
import { ownerName } from '../platform/spawn.ts';
import { runPaths } from '../store/paths.ts';
import { writeRunFile } from '../store/run-file.ts';
import { type Call, Problems } from './command.ts';
import { type SetUp, setUp } from './set-up.ts';
import { VERSION } from './version.ts';

type Provider = Settings['sandbox']['provider'];

/** `sandbox`: where the unit itself asks for none. */
export function unitRunner(call: Call, sandbox: Provider): RunUnit {
  return async (unit, place, world) => {
    try {
      const ready = readyFor(call, unit, place, world, sandbox);
      return await (world.isBegun ? resume : begin)(unit, ready, world);
    } catch (error) {
      if (error instanceof Problems && error.problems[0]) return error.problems[0];
      throw error;
    }
  };
}

function readyFor(call: Call, unit: Unit, { root }: Place, { env }: RunWorld, sandbox: Provider): SetUp {
  const command: SettingsCommand = unit.kind === 'loop' ? 'loop' : 'prd';
  const here = { ...call, options: {}, args: [], cwd: root, root, env };
  const layer = unit.config.flags;
  const ready = setUp(command, here, () => [], { layer, problems: [] });
  const { settings } = ready;
  const provider = settings.sandbox.provider === 'none' ? sandbox : settings.sandbox.provider;
  // What others will rest on is proven in a clean copy.
  return {
    ...ready,
    flags: layer,
    settings: { ...settings, proof: 'clean', sandbox: { ...settings.sandbox, provider } },
  };
}

function requestOf(unit: Unit, ready: SetUp, world: RunWorld, kind: RunKind): RunRequest {
  const { project, settings, agent, fallbacks, reviewer, flags } = ready;
  const { env, stop, copy, shared, onEvent } = world;
  return {
    ...{ kind, project, settings, flags, env, stop, copy, onEvent },
    agents: [agent, ...fallbacks],
    ...(reviewer && { reviewer }),
    version: VERSION,
    child: { id: unit.id, shared },
  };
}

async function begin(unit: Unit, ready: SetUp, world: RunWorld): Promise<LoopResult | Problem> {
  const kind = taskKind({ task: unit.config.task ?? unit.title });
  const opened = await openRun(requestOf(unit, ready, world, kind));
  return isProblem(opened) ? opened : opened.run();
}

async function resume(unit: Unit, ready: SetUp, world: RunWorld): Promise<LoopResult | Problem> {
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
    const kind = await runAgain({ file, paths, past }, settings, env);
    if (!('enter' in kind)) return kind[0] as Problem;
    writeRunFile(paths, { ...file, owner: ownerName() });
    const cleared = await clearWorkplace({ file, paths, past }, project.root, env);
    const repairs = { ...cleared, repaired: [...repaired, ...cleared.repaired], changes: [] };
    const request = requestOf(unit, ready, world, kind);
    const opened = await openRun({ ...request, resumed: { file, paths, past, repairs } });
    return isProblem(opened) ? opened : await opened.run();
  } finally {
    claimed.release();
  }
}
