/** When a file of ours cannot be written: a full disk, a read-only file system, rights that were taken away, too many open files. */
import { errorCode, errorWords } from './error-words.ts';

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

/** An error in words when it is of that kind; undefined for every other. */
export function diskTrouble(error: unknown): string | undefined {
  if (!CODES.has(errorCode(error)) || !(error instanceof Error)) return undefined;
  const path = 'path' in error && typeof error.path === 'string' ? `${error.path}: ` : '';
  return `${path}${errorWords(error)}`;
}
