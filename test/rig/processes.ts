/** Processes by the process table, also those in a PID namespace, which know themselves by another number. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { identify, isAlive } from '../../src/platform/process-table.ts';

/** Whether a process is still there. */
export function isThere(pid: number): boolean {
  const found = identify(pid);
  return found !== undefined && isAlive(found);
}

/** The number out here of the process that has this word in its command line and calls itself `inner`. */
export function outerPid(inner: number, word: string): number {
  const isIt = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
  return findByInner(inner, isIt);
}

/** The number out here of the process that `near`, a process in the same namespace, calls `inner`. */
export function outerPidNear(inner: number, near: number): number {
  const namespace = (pid: number) => readlinkSync(`/proc/${pid}/ns/pid`);
  return findByInner(inner, pid => namespace(pid) === namespace(near));
}

/** No process has it: it had gone before it was looked for. */
const GONE = -1;

function findByInner(inner: number, isIt: (pid: number) => boolean): number {
  if (process.platform !== 'linux') return inner;
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    try {
      const [, numbers = ''] = /^NSpid:(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      if (Number(numbers.trim().split(/\s+/).at(-1)) === inner && isIt(pid)) return pid;
    } catch {
      // gone, or somebody else's
    }
  }
  return GONE;
}
