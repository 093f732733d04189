/** What a disk can do: when a file of ours cannot be written (it is full, read-only, out of rights or of files), and what its times say. */
import { existsSync, readFileSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { errorCode, errorWords } from './error-words.ts';
import { isBelow, tryTo } from './files.ts';

/** Holds the first trouble that is reported. Whoever runs things listens to `signal` and ends them. */
export interface Disk {
  readonly signal: AbortSignal;
  trouble(): string | undefined;
  /** `what` names the file and says what is wrong with it. */
  failed(what: string): void;
}

export function createDisk(): Disk {
  const given = new AbortController();
  let first: string | undefined;
  return {
    signal: given.signal,
    trouble: () => first,
    failed(what) {
      if (first !== undefined) return;
      first = what;
      given.abort();
    },
  };
}

const CODES: ReadonlySet<string | undefined> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EACCES',
  'EPERM',
  'EIO',
  'EFBIG',
  'EMFILE',
  'ENFILE',
]);

const NO_ROOM = /the disk is full|the disk quota is exceeded|No space left on device|Disk quota exceeded/;
/** Bytes: what failed has given back what it had. */
const LEAST_ROOM = 1024 * 1024;

/** Whether these words, of ours or of a program, say that there is no room, or where they do not, one of these folders has none. */
export function isFull(words: string, ...folders: readonly string[]): boolean {
  return NO_ROOM.test(words) || folders.some(folder => roomIn(folder) < LEAST_ROOM);
}

function roomIn(folder: string): number {
  const { bavail, bsize } = tryTo(() => statfsSync(folder)) ?? { bavail: 1, bsize: LEAST_ROOM };
  return bavail * bsize;
}

/** ext2 to ext4, XFS and Btrfs, by the numbers of the kernel: on these it was tried. */
const TELLING: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e]);
const OVERLAY = 0x794c7630;

/**
 * Whether every write to what is on the disk of this path changes times that nobody can set. In memory one through a mapping that was read from
 * first changes none of them; of other disks nobody knows. `device`: what lstat says of it, where that is known, so that the system is asked once
 * for each.
 */
export function timesTell(path: string, device = tryTo(() => statSync(path).dev)): boolean {
  if (process.platform !== 'linux') return true;
  const known = device === undefined ? undefined : telling.get(device);
  if (known !== undefined) return known;
  const type = tryTo(() => statfsSync(path).type) ?? 0;
  const tells = type === OVERLAY ? upperTells(path) : TELLING.has(type);
  if (device !== undefined) telling.set(device, tells);
  return tells;
}

/** An overlay has the times of the folder that is written to. In a container nobody sees that; it is on a disk then, as a rule. */
function upperTells(path: string): boolean {
  const mounts = (tryTo(() => readFileSync('/proc/self/mountinfo', 'utf8')) ?? '')
    .split('\n')
    .filter(Boolean);
  const place = tryTo(() => realpathSync(path)) ?? path;
  let [last, upper] = ['', undefined as string | undefined];
  for (const mount of mounts) {
    const at = unescaped(mount.split(' ')[4] ?? '');
    if (at.length < last.length || !isBelow(place, at)) continue;
    [last, upper] = [at, /[ ,]upperdir=([^ ,]*)/.exec(mount)?.[1]];
  }
  return upper === undefined || !existsSync(unescaped(upper)) || timesTell(unescaped(upper));
}

const unescaped = (word: string) =>
  word.replace(/\\([0-7]{3})/g, (_, sign: string) => String.fromCharCode(Number.parseInt(sign, 8)));

const telling = new Map<number, boolean>();

/** An error in words when it is of that kind; undefined for every other. */
export function diskTrouble(error: unknown): string | undefined {
  if (!CODES.has(errorCode(error)) || !(error instanceof Error)) return undefined;
  const path = 'path' in error && typeof error.path === 'string' ? `${error.path}: ` : '';
  return `${path}${errorWords(error)}`;
}
