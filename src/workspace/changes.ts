/** Which paths differ from a commit, and how each is summarized of. */

import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import type { OwnGit } from './own-git.ts';
import type { Snapshot } from './own-index.ts';
import { type ChangedPath, SUBMODULE } from './own-objects.ts';
import { isRalphs, LARGE, shownPath } from './repository.ts';
import type { TreeStatus } from './tree-status.ts';

export interface Sorted {
  /** What git can show. */
  readonly shown: readonly ChangedPath[];
  /** What it should not: in a line each. */
  readonly summarized: readonly SummarizedChange[];
  /** In the commit, and not meant to be here. */
  readonly missing: readonly ChangedPath[];
  readonly links: readonly ChangedPath[];
}

interface SummarizedChange {
  readonly change: ChangedPath;
  readonly line: string;
}

export type Look = Snapshot & { readonly own: OwnGit };

/** What differs between a tree and the files, by how it is summarized of. */
export function sortChanges({ own, skipped }: Look, listed: readonly ChangedPath[]): Sorted {
  const absent = own.absent();
  const isSkipped = new Set(skipped.map(({ path }) => path));
  const [shown, summarized, missing, links] = [[], [], [], []] as [
    ChangedPath[],
    SummarizedChange[],
    ChangedPath[],
    ChangedPath[],
  ];
  for (const change of listed) {
    const { path, before, after } = change;
    if (isRalphs(path, own.root)) continue;
    const line = remarkOn(change, statOf(own.top, path));
    if (before?.mode === SUBMODULE) links.push(change);
    else if (!after && absent.has(path)) missing.push(change);
    // A file that is not kept is in the tree as it was, or not at all.
    else if (isSkipped.has(path)) continue;
    else if (line !== undefined) summarized.push({ change, line });
    else shown.push(change);
  }
  return { shown, summarized, missing, links };
}

/** What git is not asked to show, in a line each. `start` is the tree that the files are compared with. */
export async function remarksOn(
  { own, nested, skipped }: Look,
  start: string,
  { summarized, missing, links }: Sorted,
): Promise<readonly string[]> {
  const now = links.length + missing.length > 0 ? await committedSince(own, start) : new Map();
  const isLink = (path: string) => links.some(link => `${link.path}/` === path);
  return [
    ...missing.flatMap(({ path }) =>
      now.get(path)?.after ? [`changed: ${shownPath(path)} (in a commit, not checked out here)`] : [],
    ),
    ...links.flatMap(({ path }) =>
      now.has(path) ? [`changed: ${shownPath(path)} (a submodule, at another commit)`] : [],
    ),
    ...nested
      .filter(path => !isLink(path))
      .map(path => `new: ${shownPath(path)} (a git repository of its own, not shown)`),
    ...skipped.map(({ path, isNew }) => {
      const size = statOf(own.top, path)?.size ?? 0;
      const why = size > LARGE ? `${size} bytes, too large to show` : 'it cannot be read';
      return `${isNew ? 'new' : 'changed'}: ${shownPath(path)} (${why})`;
    }),
    ...summarized.map(({ line }) => line),
  ];
}

export function notCompared(commit: string | undefined, { what }: Problem): Problem {
  return { where: commit ?? 'HEAD', what: `cannot be compared with HEAD: ${what}` };
}

async function committedSince(own: OwnGit, start: string) {
  const tree = await own.treeOf((await own.head()).commit);
  const changed = isProblem(tree) ? tree : await own.changedPaths(start, tree);
  return new Map(isProblem(changed) ? [] : changed.map(each => [each.path, each]));
}

/** Every path that a commit of all files would take, for people. */
export async function uncommittedPaths(status: TreeStatus): Promise<readonly string[] | Problem> {
  const { own, head } = status;
  const start = await own.treeOf(head);
  if (isProblem(start)) return notCompared(head, start);
  const listed = await own.changedPaths(start, status.tree);
  if (isProblem(listed)) return notCompared(head, listed);
  const sorted = sortChanges(status, listed);
  const remarks = await remarksOn(status, start, { ...sorted, summarized: [] });
  const odd = remarks.flatMap(remark => /^(?:new|changed): (.*) \([^(]*\)$/.exec(remark)?.[1] ?? []);
  const paths = [...sorted.shown, ...sorted.summarized.map(({ change }) => change)];
  // What git knows first, as it lists them itself.
  const known = paths.filter(({ before }) => before);
  const added = paths.filter(({ before }) => !before);
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
