/** Files, with the manners of a tool that must not lose anything: atomic writes, private modes, plain error words. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { errorCode } from './error-words.ts';

const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

/** Not mkdir's own `recursive`: that one never returns where a folder says that it cannot hold another, as /proc does. */
export function ensureFolder(path: string): void {
  if (isFolder(path)) return;
  if (dirname(path) !== path) ensureFolder(dirname(path));
  try {
    mkdirSync(path, { mode: PRIVATE_FOLDER });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' || !isFolder(path)) throw error;
  }
}

/** Nothing but a folder has a `.` in it. */
function isFolder(path: string): boolean {
  return existsSync(`${path}/.`);
}

/**
 * The new content is there whole or not at all: a file beside it is written, flushed and renamed over it. `folder` is for
 * that file, where one that a kill leaves behind would be taken for the user's.
 */
export function writeAtomic(
  path: string,
  content: string | Uint8Array,
  mode = PRIVATE_FILE,
  folder = dirname(path),
): void {
  replace(path, content, { mode, folder, flush: true });
}

/** The same for what is worth nothing after a power cut: it does not wait for the disk. A kill finds it whole or not at all. */
export function writeWhole(path: string, content: string | Uint8Array): void {
  replace(path, content, { mode: PRIVATE_FILE, folder: dirname(path), flush: false });
}

interface How {
  readonly mode: number;
  readonly folder: string;
  readonly flush: boolean;
}

function replace(path: string, content: string | Uint8Array, { mode, folder, flush }: How): void {
  const temporary = beside(join(folder, basename(path)));
  try {
    const fd = openSync(temporary, 'wx', mode);
    try {
      writeFileSync(fd, content); // all of it, however often it takes
      if (flush) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    removeQuietly(temporary);
    throw about(path, error);
  }
}

/**
 * Writes over a file that is there; false: there is none, and none is made. A link, or a file that has another name too, is replaced:
 * what it leads to is not ours. A folder in its place is moved aside.
 */
export function writeOver(path: string, content: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return false;
  if (found.isDirectory()) renameSync(path, `${beside(path)}.changed`);
  if (!found.isFile() || found.nlink > 1) {
    writeWhole(path, content);
    return true;
  }
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
  try {
    const bytes = Buffer.from(content);
    writeSync(fd, bytes, 0, bytes.length, 0);
    ftruncateSync(fd, bytes.length);
    return true;
  } finally {
    closeSync(fd);
  }
}

/** Holds this thread up: for a program that has nothing else to do. Milliseconds. */
export function waitAMoment(time: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, time);
}

/** What fails on an open file does not say which one it is. */
function about(path: string, error: unknown): unknown {
  return error instanceof Error && !('path' in error) ? Object.assign(error, { path }) : error;
}

/** Of a file its content, of a folder the names of new files: both survive a power cut only when they are flushed. Not every system can. */
export function syncToDisk(path: string): void {
  try {
    const fd = openSync(path, 'r');
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch {
    // then its names are as safe as the system makes them
  }
}

/** What it gives; undefined where it fails, for whatever reason. */
export function tryTo<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

/** For a new file that nothing depends on: no waiting for the disk. */
export function writePrivate(path: string, content: string): void {
  try {
    ensureFolder(dirname(path)); // an agent may have deleted it
    const fd = openOwn(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC);
    try {
      writeFileSync(fd, content);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    removeQuietly(path); // half of it is worse than none
    throw about(path, error);
  }
}

function removeQuietly(path: string): void {
  tryTo(() => rmSync(path, { force: true })); // a read-only file system: then nothing was written either
}

/** A second name for a file, replacing whatever had that name. Copies where links are not to be had; a file that is gone has none. */
export function linkOver(existing: string, path: string): void {
  if (!existsSync(existing)) return;
  ensureFolder(dirname(path));
  removeOdd(path);
  if (!existsSync(path) && isLinked(existing, path)) return;
  const temporary = beside(path);
  try {
    linkSync(existing, temporary);
    renameSync(temporary, path);
    if (existsSync(temporary)) rmSync(temporary); // rename leaves it when both already are the same file
  } catch {
    rmSync(temporary, { force: true });
    writeAtomic(path, readFileSync(existing, 'utf8'));
  }
}

function isLinked(existing: string, path: string): boolean {
  try {
    linkSync(existing, path);
    return true;
  } catch {
    return false; // somebody was faster, or links are not to be had
  }
}

let counter = 0;
function beside(path: string): string {
  return `${path}.${process.pid}-${counter++}.tmp`;
}

/**
 * Whoever put a link where a file of ours will be wants us to write to where it leads; at a named pipe we would wait for a reader. A folder is
 * moved aside.
 */
export function removeOdd(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isFile()) return false;
  if (found.isDirectory()) renameSync(path, `${beside(path)}.changed`);
  else rmSync(path);
  return true;
}

/** A file of ours where others write, too: what stands in its place is removed, and never waited for. */
export function openOwn(path: string, flags: number): number {
  removeOdd(path);
  const fd = openSync(path, flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0), PRIVATE_FILE);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw Object.assign(new Error(`${path} is no file`), { code: 'EINVAL', path });
}

