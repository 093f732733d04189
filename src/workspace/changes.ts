/** Which paths differ from a commit, what they were then and what they are now. */

import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { isProblem, type Problem } from '../domain/problem.ts';
import { tryTo } from '../platform/files.ts';
import type { ChangedPath } from './own-objects.ts';
import { isRalphs, LARGE, shownPath } from './repository.ts';
import type { TreeStatus } from './tree-status.ts';

export interface Changes {
  /** As git's `--index-info` takes them, a character for each byte: the paths as they were, and as they are. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** How many paths are in these. */
  readonly handed: number;
  /** What git is not asked to show, in a line each. */
  readonly remarks: readonly string[];
  /** How many paths were too many to look at. */
  readonly left: number;
}

export interface Since {
  readonly startRef: string;
  /** Globs of what is left out, from `cwd`. Ralph's own folder always is. */
  readonly exclude?: readonly string[];
}

/** Nobody is shown more than this, and looking for renames in it would take long. */
const MOST_PATHS = 2_000;
const MOST_BYTES = 32 * LARGE;

export async function findChanges(status: TreeStatus, since: Since): Promise<Changes | Problem> {
  const found = await changesSince(status, since.startRef, since.exclude);
  if (isProblem(found)) return found;
  const before: string[] = [];
  const after: string[] = [];
  const remarks: string[] = [...found.remarks];
  let bytes = 0;
  let looked = 0;
  for (const change of found.paths) {
    if (looked === MOST_PATHS || bytes > MOST_BYTES) break;
    looked++;
    const stat = statOf(status.own.top, change.path);
    const remark = remarkOn(change, stat);
    if (remark !== undefined) {
      remarks.push(remark);
      continue;
    }
    if (change.before) before.push(`${change.before.mode} ${change.before.oid}\t${change.bytes}`);
    if (change.after) after.push(`${change.after.mode} ${change.after.oid}\t${change.bytes}`);
    bytes += stat?.size ?? 0;
  }
  const handed = looked - (remarks.length - found.remarks.length);
  return { before, after, handed, remarks, left: found.paths.length - looked };
}

interface Found {
  readonly paths: readonly ChangedPath[];
  /** What differs and is not to be shown by git. */
  readonly remarks: readonly string[];
}

/** What differs from a commit, in this commit or in the files. */
export async function changesSince(
  status: TreeStatus,
  commit: string | undefined,
  exclude: readonly string[] = [],
): Promise<Found | Problem> {
  const { own } = status;
  const start = await own.treeOf(commit);
  if (isProblem(start)) return notCompared(commit, start);
  const listed = await own.changedPaths(start, status.tree, exclude);
  if (isProblem(listed)) return notCompared(commit, listed);
  const changed = listed.filter(({ path }) => !isRalphs(path));
  const links = changed.filter(({ before }) => before?.mode === SUBMODULE);
  const absent = own.absent();
  const missing = changed.filter(({ path, after }) => !after && absent.has(path));
  const now = links.length + missing.length > 0 ? await committedSince(status, start) : new Map();
  const isLink = (path: string) => links.some(link => `${link.path}/` === path);
  const remarks = [
    ...missing.flatMap(({ path }) =>
      now.get(path)?.after ? [`changed: ${shownPath(path)} (in a commit, not checked out here)`] : [],
    ),
    ...links.flatMap(({ path }) =>
      now.has(path) ? [`changed: ${shownPath(path)} (a submodule, at another commit)`] : [],
    ),
    ...status.nested
      .filter(path => !isLink(path))
      .map(path => `new: ${shownPath(path)} (a git repository of its own, not shown)`),
    ...status.skipped.map(({ path, isNew }) => {
      const size = statOf(own.top, path)?.size ?? 0;
      const why = size > LARGE ? `${size} bytes, too large to show` : 'it cannot be read';
      return `${isNew ? 'new' : 'changed'}: ${shownPath(path)} (${why})`;
    }),
  ];
  const shown = changed.filter(each => !links.includes(each) && !missing.includes(each));
  return { paths: shown.filter(each => !isSkipped(status, each)), remarks };
}

/** A file that is not kept is in the tree as it was, or not at all. */
function isSkipped({ skipped }: TreeStatus, { path }: ChangedPath): boolean {
  return skipped.some(each => each.path === path);
}

function notCompared(commit: string | undefined, { what }: Problem): Problem {
  return { where: commit ?? 'HEAD', what: `cannot be compared with HEAD: ${what}` };
}

async function committedSince({ own, head }: TreeStatus, start: string) {
  const tree = await own.treeOf(head);
  const changed = isProblem(tree) ? tree : await own.changedPaths(start, tree);
  return new Map(isProblem(changed) ? [] : changed.map(each => [each.path, each]));
}

/** Every path that a commit of all files would take, for people. */
export async function uncommittedPaths(status: TreeStatus): Promise<readonly string[] | Problem> {
  const found = await changesSince(status, status.head);
  if (isProblem(found)) return found;
  const odd = found.remarks.flatMap(remark => /^(?:new|changed): (.*) \([^(]*\)$/.exec(remark)?.[1] ?? []);
  // What git knows first, as it lists them itself.
  const known = found.paths.filter(({ before }) => before);
  const added = found.paths.filter(({ before }) => !before);
  return [...[...known, ...added].map(({ path }) => shownPath(path)), ...odd];
}

function statOf(top: string, path: string): Stats | undefined {
  // a folder on the way is a file now
  return tryTo(() => lstatSync(join(top, path), { throwIfNoEntry: false }));
}

/** The line for a path that git cannot show, or should not. */
function remarkOn({ path, before }: ChangedPath, stat: Stats | undefined): string | undefined {
  const shown = shownPath(path);
  if (path.includes('\ufffd')) return `changed: ${shown} (its name is not UTF-8)`;
  if (stat?.isFile() && stat.size > LARGE)
    return `${before ? 'changed' : 'new'}: ${shown} (${stat.size} bytes, too large to show)`;
  return undefined;
}

const SUBMODULE = '160000';
