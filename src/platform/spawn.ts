/** Starts a child in a group of its own, marked so that it can be found again, fed, and read. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Confined } from './confinement.ts';
import { createPrivate, errorCode } from './files.ts';
import { followFile } from './follow.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

export interface SpawnSpec extends Confined {
  /** Written to stdin, which is then closed. Without it stdin is empty from the start. */
  readonly input?: string;
  /** Where stdout goes: to a function, chunk by chunk, or into an open file. */
  readonly stdout: number | ((chunk: Buffer) => void);
  /** The same for stderr. One file for both keeps the order in which things were printed. */
  readonly stderr: number | ((chunk: Buffer) => void);
  /** stdout goes through this file to the function, for programs that lose their last words on a pipe. The chunk is reused after the call. */
  readonly throughFile?: string;
}

export interface Spawned {
  readonly child: ChildProcess;
  /** `NAME=value` in the environment of it and of everything it starts. */
  readonly mark: string;
  /** Reads what is still to come when the process and all it started have ended. */
  finish(): Promise<void>;
}

/** Some failures to start are thrown and some come as an event; the thrown ones are a code here. */
export function spawnOwned(spec: SpawnSpec, onActivity: () => void): Spawned | { readonly code: string } {
  const mark = nextMark();
  const onStdout = listener(spec.stdout, onActivity);
  const file = onStdout && spec.throughFile !== undefined ? createPrivate(spec.throughFile) : undefined;
  let child: ChildProcess;
  try {
    child = spawnInGroup(spec, mark, file);
  } catch (error) {
    return { code: errorCode(error) ?? String(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
  const { pid } = child;
  const follower =
    onStdout && spec.throughFile !== undefined ? followFile(spec.throughFile, onStdout) : undefined;
  if (onStdout) child.stdout?.on('data', onStdout);
  if (typeof spec.stderr === 'function') child.stderr?.on('data', spec.stderr);
  // A process that never reads its input is no error of ours.
  for (const stream of child.stdio) stream?.on('error', ignore);
  if (spec.input !== undefined) child.stdin?.end(spec.input);
  // Last: to start it takes longer than all of the above, and the child runs meanwhile.
  watchdog ??= startWatchdog(`${ownerName()}=`);
  if (pid !== undefined) watchdog.watch(pid, spec.undo);
  return {
    child,
    mark,
    async finish() {
      await follower?.end();
      await Promise.all([drained(child.stdout), drained(child.stderr)]);
      // Node keeps the pipes of a dead child for a while, and with them all that a listener holds.
      for (const pipe of [child.stdout, child.stderr]) pipe?.removeAllListeners('data');
      if (pid !== undefined) watchdog?.release(pid);
    },
  };
}

function ignore(): void {}

/** It distinguishes our processes from those of another Ralph, the number one child of ours from the next. */
export function ownerName(): string {
  owner ??= `RALPH_OWNER_${randomBytes(6).toString('hex')}`;
  return owner;
}

let owner: string | undefined;
let marks = 0;
const nextMark = () => `${ownerName()}=${++marks}`;
let watchdog: Watchdog | undefined;

function listener(sink: SpawnSpec['stdout'], onActivity: () => void): ((chunk: Buffer) => void) | undefined {
  if (typeof sink === 'number') return undefined;
  return chunk => {
    onActivity();
    sink(chunk);
  };
}

function spawnInGroup(spec: SpawnSpec, mark: string, file: number | undefined): ChildProcess {
  const [command, ...args] = spec.argv;
  const [name = '', value = ''] = mark.split('=');
  return spawn(command, args, {
    cwd: spec.cwd,
    env: { [name]: value, ...spec.env },
    detached: true,
    windowsHide: true,
    stdio: [
      spec.input === undefined ? 'ignore' : 'pipe',
      typeof spec.stdout === 'number' ? spec.stdout : (file ?? 'pipe'),
      typeof spec.stderr === 'number' ? spec.stderr : 'pipe',
    ],
  });
}

/** How long a pipe that somebody else holds open may keep us after the process itself has ended. */
const DRAIN = 250;

/** Waits until everything printed has been read, but not for a stranger that holds the pipe open. */
async function drained(pipe: Readable | null): Promise<void> {
  if (!pipe || pipe.closed) return;
  await new Promise<void>(resolve => {
    // As long as data comes, the reader is only slower than the writer was.
    const timer = setTimeout(() => resolve(), DRAIN);
    pipe.on('data', () => timer.refresh());
    pipe.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  pipe.destroy();
}
