/** `run.json` and the folders around it: making a run, listing runs, finding one. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parentOf } from '../domain/lanes/board.ts';
import type { ForkOf, LoopCommand } from '../domain/run/event.ts';
import { isObject, parseObject } from '../domain/text/json.ts';
import { closest, type Problem } from '../domain/text/problem.ts';
import { errorCode } from '../platform/error-words.ts';
import {
  ensureFolder,
  namesIn,
  readIfThere,
  syncToDisk,
  tryTo,
  writeAtomic,
  writeWhole,
} from '../platform/files.ts';
import { isRunning, removeLease, writeLease } from './lease.ts';
import { laterLedger } from './ledger-end.ts';
import { COPIES, keepOutOfGit, keepSettings, showCopy } from './mirror.ts';
import { isRecorded, newRunPaths, type ProjectPaths, type RunPaths, runPaths } from './paths.ts';
import { type Env, statePaths } from './state.ts';

export interface RunFile {
  readonly id: string;
  readonly command: LoopCommand;
  readonly version: string;
  readonly cwd: string;
  readonly startedAt: string;
  /** The resolved settings. */
  readonly config: unknown;
  /** What it was given beside them; a run without it cannot be resumed. */
  readonly given?: Given;
  /** The name that the marks of all its processes have. */
  readonly owner?: string;
}

/** What a command was given beside the settings files: enough to give it the same again. Its text is in `task.md`. */
export interface Given {
  /** Settings from flags. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** What a program gave it that no file can hold, such as an agent that is a function: it can be resumed only with the same. */
  readonly program?: readonly string[];
  /** The YAML file of `ralph loop`. */
  readonly yaml?: string;
  /** Read anew after a pause. */
  readonly spec?: string;
  /** Read anew for every iteration. */
  readonly promptFile?: string;
  /** Where the agent works, when that is not the project itself. */
  readonly worktree?: string;
  /** The commit from which changes are counted. */
  readonly startRef?: string;
  /** The folder of `ralph prd`. */
  readonly ralphDir?: string;
  /** The branch from which that of a story list was created. */
  readonly from?: string;
  /** Of a parallel run: what it works on. */
  readonly parallel?: 'stories' | 'tasks' | 'attempts';
  /** The file with the tasks. */
  readonly tasks?: string;
  /** How many attempts at the task, and by whom. */
  readonly attempts?: readonly string[];
  /** Of a run that belongs to a parallel run: what it works on there. */
  readonly lane?: string;
  /** The run, and its iteration, whose files it began with. */
  readonly forkOf?: ForkOf;
  /** The issue that it was started for. */
  readonly issue?: GivenIssue;
}

export interface GivenIssue {
  /** `OWNER/NAME`, at the forge with this address. */
  readonly repo: string;
  readonly forge: string;
  readonly number: number;
}

export interface NewRun extends Pick<RunFile, 'command' | 'version' | 'config' | 'given' | 'owner'> {
  readonly now: number;
  /** Of a run that belongs to another one: it is named after that. */
  readonly id?: string;
  /** The user's words: the prompt or the task. */
  readonly task?: string;
}

/** Makes the folders of a new run. Throws when one of them cannot be written. */
export function createRun(
  project: ProjectPaths,
  { command, version, config, now, id: named, given, owner, task }: NewRun,
): { readonly file: RunFile; readonly paths: RunPaths } {
  ensureFolder(project.runs);
  keepOutOfGit(project);
  const paths = named === undefined ? claimId(project, now) : takeId(project, named);
  const id = basename(paths.folder);
  const file: RunFile = {
    id,
    command,
    version,
    cwd: project.root,
    startedAt: new Date(now).toISOString(),
    config,
    ...(given && { given }),
    ...(owner !== undefined && { owner }),
  };
  writeWhole(paths.events, '');
  if (task !== undefined) writeAtomic(paths.task, task);
  if (command !== 'session') writeLease(paths);
  // Last: with it the run is there.
  return { file: writeRunFile(paths, file), paths };
}

/** Makes it survive a power cut, too. Throws when the state folder cannot be written. */
export function writeRunFile(paths: RunPaths, file: RunFile): RunFile {
  keepSettings(paths);
  writeAtomic(paths.state.run, `${JSON.stringify(file, null, 2)}\n`);
  syncToDisk(paths.state.folder);
  for (const copy of COPIES) showCopy(paths, copy);
  return file;
}

/** Of a run that has one already. */
export function writeTask(paths: RunPaths, task: string): void {
  writeAtomic(paths.state.task, task);
  showCopy(paths, 'task');
}

/** The runs of this project that are running, however many have ended in it. */
export function liveRuns(project: ProjectPaths): readonly LiveRun[] {
  return namesIn(project.state().live).flatMap(id => {
    const live = liveRun(project, id);
    if (live) return [live];
    const paths = runPaths(project, id);
    if (!isRunning(paths)) removeLease(paths);
    return [];
  });
}