export function createPrivate(path: string): number {
  ensureFolder(dirname(path));
  return openOwn(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND);
}

/** Behind what is in it. */
export function appendPrivate(path: string, text: string): void {
  const fd = createPrivate(path);
  try {
    writeFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
}

/** Bytes. */
const LONGEST = 64 * 1024 * 1024;

/** The text of a file; undefined when there is none. Any other trouble throws. */
export function readIfThere(path: string): string | undefined {
  try {
    // Looked for first: a failure that nobody asks about costs more than a look.
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) return undefined;
    // Whoever puts a pipe or a device in the place of a file has the reader wait for ever; a shell's own are elsewhere.
    if (!stat.isFile() && !stat.isDirectory() && !path.startsWith('/dev/'))
      throw new Error(`${path} is a named pipe or a device, and no file`);
    // To read what somebody has let grow takes all the time and memory there is.
    if (stat.size > LONGEST) throw new Error(`${path} is longer than any file that Ralph reads whole`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined;
    throw about(path, error);
  }
}

/** The names in a folder; none when there is no such folder. Any other trouble throws. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
    throw error;
  }
}

/** 0 where there is none, and of what is no file: a folder has a size, and nothing to read. */
export function fileSize(path: string): number {
  const stat = tryTo(() => statSync(path, { throwIfNoEntry: false })); // a link that leads to itself
  return stat?.isFile() ? stat.size : 0;
}

/** At most `bytes` of a file from `position` on, as text; nothing when there is no such file. */
export function readSlice(
  path: string,
  position: number,
  bytes: number,
  encoding: 'utf8' | 'latin1' = 'utf8',
): string {
  return readBytes(path, position, bytes).toString(encoding);
}

/** The same, as it is. */
export function readBytes(path: string, position: number, bytes: number): Buffer {
  if (fileSize(path) === 0) return Buffer.alloc(0);
  const fd = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(Math.max(0, Math.min(bytes, fileSize(path) - position)));
    return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, position));
  } finally {
    closeSync(fd);
  }
}

/** What is longer is read page by page. */
export const SHORT = 1024 * 1024;
let short: Buffer | undefined;

/** A file that is not long, all of it, and how many bytes that should be. Into the same memory each time: copy what you keep. */
export function readShort(path: string, size: number): Buffer {
  short ??= Buffer.allocUnsafeSlow(SHORT + 1);
  const fd = openSync(path, 'r');
  try {
    const bytes = readSync(fd, short, 0, size + 1, 0);
    return bytes === size ? short.subarray(0, size) : readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** A file of any size, page by page. The page is reused: copy what you keep. */
export function readPages(path: string, onPage: (page: Buffer) => void): void {
  const page = Buffer.allocUnsafeSlow(256 * 1024);
  const fd = openSync(path, 'r');
  try {
    for (let bytes = readSync(fd, page); bytes > 0; bytes = readSync(fd, page))
      onPage(page.subarray(0, bytes));
  } catch (error) {
    throw about(path, error);
  } finally {
    closeSync(fd);
  }
}

/** The beginning or the end of a file, and how much there is. Not through a link: it may lead anywhere. */
export function readPart(
  path: string,
  most: number,
  from: 'head' | 'tail' = 'head',
): { readonly text: string; readonly bytes: number } | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat?.isFile()) return undefined;
  const position = from === 'head' ? 0 : Math.max(0, stat.size - most);
  return { text: readSlice(path, position, most), bytes: stat.size };
}

/** By their names alone. A folder is below itself. */
export function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

/** By their real names; what is not there yet is where its parent is. */
export function isReallyBelow(path: string, folder: string): boolean {
  return isBelow(realName(path), realName(folder));
}

function realName(path: string): string {
  const real = tryTo(() => realpathSync(path));
  if (real !== undefined || dirname(path) === path) return real ?? path;
  return join(realName(dirname(path)), basename(path));
}
