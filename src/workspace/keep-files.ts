/**
 * Files as they are now, kept so that they can be compared and put back later: byte for byte, with their modes, and links as links. Not as
 * objects of the repository: an agent can delete those or have git collect them, and putting an object back would run it through the user's
 * filters.
 */
import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fdatasyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { timesTell } from '../platform/disk.ts';
import { fileSize, readShort, tryTo, writeWhole } from '../platform/files.ts';
import { hashOfFile, sha256 } from '../platform/hash.ts';
import { keepContent, keepCopy, LARGE, type Pack, type Packed, readKept } from '../store/kept.ts';

export interface KeptFile {
  readonly kind: 'file' | 'link';
  /** Permission bits; of no meaning for a link. */
  readonly mode: number;
  /** Of its content; for a link: of where it points to. */
  readonly sha256: string;
  /** Where its content is; absent: under its hash. */
  readonly packed?: Packed;
}

export type Difference =
  | { readonly kind: 'added' | 'deleted' | 'content' }
  | { readonly kind: 'replaced'; readonly by: 'a symbolic link' | 'a folder' | 'a file' | 'a device' }
  | { readonly kind: 'mode'; readonly from: number; readonly to: number };

/** Milliseconds. A change that follows another so closely may leave no trace in the times of a file, if they are of whole seconds. */
const CLOSE = 2_000;
/** The same where they are finer: the kernel's clock for them ticks at least every ten milliseconds. */
const CLOSE_IF_FINE = 100;

/** Whether a further change would show in the times of what was last changed then. */
export function isSteady(changedMs: number, now = Date.now()): boolean {
  return now - changedMs > (changedMs % 1000 === 0 ? CLOSE : CLOSE_IF_FINE);
}

export type FileKeeper = ReturnType<typeof createFileKeeper>;

/** `folder`: where the contents are; it is created when it is needed. */
export function createFileKeeper(folder: string, now: () => number = Date.now) {
  /** What lstat said of each before its content was last found to be the kept one. */
  const seen = new Map<KeptFile, Look>();
  const remember = (kept: KeptFile, look: Look, path: string) => {
    if (isSteady(look.ctimeMs, now()) && timesTell(path, look.dev)) seen.set(kept, look);
  };
  return {
    /** undefined when there is no file or link at this path. */
    keep(path: string, pack?: Pack): KeptFile | undefined {
      const look = lookAt(path);
      if (look && isLink(look))
        return { kind: 'link', mode: 0, sha256: keepContent(folder, targetOf(path), writeWhole) };
      if (!look || !isFile(look)) return undefined;
      const kept = { kind: 'file', mode: bitsOf(look), ...keepFile(folder, path, look.size, pack) } as const;
      remember(kept, noteOf(look), path);
      return kept;
    },
    /** Whether nobody has touched the file since it was found to be the kept one. */
    isUntouched(kept: KeptFile, look: Look | undefined): boolean {
      const before = seen.get(kept);
      return before !== undefined && look !== undefined && isSameLook(before, look);
    },
    /** What is different now from what was kept; undefined when nothing is. */
    difference(kept: KeptFile, path: string, look = lookAt(path)): Difference | undefined {
      if (!look) return { kind: 'deleted' };
      if (isLink(look) !== (kept.kind === 'link') || !(isFile(look) || isLink(look)))
        return { kind: 'replaced', by: kindOf(look) };
      if (this.isUntouched(kept, look)) return undefined;
      // Not read: a file can be longer than anybody has time for, and hold nothing.
      if (isFile(look) && look.size !== sizeOf(folder, kept)) return { kind: 'content' };
      // What cannot be read any more is another.
      const hash = tryTo(() => (isFile(look) ? hashOfFile(path, look.size) : sha256(targetOf(path))));
      if (hash !== kept.sha256) return { kind: 'content' };
      if (kept.kind === 'link') return undefined;
      if (bitsOf(look) !== kept.mode) return { kind: 'mode', from: kept.mode, to: bitsOf(look) };
      remember(kept, look, path);
      return undefined;
    },
    /** Makes a file where nothing is. Its folder must be there. */
    restore: (kept: KeptFile, path: string) => restore(folder, kept, path),
  };
}

export function statOf(path: string): BigIntStats | undefined {
  // a folder on the way is a file
  return tryTo(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
}

/**
 * What lstat says of a file, in numbers: with every nanosecond it takes twice as long. A quarter of a microsecond is lost of the time of
 * change, and is of use to nobody: that is the time of the last change, so all that is done between two looks would have to fit into it.
 */
export type Look = Readonly<Pick<Stats, 'dev' | 'ino' | 'size' | 'mode' | 'mtimeMs' | 'ctimeMs'>>;

export function lookAt(path: string): Look | undefined {
  try {
    return lstatSync(path, NOTHING_THERE);
  } catch {
    return undefined; // a folder on the way is a file
  }
}

/** Who has a file in memory and has written to it writes more without a new time, until the system has it on the disk. */
export function writeOut(path: string): void {
  tryTo(() => {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      fdatasyncSync(fd);
    } finally {
      closeSync(fd);
    }
  });
}

