/** Looks at the process table: who descends from whom, who carries our mark, when a process began. Linux has /proc. */
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { errorCode } from './error-words.ts';
import { tryTo } from './files.ts';

/** A process that can be distinguished from a later one with the same number. */
export interface ProcessId {
  readonly pid: number;
  /** Opaque; two processes with the same pid have different ones. Empty where the system does not tell. */
  readonly started: string;
}

interface Row extends ProcessId {
  readonly parent: number;
  readonly group: number;
  readonly state: string;
}

export function identify(pid: number): ProcessId | undefined {
  const row = readRow(pid);
  return row && { pid: row.pid, started: row.started };
}

const SHELLS = /^-?(?:a|ba|da|k|mk|z)?sh$|^busybox$|^fish$/;

/** The program that has this process started: the first above it that is no shell. A shell in between ends with the command. */
export function startedBy(): ProcessId {
  const parent = process.ppid;
  for (let pid = parent; pid > 1; ) {
    const row = readRow(pid);
    if (!row) break;
    if (!SHELLS.test(nameOf(pid))) return { pid, started: row.started };
    pid = row.parent;
  }
  return identify(parent) ?? { pid: parent, started: '' };
}

/** Of the program; empty when it is gone. */
export function nameOf(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    const out = execFileSync('/bin/ps', ['-p', String(pid), '-o', 'comm='], { encoding: 'utf8' }).trim();
    return out.slice(out.lastIndexOf('/') + 1);
  } catch {
    return '';
  }
}

/** This process. */
export function ourselves(): ProcessId {
  return identify(process.pid) ?? { pid: process.pid, started: '' };
}

/** Whether this very process is still there. A zombie is not. */
export function isAlive({ pid, started }: ProcessId): boolean {
  if (process.platform !== 'linux' && !isTaken(pid)) return false; // one look at it costs a program, and we look often
  const row = readRow(pid);
  return row !== undefined && row.state !== 'Z' && (started === '' || row.started === started);
}

/** Whether it runs, or waits for the processor or a disk, and for nobody else. */
export function isBusy(pid: number): boolean {
  return /^[RDU]$/.test(readRow(pid)?.state ?? '');
}

/** Whether any process has this number. */
function isTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** The process group it is in; undefined when it is gone. */
export function groupOf({ pid }: ProcessId): number | undefined {
  return readRow(pid)?.group;
}

/** Who is in the group of `pid`, but for itself and its children. */
export function groupBehind(pid: number): readonly ProcessId[] {
  return allRows()
    .filter(row => row.group === pid && row.pid !== pid && row.parent !== pid)
    .map(row => ({ pid: row.pid, started: row.started }));
}

/** Every process below `pid`, by the chain of parents as it is now. */
export function descendants(pid: number): readonly ProcessId[] {
  const rows = allRows();
  const found = new Map<number, Row>();
  for (let grew = true; grew; ) {
    grew = false;
    for (const row of rows) {
      if (!found.has(row.pid) && (row.parent === pid || found.has(row.parent))) {
        found.set(row.pid, row);
        grew = true;
      }
    }
  }
  return [...found.values()].map(row => ({ pid: row.pid, started: row.started }));
}

/** Whether anything but zombies is left in a process group. */
export function groupIsAlive(group: number): boolean {
  if (!tryTo(() => process.kill(-group, 0))) return false;
  return allRows().some(row => row.group === group && row.state !== 'Z');
}

/**
 * Every process that has `mark` (`NAME=value`) in its environment, whichever session or group it fled to.
 * `youngerThan` narrows the search to processes started after that one.
 */
export function marked(mark: string, youngerThan?: number): readonly ProcessId[] {
  return withEnvironment(`${mark}\0`, youngerThan);
}

/** Every process that an earlier Ralph has started, by the name that all its marks have. */
export function ownedBy(owner: string): readonly ProcessId[] {
  return withEnvironment(`${owner}=`);
}

/** The names that the marks of all running processes have. */
export function owners(): ReadonlySet<string> {
  const found = new Set<string>();
  if (process.platform !== 'linux') return found;
  for (const pid of allPids()) {
    const environment = environmentOf(pid);
    if (!environment.includes('RALPH_OWNER_')) continue; // of nearly all
    for (const [, name] of environment.toString('latin1').matchAll(OWNERS)) if (name) found.add(name);
  }
  return found;
}

const OWNERS = /(?:^|\0)(RALPH_OWNER_[0-9a-f]{12})=/g;

function withEnvironment(text: string, youngerThan?: number): readonly ProcessId[] {
  if (process.platform !== 'linux') return [];
  const needle = Buffer.from(text);
  return pidsAfter(youngerThan)
    .filter(pid => pid !== process.pid && environmentOf(pid).includes(needle))
    .flatMap(pid => identify(pid) ?? []);
}

/** Of Linux. */
function allPids(): readonly number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

function allRows(): readonly Row[] {
  return process.platform === 'linux' ? allPids().flatMap(pid => readRow(pid) ?? []) : psRows();
}

/** Process numbers go up and wrap round; while they have not wrapped, only the younger ones can be ours. */
function pidsAfter(pid: number | undefined): readonly number[] {
  if (pid === undefined) return allPids();
  const latest = latestPid();
  if (latest < pid) return allPids();
  if (latest - pid > FEW) return allPids().filter(each => each > pid);
  const few = Array.from({ length: latest - pid }, (_, at) => pid + 1 + at);
  return few.filter(each => existsSync(`/proc/${each}`)); // opening fails slowly, so look first
}

/** Whether nothing at all has been started since it was: then it has left nobody behind. */
export function isLatest(pid: number): boolean {
  return process.platform === 'linux' && latestPid() === pid;
}

function latestPid(): number {
  const load = readFileSync('/proc/loadavg', 'utf8');
  return Number(load.slice(load.lastIndexOf(' ')));
}

/** So many numbers are tried one by one faster than the whole table is listed. */
const FEW = 40;

const page = Buffer.allocUnsafe(256 * 1024);

const NOTHING = Buffer.alloc(0);

/** It is good until the next one is asked for. */
function environmentOf(pid: number): Buffer {
  const fd = tryTo(() => openSync(`/proc/${pid}/environ`, 'r'));
  if (fd === undefined) return NOTHING; // gone, or somebody else's
  try {
    return page.subarray(0, readSync(fd, page, 0, page.length, 0));
  } catch {
    return NOTHING;
  } finally {
    closeSync(fd);
  }
}

function readRow(pid: number): Row | undefined {
  if (process.platform !== 'linux') return psRows(pid)[0];
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold spaces and brackets of its own: count from the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return {
      pid,
      state: fields[0] ?? '',
      parent: Number(fields[1]),
      group: Number(fields[2]),
      started: fields[19] ?? '',
    };
  } catch {
    return undefined;
  }
}

function psRows(pid?: number): readonly Row[] {
  try {
    const which = pid === undefined ? ['-ax'] : ['-p', String(pid)];
    const out = execFileSync('/bin/ps', [...which, '-o', 'pid=,ppid=,pgid=,stat=,lstart='], {
      encoding: 'utf8',
    });
    return out.split('\n').flatMap(line => {
      const [id, parent, group, state, ...started] = line.trim().split(/\s+/);
      if (!id) return [];
      return [
        {
          pid: Number(id),
          parent: Number(parent),
          group: Number(group),
          state: state?.[0] ?? '',
          started: started.join(' '),
        },
      ];
    });
  } catch {
    return [];
  }
}
