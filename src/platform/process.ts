/**
 * Child processes that are owned: each has its own group, its stdin is fed and closed, its time is watched,
 * and when it ends, nothing it started outlives it, not even what fled into a session of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { systemClock } from './clock.ts';
import type { Confinement } from './confinement.ts';
import { errorCode } from './error-words.ts';
import { tryTo } from './files.ts';
import {
  descendants,
  groupBehind,
  groupIsAlive,
  groupOf,
  isAlive,
  isLatest,
  marked,
  ownedBy,
  type ProcessId,
} from './process-table.ts';
import { isOwnerName, type SpawnSpec, spawnOwned } from './spawn.ts';
import { startTimer, type Timer } from './timer.ts';

export interface ProcessSpec extends SpawnSpec {
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

export type Manner = 'gently' | 'briefly' | 'at-once';

export interface OwnedProcess<Why extends string> {
  readonly pid: number | undefined;
  /** Ends the whole tree: asks, waits for the grace, kills. `briefly` waits less, `at-once` not at all. */
  stop(why: Why, how?: Manner): void;
  /** The first reason to end it counts. Resolves when nothing of it is left; never rejects. */
  readonly done: Promise<ProcessResult<Why>>;
}

const GRACE = 5_000;
/** Enough for an agent to report what it has used, and not much longer than the time that the user has allowed. */
const BRIEF_GRACE = 1_000;
/** After a clean end: what is still there gets this long to go by itself. */
const LEFTOVER_GRACE = 500;

/** The same behind a wall, if there is one. Where it cannot be put up, nothing is started. */
export async function startConfined<Why extends string>(
  confinement: Confinement | undefined,
  spec: ProcessSpec,
): Promise<OwnedProcess<Why>> {
  if (!confinement) return startProcess(spec);
  const confined = await confinement.wrap(spec);
  return 'code' in confined ? notStarted(confined.code) : startProcess({ ...spec, ...confined });
}

export function startProcess<Why extends string>(spec: ProcessSpec): OwnedProcess<Why> {
  const began = systemClock.ticks();
  const timers = createTimers();
  const started = spawnOwned(spec, timers.active);
  if ('code' in started) return notStarted(started.code);
  const { child, mark } = started;
  const { pid } = child;
  let endedBy: Why | 'timeout' | 'idle-timeout' | undefined;
  let victims: readonly ProcessId[] = [];
  let killTimer: NodeJS.Timeout | undefined;

  const stop = (why: Why | 'timeout' | 'idle-timeout', how: Manner = 'gently') => {
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    if (endedBy === undefined) victims = descendants(pid);
    endedBy ??= why;
    if (how === 'at-once') return killAll(pid, victims);
    ask(pid, spec);
    const grace = how === 'briefly' ? BRIEF_GRACE : (spec.grace ?? GRACE);
    killTimer ??= setTimeout(() => killAll(pid, victims), grace);
  };
  timers.start(spec, stop);

  const done = ended(child).then(async (end): Promise<ProcessResult<Why>> => {
    clearTimeout(killTimer);
    timers.clear();
    if (pid === undefined) return { end, leftBehind: 0 };
    if (spec.undo && (endedBy !== undefined || end.kind === 'signalled')) await finished(spec.undo);
    const isTidy = spec.isQuiet || (spec.init && end.kind === 'exited');
    const leftBehind = isTidy
      ? await started.leftBehind()
      : await reap({ ...spec, pid, mark, victims, began, hurry: endedBy !== undefined });
    spec.ended?.();
    await started.finish();
    const own = spec.init ? endOfCommand(end) : end;
    return { end: own, leftBehind, ...(endedBy !== undefined && { endedBy }) };
  });
  return { pid, stop, done };
}

function notStarted<Why extends string>(code: string): OwnedProcess<Why> {
  const end = { kind: 'not-started', code } as const;
  return { pid: undefined, stop() {}, done: Promise.resolve({ end, leftBehind: 0 }) };
}

/** An init reports what it saw as a shell does. */
function endOfCommand(end: ProcessEnd): ProcessEnd {
  if (end.kind !== 'exited') return end;
  const name = Object.entries(constants.signals).find(([, number]) => number === end.code - 128)?.[0];
  return name === undefined ? end : { kind: 'signalled', signal: name as NodeJS.Signals };
}