const NOTHING_THERE = { throwIfNoEntry: false } as const;

/** Without all else that lstat says: for many files that is a lot. */
export function noteOf({ dev, ino, size, mode, mtimeMs, ctimeMs }: Look): Look {
  return { dev, ino, size, mode, mtimeMs, ctimeMs };
}

/** Nobody but the system sets a file's ctime: when all this is the same, so is the content, where the times tell. */
export function isSameLook(one: Look, other: Look): boolean {
  return (
    one.ctimeMs === other.ctimeMs &&
    one.mtimeMs === other.mtimeMs &&
    one.ino === other.ino &&
    one.size === other.size &&
    one.mode === other.mode &&
    one.dev === other.dev
  );
}

function keepFile(folder: string, path: string, size: number, pack: Pack | undefined) {
  if (!pack || size > LARGE) return { sha256: keepCopy(folder, path) };
  const content = readShort(path, size);
  return { sha256: sha256(content), packed: pack.add(content) };
}

/** Nobody else writes to what is kept. */
function sizeOf(folder: string, { sha256: hash, packed }: KeptFile): number {
  return packed?.size ?? fileSize(join(folder, hash));
}

const targetOf = (path: string) => readlinkSync(path, { encoding: 'buffer' });
const bitsOf = ({ mode }: Look) => mode & 0o7777;
const { S_IFMT, S_IFREG, S_IFLNK, S_IFDIR } = constants;
const isFile = ({ mode }: Look) => (mode & S_IFMT) === S_IFREG;
const isLink = ({ mode }: Look) => (mode & S_IFMT) === S_IFLNK;

function fingerprint({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mode} ${mtimeNs} ${ctimeNs}`;
}

/** Another after every write to it; '': there is nothing. */
export function markOf(path: string): string {
  return markFrom(statOf(path));
}

export function markFrom(stat: BigIntStats | undefined): string {
  return stat ? fingerprint(stat) : '';
}

function kindOf(look: Look) {
  if (isLink(look)) return 'a symbolic link';
  const isFolder = (look.mode & S_IFMT) === S_IFDIR;
  return isFolder ? 'a folder' : isFile(look) ? 'a file' : 'a device';
}

/** Where a file is created before it gets its name: what a process that died in the middle may have left. */
export function temporaryName(path: string, pid: number): string {
  return `${path}.ralph-${pid}`;
}

/** Beside it first and then renamed, so that a second name of the old file is not written through. */
function restore(folder: string, { kind, mode, sha256: hash, packed }: KeptFile, path: string): void {
  const temporary = temporaryName(path, process.pid);
  rmSync(temporary, { force: true });
  if (kind === 'link') {
    const target = readKept(folder, hash);
    if (!target) throw new Error(CHANGED);
    symlinkSync(target, temporary);
  } else if (packed) {
    const content = readKept(folder, hash, packed);
    if (!content) throw new Error(CHANGED);
    writeFileSync(temporary, content, { flag: 'wx' });
    chmodSync(temporary, mode);
  } else {
    // With the time of now, and not the old one: a build must see that the file is another than a moment ago.
    copyFileSync(join(folder, hash), temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    if (hashOfFile(temporary) !== hash) {
      rmSync(temporary);
      throw new Error(CHANGED);
    }
    chmodSync(temporary, mode);
  }
  renameSync(temporary, path);
}

const CHANGED = 'the kept copy has been changed';

/** Kept files by their path from the top of the work tree, and whatever belongs to them. */
export type KeptList<More = object> = More & { readonly kept: ReadonlyMap<string, KeptFile> };

/**
 * Writes down what was kept, since memory does not survive a crash: a resumed run must compare with its own start, not with what the agent
 * has left. Returns the hash that the ledger has of it.
 */
export function keepList<More>(folder: string, { kept, ...more }: KeptList<More>): string {
  return keepContent(folder, JSON.stringify({ ...more, process: process.pid, kept: [...kept] }));
}

/** As it was written, the content of every file in it checked. `process` is who wrote it. */
export function readList<More>(
  folder: string,
  hash: string,
): KeptList<More & { readonly process: number }> | Problem {
  const text = readKept(folder, hash)?.toString('utf8');
  const list = text === undefined ? undefined : JSON.parse(text);
  const kept = new Map<string, KeptFile>(list?.kept);
  const isWhole = [...kept.values()].every(({ sha256: hash, packed }) =>
    packed
      ? readKept(folder, hash, packed) !== undefined
      : tryTo(() => hashOfFile(join(folder, hash))) === hash,
  );
  return list && isWhole ? { ...list, kept } : changed(folder);
}

function changed(where: string): Problem {
  return {
    where,
    what: 'the protected files that were kept at the start of the run are not what they were',
    fix: 'look at them with `git status` and start a new run',
  };
}