/** Time-ordered to the millisecond and readable: `20261115-015913-k3f9`. Making the folder is what claims the name. */
function claimId(project: ProjectPaths, now: number): RunPaths {
  ensureFolder(project.state().runs);
  for (;;) {
    const stamp = new Date(now).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
    const within = Math.floor(now % 1000)
      .toString(36)
      .padStart(2, '0');
    const paths = newRunPaths(project, `${stamp}-${within}${randomBytes(1).toString('hex')}`);
    try {
      mkdirSync(paths.state.folder, { mode: 0o700 });
      return paths;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}

function takeId(project: ProjectPaths, id: string): RunPaths {
  const paths = newRunPaths(project, id);
  ensureFolder(paths.state.folder);
  return paths;
}

/** The ids of all runs of a project, oldest first: those that were recorded here, and copies of others. */
export function listRuns(project: ProjectPaths): readonly string[] {
  const { runs, isInside } = project.state();
  const places = isInside ? [project.runs] : [runs, project.runs];
  return [...new Set(places.flatMap(foldersIn))].sort();
}

/** The folders of all projects that have a run on record here, whether they are still there or not. */
export function recordedRoots(env: Env): readonly string[] {
  const all = join(statePaths(env).folder, 'runs');
  return foldersIn(all).flatMap(project => {
    for (const id of foldersIn(join(all, project))) {
      const root = parseObject(readIfThere(join(all, project, id, 'run.json')) ?? '')?.cwd;
      if (typeof root === 'string') return [root];
    }
    return [];
  });
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(entry => entry.name);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
    throw error;
  }
}

/** The run a user means: the whole id, an unambiguous part of it, or nothing for the latest one. */
export function findRun(project: ProjectPaths, wanted?: string): string | Problem {
  const id = chooseRun(project, wanted);
  return (typeof id === 'string' ? laterLedger(id, runPaths(project, id).events) : undefined) ?? id;
}

function chooseRun(project: ProjectPaths, wanted?: string): string | Problem {
  const ids = listRuns(project);
  const latest = ids.findLast(id => parentOf(id) === undefined);
  if (latest === undefined) {
    const fix = 'start one with `ralph run -p "…"`';
    return { where: project.runs, what: 'there are no runs here yet', fix };
  }
  if (wanted === undefined) return latest;
  if (ids.includes(wanted)) return wanted;
  const all = ids.filter(id => id.includes(wanted));
  const whole = all.filter(id => parentOf(id) === undefined);
  // Part of the id of a parallel run is in those of all that belong to it.
  const matches = whole.length > 0 ? whole : latestOfLane(ids, wanted);
  const [only] = matches;
  if (only !== undefined && matches.length === 1) return only;
  if (only !== undefined)
    return { where: wanted, what: `fits ${matches.length} runs: ${matches.join(', ')}` };
  const near = closest(wanted, ids);
  const fix = near ? `did you mean ${near}?` : '`ralph status` lists them';
  return { where: wanted, what: 'no such run', fix };
}

/** The name of a piece of work means the last run for it; a part of several names means none of them. */
function latestOfLane(ids: readonly string[], wanted: string): readonly string[] {
  const children = ids
    .filter(id => parentOf(id) !== undefined)
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));
  const lane = (id: string) => id.split('.')[1] ?? '';
  const isIt = (id: string) => lane(id).toLowerCase() === wanted.toLowerCase();
  const named = children.some(isIt) ? children.filter(isIt) : children.filter(id => id.includes(wanted));
  const latest = named.filter(id => parentOf(id) === parentOf(named.at(-1) ?? ''));
  return [...new Map(latest.map(id => [lane(id), id])).values()];
}

export interface LiveRun {
  readonly id: string;
  readonly paths: RunPaths;
  readonly file: RunFile;
}

/** An in-session loop runs in its host and is steered there. */
export function liveRun(project: ProjectPaths, id: string): LiveRun | undefined {
  const paths = runPaths(project, id);
  const file = readRunFile(paths);
  return file && file.command !== 'session' && isRunning(paths) ? { id, paths, file } : undefined;
}

/** undefined when the file is missing or damaged: a run that died while it was being created. */
export function readRunFile(paths: RunPaths): RunFile | undefined {
  const file = parseObject(tryTo(() => readIfThere(paths.run)) ?? '');
  if (!file || !('command' in file)) return undefined;
  const { given, ...rest } = file as unknown as RunFile;
  // What a damaged disk has left of it is nothing to begin again with.
  return isObject(given) && isObject(given.flags) ? { ...rest, given: given as unknown as Given } : rest;
}

/** When it began; a lane with the run that it belongs to. Milliseconds. */
export function beganAt(project: ProjectPaths, paths: RunPaths): number {
  const parent = parentOf(basename(paths.folder));
  const file = (parent && readRunFile(runPaths(project, parent))) || readRunFile(paths);
  return Date.parse(file?.startedAt ?? '') || Date.now();
}

/** The name that the marks of its processes have. Nobody ends a process because a copy names it; whoever does looks at its form. */
export function ownerOfRun(paths: RunPaths): unknown {
  return isRecorded(paths) ? readRunFile(paths)?.owner : undefined;
}
