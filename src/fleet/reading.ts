/**
 * Units as they are read on this machine: the ledger and the files of one, from the database, as a run in a project of Ralph's own, so that
 * whatever shows a run shows a unit.
 */
import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { asObject, parseObject } from '../domain/text/json.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { ensureFolder, fileSize, readIfThere, writeWhole } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import type { Message } from '../store/inbox.ts';
import { leaseElsewhere, removeLease } from '../store/lease.ts';
import { lastEntry, lineEndingAt } from '../store/ledger-end.ts';
import { newRunPaths, type ProjectPaths, projectPaths, type RunPaths } from '../store/paths.ts';
import { listRuns, type RunFile, readRunFile, writeRunFile, writeTask } from '../store/run-file.ts';
import type { RunCopy } from '../store/run-store.ts';
import { type Env, statePaths } from '../store/state.ts';
import { withLock } from '../workspace/lock.ts';
import { readArtifacts } from './artifacts.ts';
import { addToLedger, writeLedger } from './carry.ts';
import type { Database } from './database.ts';
import { type CopyWorld, copyLedger } from './ledger-copy.ts';
import { reopenUnit } from './reopen.ts';
import { OVER, type Unit } from './unit.ts';
import { childrenOf, extendLedger, readLines, unitOf } from './units.ts';

export interface UnitReading {
  readonly id: string;
  readonly project: ProjectPaths;
  readonly paths: RunPaths;
  /** As it was when it was last read. */
  unit(): Unit;
  isOver(): boolean;
  /** Writes what has come since. Rejects when the database is not there. */
  refresh(): Promise<void>;
  /** Where the next lines of a unit that is over go as well. */
  extend(world: Pick<CopyWorld, 'lost' | 'troubled' | 'abort'>): RunCopy;
  /** It is over, and is worked on again with this. Returns why not. */
  reopen(messages: readonly Message[]): Promise<Problem | undefined>;
}

/** With those that belong to it. */
export async function openReading(database: Database, env: Env, id: string): Promise<UnitReading | Problem> {
  const project = projectPaths(statePaths(env).fleet.read(database.shown), env);
  forgetOld(project);
  const ids = [id, ...(await childrenOf(database, id)).map(child => child.id)];
  const wrong = ids.find(each => !/^[\w-][\w.-]{0,200}$/.test(each));
  if (wrong !== undefined) return { where: wrong, what: 'is not the name of a unit' };
  const copies = ids.map(each => createCopy(database, project, each));
  const refresh = async () => {
    for (const copy of copies) await copy.refresh();
  };
  await refresh();
  const unit = () => copies[0]?.unit() as Unit;
  return {
    ...{ id, project, paths: newRunPaths(project, id), unit, refresh },
    isOver: () => OVER.includes(unit().state),
    extend: world =>
      copyLedger({
        ...world,
        after: lastEntry(newRunPaths(project, id).events).seq,
        write: ({ lines }) => extendLedger(database, unit(), lines),
        carry: async () => ({ where: id, what: 'it is over' }),
        refused: world.lost,
        figures: () => ({}),
      }),
    reopen: messages => reopenUnit(database, id, messages),
  };
}

function createCopy(database: Database, project: ProjectPaths, id: string) {
  const paths = newRunPaths(project, id);
  let unit: Unit | undefined;
  let filesOf = '';
  return {
    unit: () => unit,
    async refresh(): Promise<void> {
      // Before its lines: when it is over, they are all there.
      unit = (await unitOf(database, id)) ?? unit;
      if (!unit) return;
      const now = unit;
      ensureFolder(paths.state.folder);
      const locked = await withLock(paths.state.lock, async () => {
        await copyLines(database, paths, now);
        // Files are stored when a worker gives the unit up.
        const holder = `${now.state} ${now.fence}`;
        if (holder !== filesOf) await copyFiles(database, paths, now);
        filesOf = holder;
        if (now.state === 'running') leaseElsewhere(paths, now.worker ?? '');
        else removeLease(paths);
      });
      if (isProblem(locked)) throw new Error(`${locked.where}: ${locked.what}`);
    },
  };
}

/** What is here is the beginning of what is there, or it is written anew. */
async function copyLines(database: Database, paths: RunPaths, unit: Unit): Promise<void> {
  // Until its work is safe elsewhere a unit may begin anew, with another ledger.
  const isFirm = unit.carry !== null || OVER.includes(unit.state);
  const size = fileSize(paths.events);
  const last = size === 0 ? 0 : lastEntry(paths.events).seq;
  let lines = isFirm ? await readLines(database, unit.id, Math.max(0, last - 1)) : [];
  if (last > 0 && lines[0]?.text === lineEndingAt(paths.events, size)) lines = lines.slice(1);
  else if (size > 0 || !existsSync(paths.events)) {
    writeLedger(paths, []);
    if (last > 1) lines = await readLines(database, unit.id);
  }
  while (lines.length > 0) {
    addToLedger(paths, lines);
    lines = await readLines(database, unit.id, lines.at(-1)?.seq);
  }
}

async function copyFiles(database: Database, paths: RunPaths, unit: Unit): Promise<void> {
  const here = (name: string) => {
    const text = readIfThere(join(paths.folder, name));
    return text === undefined ? undefined : sha256(text);
  };
  const files = await readArtifacts(database, unit.id, here);
  for (const { name, content } of files) {
    if (name === 'run.json') continue;
    if (name === 'task.md') {
      writeTask(paths, content);
      continue;
    }
    const path = join(paths.folder, name);
    ensureFolder(dirname(path));
    writeWhole(path, content);
  }
  const file = parseObject(files.find(({ name }) => name === 'run.json')?.content ?? '');
  const found = file && 'command' in file ? (file as unknown as RunFile) : undefined;
  writeRunFile(paths, found ?? readRunFile(paths) ?? runFileOf(unit));
}

/** Of a unit whose own is not there yet. */
function runFileOf({ id, kind, config, repoUrl, startedAt, submittedAt }: Unit): RunFile {
  return {
    id,
    command: kind === 'loop' || asObject(config)?.tasks !== undefined ? 'loop' : 'prd',
    version: '',
    cwd: repoUrl,
    startedAt: (startedAt ?? submittedAt).toISOString(),
    config: {},
  };
}

const A_WEEK = 7 * 24 * 60 * 60 * 1000;

/** Those that nobody has looked at for long: they are still in the database. */
function forgetOld(project: ProjectPaths): void {
  for (const id of listRuns(project)) {
    const { folder, state } = newRunPaths(project, id);
    const seen = [state.folder, folder].map(path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (Date.now() - Math.max(...seen) < A_WEEK) continue;
    for (const path of [state.folder, folder]) rmSync(path, { recursive: true, force: true });
  }
}
