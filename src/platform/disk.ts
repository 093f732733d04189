/** When a file of ours cannot be written: a full disk, a read-only file system, rights that were taken away, too many open files. */
import { statfsSync } from 'node:fs';
import { errorCode, errorWords } from './error-words.ts';
import { tryTo } from './files.ts';

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

/** An error in words when it is of that kind; undefined for every other. */
export function diskTrouble(error: unknown): string | undefined {
  if (!CODES.has(errorCode(error)) || !(error instanceof Error)) return undefined;
  const path = 'path' in error && typeof error.path === 'string' ? `${error.path}: ` : '';
  return `${path}${errorWords(error)}`;
}
