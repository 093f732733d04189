/** `run.json` and the folder around it: making a run, listing runs, finding one. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { parentOf } from '../domain/board.ts';
import type { LoopCommand } from '../domain/event.ts';
import { parseObject } from '../domain/json.ts';
import { closest, type Problem } from '../domain/problem.ts';
import { errorCode } from '../platform/error-words.ts';
import { ensureFolder, namesIn, readIfThere, syncToDisk, tryTo, writeAtomic } from '../platform/files.ts';
import { isAlive, type ProcessId } from '../platform/process-table.ts';
import { isHeld, isShownLive, readLease, removeLease, writeLease } from './lease.ts';
import { type ProjectPaths, type RunPaths, runPaths } from './paths.ts';
import { recordAround } from './run-record.ts';
import { ensureKey, keyName } from './seal.ts';

export interface RunFile {
  readonly id: string;
  readonly command: LoopCommand;
  readonly version: string;
  readonly cwd: string;
  readonly startedAt: string;
  /** In 0.1: whoever drove a run; else its lease says who does. */
  readonly process?: ProcessId;
  /** The resolved settings. */
  readonly config: unknown;
  /** What it was given beside them; a run without it cannot be resumed. */
  readonly given?: Given;
  /** The name that the marks of all its processes have. */
  readonly owner?: string;
  /** The name of the key with which its records outside the project are signed; a run of 0.1 has none. */
  readonly recorded?: string;
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
  readonly crew?: 'stories' | 'tasks' | 'attempts';
  /** The file with the tasks. */
  readonly tasks?: string;
  /** How many attempts at the task, and by whom. */
  readonly attempts?: readonly string[];
  /** Of a run that belongs to a parallel run: what it works on there. */
  readonly lane?: string;
}

export interface NewRun extends Pick<RunFile, 'command' | 'version' | 'config' | 'given' | 'owner'> {
  readonly now: number;
  /** Of a run that belongs to another one: it is named after that. */
  readonly id?: string;
  /** The user's words: the prompt or the task. */
  readonly task?: string;
}

/** Makes the folder of a new run. Throws when Ralph's folder cannot be written. */
export function createRun(
  project: ProjectPaths,
  { command, version, config, now, id: named, given, owner, task }: NewRun,
): { readonly file: RunFile; readonly paths: RunPaths } {
  ensureFolder(project.runs);
  keepOutOfGit(project);
  const { id, paths } = named === undefined ? claimId(project, now) : takeId(project, named);
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
  if (task !== undefined) writeAtomic(paths.task, task);
  if (command !== 'session') writeLease(paths);
  // Last: with it the run is there.
  return { file: writeRunFile(paths, file), paths };
}

/**
 * Makes it survive a power cut, too, and keeps a record of it outside. An in-session loop is not refused where there can be none: its
 * ledger says then that it cannot be verified.
 */
export function writeRunFile(paths: RunPaths, file: RunFile): RunFile {
  const isSession = file.command === 'session';
  const key = isSession ? tryTo(() => ensureKey(paths.key)) : ensureKey(paths.key);
  const written = { ...file, ...(key !== undefined && { recorded: keyName(key) }) };
  const text = `${JSON.stringify(written, null, 2)}\n`;
  const write = () => writeAtomic(paths.run, text);
  if (key === undefined) write();
  else recordAround(paths, text, write);
  syncToDisk(paths.folder);
  return written;
}

/** The runs of this project that are running, however many have ended in it. */
export function liveRuns(project: ProjectPaths): readonly LiveRun[] {
  return namesIn(project.state().live).flatMap(id => {
    const live = liveRun(project, id);
    if (live) return [live];
    const paths = runPaths(project, id);
    const holder = readLease(paths);
    if (!holder || !isHeld(paths, holder)) removeLease(paths);
    return [];
  });
}

/** What Ralph writes while it runs is nobody's work; the settings are. */
export function keepOutOfGit(project: ProjectPaths): void {
  if (readIfThere(project.gitignore) !== undefined) return;
  writeAtomic(
    project.gitignore,
    '# Written by Ralph: what a run leaves behind stays out of git, the settings do not.\n*\n!.gitignore\n!settings.json\n',
    0o644,
  );
}

/** Time-ordered to the millisecond and readable: `20261115-015913-k3f9`. Making the folder is what claims the name. */
function claimId(project: ProjectPaths, now: number): { readonly id: string; readonly paths: RunPaths } {
  for (;;) {
    const stamp = new Date(now).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
    const within = Math.floor(now % 1000)
      .toString(36)
      .padStart(2, '0');
    const id = `${stamp}-${within}${randomBytes(1).toString('hex')}`;
    const paths = runPaths(project, id);
    try {
      mkdirSync(paths.folder, { mode: 0o700 });
      return { id, paths };
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}

function takeId(project: ProjectPaths, id: string): { readonly id: string; readonly paths: RunPaths } {
  const paths = runPaths(project, id);
  mkdirSync(paths.folder, { mode: 0o700, recursive: true });
  return { id, paths };
}

/** The ids of all runs of a project, oldest first. */
export function listRuns(project: ProjectPaths): readonly string[] {
  try {
    return readdirSync(project.runs, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(entry => entry.name)
      .sort();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The run a user means: the whole id, an unambiguous part of it, or nothing for the latest one. */
export function findRun(project: ProjectPaths, wanted?: string): string | Problem {
  const ids = listRuns(project);
  const latest = ids.findLast(id => parentOf(id) === undefined);
  if (latest === undefined) {
    const start = 'start one with `ralph run -p "…"`';
    const { runs, run } = project.state();
    const isDeleted = namesIn(runs).some(id => existsSync(run(id).ledger));
    return isDeleted
      ? {
          where: project.runs,
          what: 'the runs that were here are deleted',
          fix: `\`ralph resume\` puts back what is kept of them, or ${start}`,
        }
      : { where: project.runs, what: 'there are no runs here yet', fix: start };
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
  return file && file.command !== 'session' && isRunning(paths, file) ? { id, paths, file } : undefined;
}

/** undefined when the file is missing or damaged: a run that died while it was being created. */
export function readRunFile(paths: RunPaths): RunFile | undefined {
  const file = parseObject(tryTo(() => readIfThere(paths.run)) ?? '');
  return file && 'command' in file ? (file as unknown as RunFile) : undefined;
}

/**
 * Somebody drives it. An in-session loop runs in its host, and a run of 0.1 has no lease with somebody in it. Of a run with a record
 * nothing in the project says whether it is running.
 */
export function isRunning(paths: RunPaths, file = readRunFile(paths)): boolean {
  const holder = readLease(paths);
  if (holder) return isHeld(paths, holder);
  if (file?.command !== 'session' && existsSync(paths.state.record)) return false;
  if (isShownLive(paths)) return true;
  return file?.process !== undefined && isAlive(file.process);
}
