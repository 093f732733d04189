/**
 * Puts the files of a work tree back to what they were in an earlier tree of the same run. Only what differs between the two is touched,
 * and what somebody has changed in between, while a move was cut off, is left as it is. Done again after that, it has the same result.
 */
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import type { OwnGit } from './own-git.ts';
import { type Blob, type ChangedPath, readAll, SUBMODULE } from './own-objects.ts';
import { isRalphs, shownPath } from './repository.ts';
import { hiddenInTheWay, isSame } from './take-over.ts';

/** Trees: of the files as they are, and as they will be. */
export interface WayBack {
  readonly aside: string;
  readonly tree: string;
}

/** `stays`: what is left as it is, by its path from the top. */
export async function planWayBack(
  own: OwnGit,
  to: string,
  stays: (path: string) => boolean = () => false,
): Promise<WayBack | Problem> {
  const now = await own.snapshot();
  if (isProblem(now)) return now;
  const changes = await own.changedPaths(now.tree, to);
  if (isProblem(changes)) return changes;
  const skipped = new Set(now.skipped.map(({ path }) => path));
  const wanted = changes.filter(
    ({ path, before, after }) =>
      !isRalphs(path, own.root) &&
      !stays(path) &&
      !skipped.has(path) &&
      before?.mode !== SUBMODULE &&
      after?.mode !== SUBMODULE,
  );
  const tree = await own.treeWith(now.tree, wanted);
  return isProblem(tree) ? tree : { aside: now.tree, tree };
}

/** A git that outlived the process which started it may still be on the same way. */
const TRIES = 3;

/** Returns what is different by then, or why the files are as they were. */
export async function moveBack(own: OwnGit, way: WayBack): Promise<readonly ChangedPath[] | Problem> {
  const changes = await own.changedPaths(way.aside, way.tree);
  if (isProblem(changes)) return changes;
  for (let tried = 1; ; tried++) {
    const failed = await moveOpen(own, way.aside, changes);
    if (!failed) return changes;
    if (tried < TRIES) continue;
    // A disk that was full in the middle: rather as they were than a mixture.
    const reversed = changes.map(({ before, after, ...path }) => ({ ...path, before: after, after: before }));
    await moveOpen(own, way.tree, reversed);
    return failed;
  }
}

/** Moves what is not there yet. */
async function moveOpen(
  own: OwnGit,
  from: string,
  changes: readonly ChangedPath[],
): Promise<Problem | undefined> {
  const now = await own.snapshot();
  const since = isProblem(now) ? now : await own.changedPaths(from, now.tree);
  if (isProblem(now)) return now;
  if (isProblem(since)) return since;
  const found = new Map(since.map(({ bytes, after }) => [bytes, after]));
  const open: ChangedPath[] = [];
  for (const change of changes) {
    const is = found.has(change.bytes) ? found.get(change.bytes) : change.before;
    if (isSame(is, change.after)) continue;
    if (isSame(is, change.before) || (await isCutOff(own, change, is))) open.push(change);
  }
  const hidden = hiddenInTheWay(own, open, new Map());
  if (hidden.length > 0) {
    const what = `${hidden.map(shownPath).join(', ')} is hidden from git and in the way`;
    return { where: own.top, what, fix: 'move it away' };
  }
  const after = await own.treeWith(now.tree, open);
  return isProblem(after) ? after : own.moveFiles(now.tree, after);
}

/** git removes a file before it writes it anew: what is gone, or a first part of the new one, is what it was cut off at. */
async function isCutOff(
  { top, objects }: OwnGit,
  { path, after }: ChangedPath,
  is: Blob | undefined,
): Promise<boolean> {
  if (!is) return true;
  const written = after && (await readAll(objects, ['cat-file', 'blob', after.oid]));
  const there = tryTo(() => contentOf(join(top, path)));
  return written !== undefined && there !== undefined && written.subarray(0, there.length).equals(there);
}

function contentOf(path: string): Buffer {
  return lstatSync(path).isSymbolicLink() ? Buffer.from(readlinkSync(path)) : readFileSync(path);
}

const SHOWN = 5;

/** What differs between two trees: a few files with the lines that were added and removed. */
export async function statWords(own: OwnGit, from: string, to: string): Promise<string> {
  const flags = ['-r', '-z', '--numstat', '--no-renames', '--no-ext-diff', '--no-textconv'];
  const listed = await own.objects.bytes(['diff-tree', ...flags, from, to]);
  if (listed.code !== 0) return '';
  const files = listed.records.flatMap(record => {
    const [, added = '', removed = '', name = ''] = /^(\d+|-)\t(\d+|-)\t(.+)$/s.exec(record) ?? [];
    const path = Buffer.from(name, 'latin1').toString('utf8');
    if (path === '' || isRalphs(path, own.root)) return [];
    return [`${shownPath(path)} (${added === '-' ? 'binary' : `+${added} -${removed}`})`];
  });
  const more = files.length > SHOWN ? ` and ${files.length - SHOWN} more` : '';
  return `${files.slice(0, SHOWN).join(', ')}${more}`;
}

/** Names a tree in Ralph's own git directory, so that it stays. Returns the commit. */
export async function keepAside(own: OwnGit, ref: string, tree: string): Promise<string | Problem> {
  const commit = await own.commit({ tree, parents: [], message: `Put aside: ${ref}` });
  if (isProblem(commit)) return commit;
  const { code, output } = await own.objects.run(['update-ref', '--no-deref', ref, commit]);
  return code === 0 ? commit : { where: ref, what: output.trim() };
}
