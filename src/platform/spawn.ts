/** Starts a child in a group of its own, marked so that it can be found again, fed, and read. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Confined } from './confinement.ts';
import { errorCode } from './error-words.ts';
import { createPrivate, namesIn, readIfThere, tryTo } from './files.ts';
import { followFile } from './follow.ts';
import { outsideEnv } from './programs.ts';
import { joinWords } from './shell.ts';

export interface SpawnSpec extends Confined {
  /** Written to stdin, which is closed at its end. Without it stdin is empty from the start. */
  readonly input?: string | Buffer | Readable;
  /** Where stdout goes: to a function, chunk by chunk, or into an open file. */
  readonly stdout: number | ((chunk: Buffer) => void);
  /** The same for stderr. One file for both keeps the order in which things were printed. */
  readonly stderr: number | ((chunk: Buffer) => void);
  /** stdout goes through this file to the function, for programs that lose their last words on a pipe. The chunk is reused after the call. */
  readonly throughFile?: string;
  /** It starts nothing and ends by itself, so nobody need watch over it: git with no settings but Ralph's own. */
  readonly isQuiet?: boolean;
}

/** Some failures to start are thrown and some come as an event; the thrown ones are a code here. */
export function spawnOwned(spec: SpawnSpec, onActivity: () => void) {
  const mark = nextMark();
  const onStdout = listener(spec.stdout, onActivity);
  const file = onStdout && spec.throughFile !== undefined ? createPrivate(spec.throughFile) : undefined;
  let child: ChildProcess;
  try {
    child = spawnInGroup(spec, mark, file);
  } catch (error) {
    // What was passed on to Ralph lies above what may be opened now, so it cannot be kept from the child.
    if (errorCode(error) === 'EINVAL' && inherited?.descriptors.length) throw tooManyFiles(spec.argv[0]);
    return { code: errorCode(error) ?? String(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
  if (wasNotMade(child)) {
    child.on('error', ignore);
    throw tooManyFiles(spec.argv[0]);
  }
  const { pid } = child;
  const left = spec.init ? readNumber(child.stdio[3] as Readable | null) : Promise.resolve(0);
  const follower =
    onStdout && spec.throughFile !== undefined ? followFile(spec.throughFile, onStdout) : undefined;
  if (onStdout) child.stdout?.on('data', onStdout);
  if (typeof spec.stderr === 'function') child.stderr?.on('data', spec.stderr);
  // A process that never reads its input is no error of ours.
  for (const stream of child.stdio) stream?.on('error', ignore);
  if (spec.input !== undefined) feed(child, spec.input);
  // Last: to start it takes longer than all of the above, and the child runs meanwhile.
  if (!spec.isQuiet) watchdog ??= startWatchdog(`${ownerName()}=`);
  if (pid !== undefined && !spec.isQuiet) watchdog?.watch(pid, spec.undo);
  return {
    child,
    /** `NAME=value` in the environment of it and of everything it starts. */
    mark,
    /** How many processes its init found left behind, once it has ended. */
    leftBehind: () => left,
    /** Reads what is still to come when the process and all it started have ended. */
    async finish(): Promise<void> {
      await follower?.end();
      await Promise.all([drained(child.stdout), drained(child.stderr)]);
      // Node keeps the pipes of a dead child for a while, and with them all that a listener holds.
      for (const pipe of [child.stdout, child.stderr]) pipe?.removeAllListeners('data');
      if (pid !== undefined) watchdog?.release(pid);
    },
  };
}

function feed({ stdin }: ChildProcess, input: string | Buffer | Readable): void {
  if (stdin && input instanceof Readable) input.pipe(stdin);
  else stdin?.end(input);
}

function ignore(): void {}

/** Where no further file can be opened, Node gives up half way: there are no streams, whatever the types say. */
function wasNotMade(child: ChildProcess): boolean {
  return (child as Partial<ChildProcess>).stdio === undefined;
}

/** No outcome of the command: nothing of ours works any more, and whoever drives the run has to end it. */
function tooManyFiles(path: string): Error {
  return Object.assign(new Error(`${path} cannot be started`), { code: 'EMFILE', path });
}

/** It distinguishes our processes from those of another Ralph, the number one child of ours from the next. */
export function ownerName(): string {
  owner ??= `${OWNER}${randomBytes(6).toString('hex')}`;
  return owner;
}

/** Whatever else a file names would end processes of others. */
export function isOwnerName(name: unknown): name is string {
  return typeof name === 'string' && OWNER_NAME.test(name);
}

/** Whether a Ralph, this one or another, has started whoever has this environment. */
export function hasMark(env: Readonly<Record<string, string | undefined>>): boolean {
  return Object.keys(env).some(name => name.startsWith(OWNER));
}

const OWNER = 'RALPH_OWNER_';
const OWNER_NAME = /^RALPH_OWNER_[0-9a-f]{12}$/;

let owner: string | undefined;
let marks = 0;
const nextMark = () => `${ownerName()}=${++marks}`;
let watchdog: Watchdog;

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
      ...(spec.init ? ['pipe' as const] : []),
      ...withoutInherited(spec.init ? FIRST + 1 : FIRST),
    ],
  });
}

