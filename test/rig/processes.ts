/** Processes by the process table, also those in a PID namespace, which know themselves by another number. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { identify, isAlive } from '../../src/platform/process-table.ts';

/** Whether a process is still there. */
export function isThere(pid: number): boolean {
  const found = identify(pid);
  return found !== undefined && isAlive(found);
}

/** The number out here of a process that has this word in its command line. */
export function processWith(word: string): number {
  return find(pid => hasWord(pid, word));
}

/** The same of the one that calls itself `inner`. */
export function outerPid(inner: number, word: string): number {
  return process.platform === 'linux' ? find(pid => isInner(pid, inner) && hasWord(pid, word)) : inner;
}

/** The number out here of the process that `near`, a process in the same namespace, calls `inner`. */
export function outerPidNear(inner: number, near: number): number {
  const namespace = (pid: number) => readlinkSync(`/proc/${pid}/ns/pid`);
  if (process.platform !== 'linux') return inner;
  return find(pid => isInner(pid, inner) && namespace(pid) === namespace(near));
}

function hasWord(pid: number, word: string): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
}

function isInner(pid: number, inner: number): boolean {
  const [, numbers = ''] = /^NSpid:(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(numbers.trim().split(/\s+/).at(-1)) === inner;
}

/** No process has it: it had gone before it was looked for. */
const GONE = -1;

function find(isIt: (pid: number) => boolean): number {
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    try {
      if (isIt(pid)) return pid;
    } catch {
      // gone, or somebody else's
    }
  }
  return GONE;
}