/** Asks the command to stop, past the wall around it; what is not behind one is asked as a group. */
function ask(pid: number, { inside, init, stopSignal = 'SIGTERM' }: ProcessSpec): void {
  if (init) {
    const group = groupBehind(pid);
    if (group.length > 0) askEach(group, stopSignal);
    else signalGroup(pid, 'SIGKILL'); // the wall is not up yet
    return;
  }
  const confined = inside === undefined ? [] : marked(inside, pid);
  const [first] = confined;
  if (!first) {
    signalGroup(pid, stopSignal);
    signalGroup(pid, 'SIGCONT'); // a stopped process cannot hear the request
    return;
  }
  const group = groupOf(first);
  askEach(
    confined.filter(other => groupOf(other) === group),
    stopSignal,
  );
}

function askEach(processes: readonly ProcessId[], name: NodeJS.Signals): void {
  for (const { pid } of processes) {
    signal(pid, name);
    signal(pid, 'SIGCONT');
  }
}

/** Runs a command of ours to its end, whatever comes of it. */
function finished([command, ...args]: readonly [string, ...string[]]): Promise<void> {
  return new Promise(resolve => {
    const child = spawn(command, args, { stdio: 'ignore', timeout: UNDO_TIME });
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
}

const UNDO_TIME = 20_000;

/** Milliseconds. A timer that is later than this was not running, and neither were we: then nobody knows whether the child was silent. */
const STOPPED = 1_000;

function createTimers() {
  let total: Timer | undefined;
  let idle: Timer | undefined;
  const listen = (ms: number, act: () => void) => {
    idle = startTimer(ms, late => (late > STOPPED ? listen(ms, act) : act()));
  };
  return {
    start({ timeout, idleTimeout }: ProcessSpec, stop: (why: 'timeout' | 'idle-timeout') => void): void {
      if (timeout) total = startTimer(timeout, () => stop('timeout'));
      if (idleTimeout) listen(idleTimeout, () => stop('idle-timeout'));
    },
    active: () => idle?.refresh(),
    clear(): void {
      total?.clear();
      idle?.clear();
    },
  };
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

interface Remains extends Pick<ProcessSpec, 'inside' | 'init'> {
  readonly pid: number;
  readonly mark: string;
  readonly victims: readonly ProcessId[];
  readonly began: number;
  /** We ended it: kill what is left at once. */
  readonly hurry: boolean;
}

/** Ends what the process left behind and says how many that were. */
async function reap({ pid, mark, inside, init, victims, began, hurry }: Remains): Promise<number> {
  if (isLatest(pid)) return 0;
  // Numbers do not wrap round in ten seconds; a short-lived process need not search the whole table.
  const youngerThan = systemClock.ticks() - began < 10_000 ? pid : undefined;
  const survivors = () => unique([...marked(mark, youngerThan), ...victims.filter(isAlive)]);
  // A wall that comes down takes with it what is behind it; that needs a moment and no help.
  if (inside !== undefined || init) await gone(() => survivors().length > 0, LEFTOVER_GRACE);
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

/** Ends what an earlier Ralph, dead by now, has left running, and says how many processes that were. A name that is none ends nothing. */
export async function endOwned(owner: unknown): Promise<number> {
  // One that we carry ourselves is that of the Ralph around us.
  if (!isOwnerName(owner) || owner in process.env) return 0;
  const first = ownedBy(owner);
  for (const { pid } of first) signal(pid, 'SIGTERM');
  await gone(() => first.some(isAlive), ORPHAN_GRACE);
  for (let look = 0, left = ownedBy(owner); look < 20 && left.length > 0; left = ownedBy(owner), look++) {
    for (const { pid } of left) signal(pid, 'SIGKILL');
    await gone(() => left.some(isAlive), LEFTOVER_GRACE);
  }
  return first.length;
}

/** Long enough for git to take its locks away. */
const ORPHAN_GRACE = 2_000;

async function gone(isThere: () => boolean, within: number): Promise<void> {
  const until = systemClock.ticks() + within;
  while (isThere() && systemClock.ticks() < until) await new Promise(resolve => setTimeout(resolve, 5));
}

function killAll(pid: number, others: readonly ProcessId[]): void {
  signalGroup(pid, 'SIGKILL');
  for (const other of others) if (isAlive(other)) signal(other.pid, 'SIGKILL');
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  signal(-pid, name);
}

function signal(pid: number, name: NodeJS.Signals): void {
  tryTo(() => process.kill(pid, name)); // it has gone already
}

function unique(processes: readonly ProcessId[]): readonly ProcessId[] {
  return [...new Map(processes.map(each => [each.pid, each])).values()];
}
