/**
 * Files as they are now, kept so that they can be compared and put back later.
 *
 * What is kept is in the memory of this process, and what is too large for that in a folder of its own, a temporary
 * one where none is given, checked by its hash before it is used. Not as objects of the repository: an agent can delete those or have git
 * collect them, and putting an object back would run it through the user's filters.
 */
import { randomBytes } from 'node:crypto';
import {
  type BigIntStats,
  chmodSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder, readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { hashOfFile, sha256 } from '../platform/hash.ts';
import type { SavedRules } from './protected-files.ts';

export interface SavedFile {
  readonly kind: 'file' | 'link';
  /** Permission bits; of no meaning for a link. */
  readonly mode: number;
  readonly content: Content;
}

/** For a link: where it points to. */
export type Content = { readonly bytes: Buffer } | { readonly copy: string; readonly sha256: string };

export type FileStore = ReturnType<typeof createFileStore>;

export type Difference =
  | { readonly kind: 'deleted' | 'content' }
  | { readonly kind: 'replaced'; readonly by: 'a symbolic link' | 'a folder' | 'a file' | 'a device' }
  | { readonly kind: 'mode'; readonly from: number; readonly to: number };

const MOST_IN_MEMORY = 64 * 1024 * 1024;
const LARGE = 1024 * 1024;
/** Milliseconds. A change that follows another so closely may leave no trace in the times of a file. */
const CLOSE = 2_000;

/** A `place` stays when the store is closed; it is created when it is needed. */
export function createFileStore(now: () => number = Date.now, place?: string) {
  let folder: string | undefined;
  let inMemory = 0;
  const series = randomBytes(4).toString('hex');
  let copies = 0;
  /** What lstat said of a path when its content was last known to be the kept one. */
  const seen = new Map<string, string>();
  const remember = (path: string, stat: BigIntStats) => {
    if (now() - Number(stat.ctimeMs) > CLOSE) seen.set(path, fingerprint(stat));
  };

  const content = (path: string, size: number): Content => {
    if (size <= LARGE && inMemory + size <= MOST_IN_MEMORY) {
      inMemory += size;
      return { bytes: readFileSync(path) };
    }
    folder ??= place ?? mkdtempSync(join(tmpdir(), 'ralph-kept-'));
    ensureFolder(folder);
    const copy = join(folder, `${series}-${copies++}`);
    copyFileSync(path, copy, constants.COPYFILE_FICLONE);
    return { copy, sha256: hashOfFile(copy) };
  };

  return {
    /** undefined when there is no file or link at this path. */
    keep(path: string): SavedFile | undefined {
      const stat = statOf(path);
      if (stat?.isSymbolicLink()) return { kind: 'link', mode: 0, content: { bytes: targetOf(path) } };
      if (!stat?.isFile()) return undefined;
      remember(path, stat);
      return { kind: 'file', mode: bitsOf(stat), content: content(path, Number(stat.size)) };
    },
    /** What is different now from what was kept; undefined when nothing is. */
    difference(kept: SavedFile, path: string): Difference | undefined {
      const stat = statOf(path);
      if (!stat) return { kind: 'deleted' };
      if (stat.isSymbolicLink() !== (kept.kind === 'link') || !(stat.isFile() || stat.isSymbolicLink()))
        return { kind: 'replaced', by: kindOf(stat) };
      if (stat.isFile() && seen.get(path) === fingerprint(stat)) return undefined;
      if (!isSame(kept, path, stat)) return { kind: 'content' };
      if (kept.kind === 'link') return undefined;
      if (bitsOf(stat) !== kept.mode) return { kind: 'mode', from: kept.mode, to: bitsOf(stat) };
      remember(path, stat);
      return undefined;
    },
    /** Makes a file where nothing is. Its folder must be there. */
    restoreFile,
    close(): void {
      if (folder !== undefined && folder !== place) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function statOf(path: string): BigIntStats | undefined {
  // a folder on the way is a file
  return tryTo(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
}

const targetOf = (path: string) => readlinkSync(path, { encoding: 'buffer' });
const bitsOf = (stat: BigIntStats) => Number(stat.mode) & 0o7777;

/** Nobody but the system sets a file's ctime: when all this is the same, so is the content. */
function fingerprint({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mode, mtimeNs, ctimeNs].join(' ');
}

/** Another after every write to it; '': there is nothing. */
export function markOf(path: string): string {
  const stat = statOf(path);
  return stat ? fingerprint(stat) : '';
}

function kindOf(stat: BigIntStats) {
  if (stat.isSymbolicLink()) return 'a symbolic link';
  return stat.isDirectory() ? 'a folder' : stat.isFile() ? 'a file' : 'a device';
}

function isSame({ kind, content }: SavedFile, path: string, stat: BigIntStats): boolean {
  try {
    if (kind === 'link') return 'bytes' in content && content.bytes.equals(targetOf(path));
    if (!('bytes' in content)) return content.sha256 === hashOfFile(path);
    return BigInt(content.bytes.length) === stat.size && content.bytes.equals(readFileSync(path));
  } catch {
    return false; // it cannot be read any more
  }
}

/** Where a file is created before it gets its name: what a process that died in the middle may have left. */
export function temporaryName(path: string, pid: number): string {
  return `${path}.ralph-${pid}`;
}

/** Beside it first and then renamed, so that a second name of the old file is not written through. */
function restoreFile({ kind, mode, content }: SavedFile, path: string): void {
  const temporary = temporaryName(path, process.pid);
  rmSync(temporary, { force: true });
  if (kind === 'link' && 'bytes' in content) symlinkSync(content.bytes, temporary);
  else {
    // With the time of now, and not the old one: a build must see that the file is another than a moment ago.
    if ('bytes' in content) writeFileSync(temporary, content.bytes, { flag: 'wx', mode });
    else copyChecked(content, temporary);
    chmodSync(temporary, mode);
  }
  renameSync(temporary, path);
}

function copyChecked({ copy, sha256 }: { readonly copy: string; readonly sha256: string }, to: string): void {
  copyFileSync(copy, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  if (hashOfFile(to) === sha256) return;
  rmSync(to);
  throw new Error('the kept copy has been changed');
}

/**
 * The protected files as they were at the start of a run, on disk: what is in memory does not survive a crash, and a
 * resumed run must compare with its own start, not with what the agent has left.
 *
 * Two files, an index and the contents behind each other; large files have a copy each. The ledger holds the hash of
 * the index, which is its name, and the index the hash of every content, so a snapshot that was changed since is not taken for the real one.
 */

export interface Snapshot {
  /** By path from the top of the work tree. */
  readonly kept: ReadonlyMap<string, SavedFile>;
  /** What fitted the globs, ignored files too; only where new files are forbidden. */
  readonly before?: readonly string[];
  readonly rules?: SavedRules;
}

interface Index {
  readonly process: number;
  readonly files: readonly Row[];
  readonly before?: readonly string[];
  readonly rules?: SavedRules;
}

type Row = { readonly path: string; readonly kind: SavedFile['kind']; readonly mode: number } & (
  | { readonly at: number; readonly bytes: number; readonly sha256: string }
  | { readonly copy: string; readonly sha256: string }
);

/** Returns the name under which it can be asked for again: a hash. */
export function saveSnapshot(folder: string, { kept, before, rules }: Snapshot): string {
  ensureFolder(folder);
  const contents: Buffer[] = [];
  let at = 0;
  const files = [...kept].map(([path, { kind, mode, content }]): Row => {
    if (!('bytes' in content))
      return { path, kind, mode, copy: basename(content.copy), sha256: content.sha256 };
    const row = { path, kind, mode, at, bytes: content.bytes.length, sha256: sha256(content.bytes) };
    contents.push(content.bytes);
    at += content.bytes.length;
    return row;
  });
  const index: Index = { process: process.pid, files, ...(before && { before }), ...(rules && { rules }) };
  const text = JSON.stringify(index);
  const name = sha256(text);
  writeFileSync(contentsOf(folder, name), Buffer.concat(contents), { mode: 0o600 });
  writeAtomic(indexOf(folder, name), text);
  return name;
}

const indexOf = (folder: string, name: string) => join(folder, `${name}.json`);
const contentsOf = (folder: string, name: string) => join(folder, `${name}.contents`);

/** As it was saved, every byte of it checked. `process` is who saved it. */
export function loadSnapshot(
  folder: string,
  name: string,
): (Snapshot & { readonly process: number }) | Problem {
  try {
    const text = readIfThere(indexOf(folder, name));
    if (text === undefined || sha256(text) !== name) return changed(folder);
    const { files, ...rest } = JSON.parse(text) as Index;
    const contents = readFileSync(contentsOf(folder, name));
    const kept = new Map<string, SavedFile>();
    for (const row of files) {
      const content = contentOf(row, folder, contents);
      if (!content) return changed(folder);
      kept.set(row.path, { kind: row.kind, mode: row.mode, content });
    }
    return { ...rest, kept };
  } catch (error) {
    return { where: folder, what: `the protected files that were kept cannot be read: ${errorWords(error)}` };
  }
}

function contentOf(row: Row, folder: string, contents: Buffer): Content | undefined {
  if ('copy' in row) {
    const copy = join(folder, basename(row.copy));
    return hashOfFile(copy) === row.sha256 ? { copy, sha256: row.sha256 } : undefined;
  }
  const bytes = Buffer.from(contents.subarray(row.at, row.at + row.bytes));
  return sha256(bytes) === row.sha256 ? { bytes } : undefined;
}

function changed(where: string): Problem {
  return {
    where,
    what: 'the protected files that were kept at the start of the run are not what they were',
    fix: 'look at them with `git status` and start a new run',
  };
}
