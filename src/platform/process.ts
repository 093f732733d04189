/**
 * Child processes that are owned: each has its own group, its stdin is fed and closed, its time is watched,
 * and when it ends, nothing it started outlives it, not even what fled into a session of its own.
 */
import { ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { errorCode } from './files.ts';
import { descendants, groupIsAlive, isAlive, marked, type ProcessId } from './process-table.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

export interface ProcessSpec {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Written to stdin, which is then closed. Without it stdin is empty from the start. */
  readonly input?: string;
  /** Where stdout goes: to a function, chunk by chunk, or into an open file. */
  readonly stdout: number | ((chunk: Buffer) => void);
  /** The same for stderr. One file for both keeps the order in which things were printed. */
  readonly stderr: number | ((chunk: Buffer) => void);
  /** Milliseconds of silence on stdout after which it is ended. */
  readonly idleTimeout?: number;
  /** Milliseconds after which it is ended. */
  readonly timeout?: number;
  readonly stopSignal?: NodeJS.Signals;
  /** Milliseconds between asking it to stop and killing it. */
  readonly grace?: number;
}

export type ProcessEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: NodeJS.Signals }
  | { readonly kind: 'not-started'; readonly code: string };

export interface ProcessResult<Why extends string> {
  readonly end: ProcessEnd;
  /** Why we ended it, if we did. */
  readonly endedBy?: Why | 'timeout' | 'idle-timeout';
  /** Processes that it had left behind and that we ended. */
  readonly leftBehind: number;
}

export interface OwnedProcess<Why extends string> {
  readonly pid: number | undefined;
  /** Ends the whole tree: asks, waits for the grace, kills. `at-once` does not wait. */
  stop(why: Why, how?: 'gently' | 'at-once'): void;
  /** The first reason to end it counts. Resolves when nothing of it is left; never rejects. */
  readonly done: Promise<ProcessResult<Why>>;
}

const GRACE = 5_000;
/** After a clean end: what is still there gets this long to go by itself. */
const LEFTOVER_GRACE = 500;
/** How long a pipe that somebody else holds open may keep us after the process itself has ended. */
const DRAIN = 250;

export function startProcess<Why extends string>(spec: ProcessSpec): OwnedProcess<Why> {
  const mark = nextMark();
  const began = performance.now();
  const child = trySpawn(spec, mark);
  if (!(child instanceof ChildProcess)) return notStarted(child);
  const { pid } = child;
  let endedBy: Why | 'timeout' | 'idle-timeout' | undefined;
  let victims: readonly ProcessId[] = [];
  let killTimer: NodeJS.Timeout | undefined;

  const stop = (why: Why | 'timeout' | 'idle-timeout', how: 'gently' | 'at-once' = 'gently') => {
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    if (endedBy === undefined) victims = descendants(pid);
    endedBy ??= why;
    if (how === 'at-once') return killAll(pid, victims);
    signalGroup(pid, spec.stopSignal ?? 'SIGTERM');
    signalGroup(pid, 'SIGCONT'); // a stopped process cannot hear the request
    killTimer ??= setTimeout(() => killAll(pid, victims), spec.grace ?? GRACE);
  };
  const timers = watchTime(spec, child, stop);

  const done = ended(child).then(async (end): Promise<ProcessResult<Why>> => {
    clearTimeout(killTimer);
    timers.clear();
    if (pid === undefined) return { end, leftBehind: 0 };
    const leftBehind = await reap({ pid, mark, victims, began, hurry: endedBy !== undefined });
    await Promise.all([drained(child.stdout), drained(child.stderr)]);
    watchdog?.release(pid);
    return { end, leftBehind, ...(endedBy !== undefined && { endedBy }) };
  });
  return { pid, stop, done };
}

/** The token tells our processes from those of another Ralph, the number one child of ours from the next. */
const token = `RALPH_OWNER_${randomBytes(6).toString('hex')}`;
let marks = 0;
const nextMark = () => `${token}=${++marks}`;
let watchdog: Watchdog | undefined;

/** Some failures to start are thrown and some come as an event; both are an outcome here. */
function trySpawn(spec: ProcessSpec, mark: string): ChildProcess | { readonly code: string } {
  try {
    return spawnMarked(spec, mark);
  } catch (error) {
    return { code: errorCode(error) ?? String(error) };
  }
}