/** The first descriptor that is none of the usual three. */
const FIRST = 3;
/** Node has the kernel close what it was started with up to here, and from there up to the first gap. */
const CLOSED = 15;

/**
 * Everything else that Ralph was started with would be passed on, such as the `exec 200>lock` of a script: through a file two commands could
 * talk that must not, and a folder leads around every wall. Node cannot have a child close them, so each leads nowhere there.
 */
function withoutInherited(from: number): readonly (number | 'ignore')[] {
  inherited ??= findInherited();
  const { descriptors, nowhere } = inherited;
  const length = Math.max(0, ...descriptors.map(each => each + 1 - from));
  return Array.from({ length }, (_, at) => (descriptors.includes(from + at) ? nowhere : 'ignore'));
}

let inherited: ReturnType<typeof findInherited> | undefined;

function findInherited() {
  const open = namesIn('/dev/fd').map(Number);
  const descriptors = open.filter(each => each > CLOSED && isPassedOn(each));
  return { descriptors, nowhere: descriptors.length > 0 ? openSync('/dev/null', 'r+') : -1 };
}

const CLOSE_ON_EXEC = 0o2000000;

function isPassedOn(descriptor: number): boolean {
  if (process.platform !== 'linux') return true; // it does not say
  const info = tryTo(() => readIfThere(`/proc/self/fdinfo/${descriptor}`));
  const flags = /^flags:\s*(\d+)/m.exec(info ?? '')?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
}

/** What an init says; it is the last to hold the other end. */
function readNumber(pipe: Readable | null): Promise<number> {
  let said = '';
  return new Promise(resolve => {
    pipe?.on('data', chunk => {
      said += chunk;
    });
    pipe?.once('close', () => resolve(Number.parseInt(said, 10) || 0));
    if (!pipe) resolve(0);
  });
}

/** How long a pipe that somebody else holds open may keep us after the process itself has ended. */
const DRAIN = 250;

/** Waits until everything printed has been read, but not for a stranger that holds the pipe open. */
export async function drained(pipe: Readable | null): Promise<void> {
  if (!pipe || pipe.closed) return;
  await new Promise<void>(resolve => {
    let isReading = false;
    const timer = setTimeout(() => {
      isReading = false;
      // Where we were held up ourselves the time is over before anything could be read: first look what is there.
      setImmediate(() => (isReading ? timer.refresh() : resolve()));
    }, DRAIN);
    // As long as data comes, the reader is only slower than the writer was.
    pipe.on('data', () => {
      isReading = true;
      timer.refresh();
    });
    pipe.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  pipe.destroy();
}

/**
 * Ends our children when we cannot: a small shell that waits on a pipe from us. When the pipe closes without
 * a goodbye, Ralph was killed, and the shell ends every process group on our list and every process that
 * carries our mark. The list is a file without a name that both have open: to tell the shell of every child
 * through the pipe would wake it up twice for each. One for the whole of a Ralph process.
 */

type Watchdog = ReturnType<typeof startWatchdog>;

const SCRIPT = `
mark=$1; groups=
while read -r word; do [ "$word" = bye ] && exit 0; done
while read -r pid undo; do
  [ "$pid" = end ] && break
  groups="$groups $pid"; /bin/sh -c "$undo" &
done <&3
end() {
  for group in $groups; do kill -s "$1" -- "-$group"; done
  for file in $(grep -l "$mark" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}; kill -s "$1" "\${pid%/environ}"
  done
} 2>/dev/null
end TERM; sleep 1; end KILL; wait
`;

/** `mark` is how an environment variable of ours begins. */
function startWatchdog(mark: string) {
  const list = createList();
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'ralph-watchdog', mark], {
    detached: true, // a Ctrl-C in the terminal must not reach it
    stdio: ['pipe', 'ignore', 'ignore', list.fd ?? 'ignore'],
    cwd: '/',
    env: { PATH: outsideEnv(process.env, process.cwd()).PATH },
  });
  keepQuiet(shell);
  process.once('exit', () => shell.stdin?.write('bye\n'));
  const groups = new Map<number, string>();
  return {
    /** From now on the process group `pid` is ours; `undo` is a command that ends what no signal reaches. */
    watch(pid: number, undo: readonly string[] = []): void {
      groups.set(pid, `${pid} ${joinWords(undo)}\n`);
      list.write([...groups.values()].join(''));
    },
    /** It has ended and its number may be given to somebody else. */
    release(pid: number): void {
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
      tryTo(() => writeSync(fd, `${lines}${END}`, 0)); // as above
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
