/** Makes room in a work tree without deleting anything and without ever following a link out of it. */
import { cpSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCode } from '../platform/error-words.ts';
import { ensureFolder } from '../platform/files.ts';

/**
 * The part of the path to a file that is not a folder, link or not; undefined when all are folders or missing.
 * `known` saves looking at the same folders for every file in them.
 */
export function blockedAt(
  top: string,
  path: string,
  known: Map<string, string | undefined> = new Map(),
): string | undefined {
  const folder = dirname(path);
  if (folder === '.') return undefined;
  if (!known.has(folder)) {
    const above = blockedAt(top, folder, known);
    known.set(folder, above ?? (isInTheWay(join(top, folder)) ? folder : undefined));
  }
  return known.get(folder);
}

function isInTheWay(path: string): boolean {
  const stat = lstat(path);
  return stat !== undefined && !stat.isDirectory();
}

/** Nothing is at `path` afterwards, and its folder is there, a real one. What was in the way is in `aside`. */
export function clearPath(top: string, path: string, aside: string): void {
  for (const folder of ancestors(path)) {
    const stat = lstat(join(top, folder));
    if (stat?.isDirectory()) continue;
    if (stat) moveAside(top, folder, aside);
    mkdirSync(join(top, folder));
  }
  if (lstat(join(top, path))) moveAside(top, path, aside);
}

/** What ends so is taken for a test by no runner: some look for tests in every folder, Ralph's own too. */
const SUFFIX = '.changed';

export function moveAside(top: string, path: string, aside: string): void {
  const from = join(top, path);
  const isFolder = lstat(from)?.isDirectory() === true;
  const to = freeName(join(aside, isFolder ? path : `${path}${SUFFIX}`));
  ensureFolder(dirname(to));
  try {
    renameSync(from, to);
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error;
    cpSync(from, to, { recursive: true, verbatimSymlinks: true, errorOnExist: true, force: false });
    rmSync(from, { recursive: true });
  }
  if (isFolder) markFiles(to);
}

/** Not those of a repository: there is no test among them, and without their names it is none. */
function markFiles(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) renameSync(path, freeName(`${path}${SUFFIX}`));
    else if (entry.name !== '.git') markFiles(path);
  }
}

/** `a/b/c` has the ancestors `a` and `a/b`, in this order. */
function ancestors(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function lstat(path: string) {
  return lstatSync(path, { throwIfNoEntry: false });
}

function freeName(path: string): string {
  let free = path;
  for (let number = 2; lstat(free); number++) free = `${path}~${number}`;
  return free;
}