function notStarted<Why extends string>({ code }: { readonly code: string }): OwnedProcess<Why> {
  const end = { kind: 'not-started', code } as const;
  return { pid: undefined, stop() {}, done: Promise.resolve({ end, leftBehind: 0 }) };
}

function spawnMarked(spec: ProcessSpec, mark: string): ChildProcess {
  const [command, ...args] = spec.argv;
  const [name = '', value = ''] = mark.split('=');
  const child = spawn(command, args, {
    cwd: spec.cwd,
    env: { [name]: value, ...spec.env },
    detached: true,
    windowsHide: true,
    stdio: [
      spec.input === undefined ? 'ignore' : 'pipe',
      typeof spec.stdout === 'number' ? spec.stdout : 'pipe',
      typeof spec.stderr === 'number' ? spec.stderr : 'pipe',
    ],
  });
  if (child.pid !== undefined) {
    watchdog ??= startWatchdog(`${token}=`);
    watchdog.watch(child.pid);
  }
  if (typeof spec.stdout === 'function') child.stdout?.on('data', spec.stdout);
  if (typeof spec.stderr === 'function') child.stderr?.on('data', spec.stderr);
  child.stdout?.on('error', () => {});
  child.stderr?.on('error', () => {});
  // A process that never reads its input is no error of ours.
  child.stdin?.on('error', () => {});
  if (spec.input !== undefined) child.stdin?.end(spec.input);
  return child;
}

function watchTime(spec: ProcessSpec, child: ChildProcess, stop: (why: 'timeout' | 'idle-timeout') => void) {
  const timers: NodeJS.Timeout[] = [];
  if (spec.timeout) timers.push(setTimeout(() => stop('timeout'), spec.timeout));
  if (spec.idleTimeout) {
    const idle = setTimeout(() => stop('idle-timeout'), spec.idleTimeout);
    child.stdout?.on('data', () => idle.refresh());
    timers.push(idle);
  }
  return { clear: () => timers.forEach(clearTimeout) };
}

function ended(child: ChildProcess): Promise<ProcessEnd> {
  return new Promise(resolve => {
    child.once('error', error => {
      if (child.pid === undefined) resolve({ kind: 'not-started', code: errorCode(error) ?? error.message });
    });
    child.once('exit', (code, signal) => {
      resolve(signal ? { kind: 'signalled', signal } : { kind: 'exited', code: code ?? 0 });
    });
  });
}

interface Remains {
  readonly pid: number;
  readonly mark: string;
  readonly victims: readonly ProcessId[];
  readonly began: number;
  /** We ended it: kill what is left at once. */
  readonly hurry: boolean;
}

/** Ends what the process left behind and says how many that were. */
async function reap({ pid, mark, victims, began, hurry }: Remains): Promise<number> {
  // Numbers do not wrap round in ten seconds; a short-lived process need not search the whole table.
  const youngerThan = performance.now() - began < 10_000 ? pid : undefined;
  const survivors = () => unique([...marked(mark, youngerThan), ...victims.filter(isAlive)]);
  const first = survivors();
  if (first.length === 0 && !groupIsAlive(pid)) return 0;
  if (!hurry) {
    signalGroup(pid, 'SIGTERM');
    for (const { pid: each } of first) signal(each, 'SIGTERM');
    await gone(() => first.some(isAlive) || groupIsAlive(pid), LEFTOVER_GRACE);
  }
  // A dying process may still start another: look again until a look finds nobody.
  for (
    let look = 0, left = survivors();
    look < 20 && (left.length > 0 || groupIsAlive(pid));
    left = survivors(), look++
  ) {
    killAll(pid, left);
    await gone(() => left.some(isAlive), LEFTOVER_GRACE);
  }
  return Math.max(first.length, 1);
}

async function gone(isThere: () => boolean, within: number): Promise<void> {
  const until = performance.now() + within;
  while (isThere() && performance.now() < until) await new Promise(resolve => setTimeout(resolve, 5));
}

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

function killAll(pid: number, others: readonly ProcessId[]): void {
  signalGroup(pid, 'SIGKILL');
  for (const other of others) if (isAlive(other)) signal(other.pid, 'SIGKILL');
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  if (process.platform !== 'win32') signal(-pid, name);
  else if (name !== 'SIGCONT') {
    spawn('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore' }).on('error', () => {});
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has gone already
  }
}

function unique(processes: readonly ProcessId[]): readonly ProcessId[] {
  return [...new Map(processes.map(each => [each.pid, each])).values()];
}
