/**
 * What units leave on the machine of a worker: what `laneSetup` made, and work that no remote takes. Both are on record outside of the
 * reach of agents, so that the next worker on the machine, or `ralph prune`, finds what one that never came back has left.
 */
import { existsSync, lstatSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { defaultSettings } from '../config/settings.ts';
import type { Settings } from '../config/settings-shape.ts';
import { pick } from '../domain/text/fields.ts';
import { asObject, parseObject } from '../domain/text/json.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { tearDown } from '../opening/tear-down.ts';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder, namesIn, readIfThere, writePrivate } from '../platform/files.ts';
import type { RunPaths } from '../store/paths.ts';
import { type Env, statePaths } from '../store/state.ts';
import { ownerOf, releaseOwner, tryClaim } from '../workspace/lock.ts';
import { pathsOf, placeFolder, removePlace } from './place.ts';

/** Where the workers of this user work. */
function workersFolder(env: Env): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME ?? homedir(), '.cache'), 'ralph', 'workers');
}

/** The folder of a worker that begins here. Its mark says that it is alive. */
export function openWorkerFolder(env: Env, name: string): string | Problem {
  const mark = statePaths(env).fleet.worker(name);
  const folder = join(workersFolder(env), name);
  ensureFolder(join(mark, '..'));
  const claimed = tryClaim(mark);
  if (isProblem(claimed)) return claimed;
  ensureFolder(folder);
  return folder;
}

/** It ends: its places go, but for those that something is left in. */
export function closeWorkerFolder(env: Env, name: string): void {
  const folder = join(workersFolder(env), name);
  for (const unit of unitsIn(folder))
    if (!isLeft(pathsOf({ folder, env }, { id: unit }))) removePlace(placeFolder(folder, unit), env);
  if (unitsIn(folder).length === 0) rmSync(folder, { recursive: true, force: true });
  releaseOwner(statePaths(env).fleet.worker(name));
}

/** Folders alone: a link that an agent has put there leads to what is not ours. */
function unitsIn(folder: string): readonly string[] {
  const units = join(folder, 'units');
  return namesIn(units).filter(name =>
    lstatSync(join(units, name), { throwIfNoEntry: false })?.isDirectory(),
  );
}

/** Its work is in its place and nowhere else. */
export function noteLeft(paths: RunPaths, why: string): void {
  writePrivate(paths.state.left, `${why}\n`);
}

/** Work that is nowhere else, or what was made for it and could not be taken away in time. */
export function isLeft({ state }: RunPaths): boolean {
  return existsSync(state.left) || existsSync(state.lane);
}

/** Of what is needed to take away what a lane has. */
const OF_LANE = ['laneTeardown', 'setupTimeout', 'sandbox', 'containment', 'hideEnv', 'keepEnv'] as const;

/** Before anything is made for it. */
export function noteLane(paths: RunPaths, settings: Settings, env: Env): void {
  const lane = pick(env, 'RALPH_LANE', 'RALPH_LANE_INDEX', 'RALPH_PORT');
  ensureFolder(paths.state.folder);
  writePrivate(paths.state.lane, JSON.stringify({ env: lane, settings: pick(settings, ...OF_LANE) }));
}

/** Takes away what was made for a lane on this machine. Returns why it is left. */
export async function tearDownLane(
  paths: RunPaths,
  env: Env,
  abort: AbortSignal,
): Promise<Problem | undefined> {
  const problem = await runTeardown(paths, env, abort);
  // Not before, and not at all where it was cut off: then it is run again.
  if (!abort.aborted) rmSync(paths.state.lane, { force: true });
  return problem;
}

async function runTeardown(paths: RunPaths, env: Env, abort: AbortSignal): Promise<Problem | undefined> {
  const record = parseObject(readIfThere(paths.state.lane) ?? '');
  const own = asObject(record?.settings) as Partial<Settings> | undefined;
  if (own?.laneTeardown === undefined) return undefined;
  const lane = asObject(record?.env) as Env | undefined;
  const { project } = paths;
  ensureFolder(project.root);
  const settings = { ...defaultSettings('loop'), ...own };
  return tearDown({ settings, project, paths, env: { ...env, ...lane }, abort });
}

export interface Leftover {
  readonly worker: string;
  readonly unit: string;
  readonly place: string;
  /** Why its work is nowhere else; undefined: it is on the remote. */
  readonly why?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** Of workers that are not running any more, on this machine. */
export function findLeftovers(env: Env): readonly Leftover[] {
  const workers = namesIn(workersFolder(env)).filter(name => !ownerOf(statePaths(env).fleet.worker(name)));
  return workers.flatMap(worker => {
    const folder = join(workersFolder(env), worker);
    return unitsIn(folder).map(unit => {
      const place = placeFolder(folder, unit);
      const why = readIfThere(pathsOf({ folder, env }, { id: unit }).state.left)?.trim();
      const since = statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      return { worker, unit, place, since, ...(why !== undefined && { why }) };
    });
  });
}

const NEVER = new AbortController().signal;

/** Returns why something of it is left; all of it, once `abort` has fired. */
export async function removeLeftover(
  env: Env,
  { worker, unit, place }: Leftover,
  abort = NEVER,
): Promise<string | undefined> {
  const folder = join(workersFolder(env), worker);
  const problem = await tearDownLane(pathsOf({ folder, env }, { id: unit }), env, abort);
  if (abort.aborted) return problem && formatProblem(problem);
  try {
    removePlace(place, env);
    if (unitsIn(folder).length === 0) {
      rmSync(folder, { recursive: true, force: true });
      rmSync(statePaths(env).fleet.worker(worker), { force: true });
    }
  } catch (error) {
    return `${place} cannot be removed: ${errorWords(error)}`;
  }
  return problem && formatProblem(problem);
}
