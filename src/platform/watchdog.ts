/**
 * Ends our children when we cannot: a small shell that waits on a pipe from us. When the pipe closes without
 * a goodbye, Ralph was killed, and the shell ends every process group on our list and every process that
 * carries our mark. The list is a file without a name that both have open: to tell the shell of every child
 * through the pipe would wake it up twice for each. One for the whole of a Ralph process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinWords } from './shell.ts';

export interface Watchdog {
  /** From now on the process group `pid` is ours; `undo` is a command that ends what no signal reaches. */
  watch(pid: number, undo?: readonly string[]): void;
  /** It has ended and its number may be given to somebody else. */
  release(pid: number): void;
}

const SCRIPT = `
mark=$1; groups=
while read -r word; do [ "$word" = bye ] && exit 0; done
while read -r pid undo; do
  [ "$pid" = end ] && break
  groups="$groups $pid"; sh -c "$undo" &
done <&3
end() {
  for group in $groups; do kill -s "$1" -- "-$group"; done
  for file in /proc/[0-9]*/environ; do
    if grep -q "$mark" "$file"; then pid=\${file#/proc/}; kill -s "$1" "\${pid%/environ}"; fi
  done
} 2>/dev/null
end TERM; sleep 1; end KILL; wait
`;

/** `mark` is how an environment variable of ours begins. */
export function startWatchdog(mark: string): Watchdog {
  if (process.platform === 'win32') return { watch() {}, release() {} };
  const list = createList();
  const shell = spawn('sh', ['-c', SCRIPT, 'ralph-watchdog', mark], {
    detached: true, // a Ctrl-C in the terminal must not reach it
    stdio: ['pipe', 'ignore', 'ignore', list.fd ?? 'ignore'],
    cwd: '/',
    env: { PATH: process.env.PATH },
  });
  keepQuiet(shell);
  process.once('exit', () => shell.stdin?.write('bye\n'));
  const groups = new Map<number, string>();
  return {
    watch(pid, undo = []) {
      groups.set(pid, `${pid} ${joinWords(undo)}\n`);
      list.write([...groups.values()].join(''));
    },
    release(pid) {
      if (groups.delete(pid)) list.write([...groups.values()].join(''));
    },
  };
}

/** More than all the children that there are at a time. Written at once, so that a disk that is full later does not matter. */
const LONGEST = 16 * 1024;
const END = 'end\n';

/** Where no such file can be made, the mark in the environment of our children is all the shell has to go by. */
function createList() {
  let fd: number | undefined;
  try {
    const path = join(tmpdir(), `ralph-watchdog-${process.pid}-${Date.now()}`);
    fd = openSync(path, 'wx+', 0o600);
    rmSync(path);
    writeSync(fd, `${END}${'\n'.repeat(LONGEST)}`, 0);
  } catch {
    // a disk that is full from the start, or a folder that cannot be written
  }
  return {
    fd,
    /** In one piece from the beginning: what an earlier list leaves behind it comes after the end of this one. */
    write(lines: string): void {
      if (fd === undefined) return;
      try {
        writeSync(fd, `${lines}${END}`, 0);
      } catch {
        // as above
      }
    },
  };
}

/** It must neither keep us alive nor bring us down. */
function keepQuiet(shell: ChildProcess): void {
  shell.unref();
  shell.on('error', () => {});
  const pipe = shell.stdin as (NodeJS.WritableStream & { unref?(): void }) | null;
  pipe?.on('error', () => {});
  pipe?.unref?.();
}
