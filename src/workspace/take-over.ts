/**
 * Moves a branch of the user's to a commit of Ralph's, and where it is checked out its files and its index with it. Nothing of the
 * repository runs. What the user has changed, staged or added beside it stays byte for byte; where both have changed a file, nothing is moved.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { deliver } from './commit-in-repository.ts';
import type { OwnGit } from './own-git.ts';
import { type Blob, type ChangedPath, readEntries, SUBMODULE } from './own-objects.ts';
import { isRalphs, shownPath } from './repository.ts';
import { blockedAt } from './set-aside.ts';
import { foldersOf } from './tree-with.ts';
import { alignIndex, type IndexOwner, readStaged } from './user-index.ts';

export interface Move {
  readonly branch: string;
  /** The commit that it stands on before. */
  readonly base: string;
  readonly tip: string;
  /** It is there; absent: it may have to be made. */
  readonly isThere?: true | undefined;
  /** Paths, a character for each byte, whose files may hold more than the commit: that is the user's own and stays where it is. */
  readonly shared?: ReadonlySet<string>;
}

/** Somebody else was there first, or keeps it from being moved. */
export interface Moved extends Problem {
  /** undefined: it is gone. */
  readonly now: string | undefined;
}

/** Done again after it was cut off, it has the same result. */
export async function moveBranch(
  own: OwnGit,
  move: Move,
  owner: IndexOwner,
): Promise<Moved | Problem | undefined> {
  const { branch, base, tip } = move;
  const { git } = own.repository;
  const ref = `refs/heads/${branch}`;
  const where = `branch ${branch}`;
  const now = await git.run(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  const at = now.code === 0 ? now.stdout.trim() : undefined;
  const other = await git.run(['symbolic-ref', '--quiet', ref]);
  if (other.code === 0)
    return { where, what: `it is another name for ${other.stdout.trim()} now, so it is left alone`, now: at };
  const isOut = (await own.head()).branch === branch;
  // It may have been cut off between the branch and the index.
  if (at === tip) return isOut ? alignWith(own, base, tip, owner) : undefined;
  if (at === undefined && move.isThere)
    return { where, what: 'it was deleted or renamed since the run began', now: at };
  if (at !== undefined && at !== base) {
    const { code } = await git.run(['merge-base', '--is-ancestor', tip, at]);
    if (code === 0) return undefined; // somebody has merged it
    return { where, what: 'it has moved since the run began, so it is left alone', now: at };
  }
  const elsewhere = isOut ? undefined : await checkedOutAt(git, ref);
  if (elsewhere !== undefined) return { where, what: `it is checked out in another worktree, ${elsewhere}` };
  const files = isOut ? await planFiles(own, base, move) : undefined;
  if (isProblem(files)) return files;
  const failed = (await deliver(own, tip, base)) ?? (files && (await own.moveFiles(files.now, files.after)));
  if (failed) return failed;
  const words = ['update-ref', '-m', 'ralph: landed', ref, tip, at ?? '0'.repeat(tip.length)];
  const unmoved = await git.order(words, where);
  if (unmoved) return { ...unmoved, now: at };
  return isOut ? alignWith(own, base, tip, owner) : undefined;
}

/** From the branch that is checked out to another one, with the files of `move.tip`; `files`: the commit that those of now are of. */
export async function switchBranch(
  own: OwnGit,
  move: Omit<Move, 'base'> & { readonly files: string },
  owner: IndexOwner,
): Promise<Problem | undefined> {
  const { branch, tip } = move;
  const { commit = tip } = await own.head();
  const files = await planFiles(own, move.files, move);
  if (isProblem(files)) return files;
  const failed = await own.moveFiles(files.now, files.after);
  if (failed) return failed;
  const ref = `refs/heads/${branch}`;
  const words = ['symbolic-ref', '-m', `ralph: to ${branch}`, 'HEAD', ref];
  return (await own.repository.git.order(words, own.top)) ?? alignWith(own, commit, tip, owner);
}

async function alignWith(
  own: OwnGit,
  base: string,
  tip: string,
  owner: IndexOwner,
): Promise<Problem | undefined> {
  const before = await own.treeOf(base);
  if (isProblem(before)) return before;
  const changes = await own.changedPaths(before, `${tip}^{tree}`);
  if (isProblem(changes)) return changes;
  await alignIndex(own, { commit: tip, parent: base, before, changes }, owner);
  return undefined;
}

interface Files {
  /** Trees: of the files as they are, and as they will be. */
  readonly now: string;
  readonly after: string;
}

/** The files of `from` become those of the tip, and everything else stays; refused where somebody has changed what would be written. */
export async function planFiles(
  own: OwnGit,
  from: string,
  { tip, shared }: Pick<Move, 'tip' | 'shared'>,
): Promise<Files | Problem> {
  const before = await own.treeOf(from);
  if (isProblem(before)) return before;
  const [changes, snapshot] = [await own.changedPaths(before, `${tip}^{tree}`), await own.snapshot()];
  if (isProblem(changes)) return changes;
  if (isProblem(snapshot)) return snapshot;
  const unfit = changes.find(({ path, ...change }) => isRalphs(path, own.root) || isSubmodule(change));
  if (unfit) return unfitFor(own, unfit);
  const dirty = await own.changedPaths(before, snapshot.tree);
  const committed = await own.treeOf((await own.head()).commit);
  const staged = isProblem(committed) ? committed : await readStaged(own, committed);
  if (isProblem(dirty)) return dirty;
  if (isProblem(staged)) return staged;
  const yours = new Map(
    dirty
      .filter(({ path, ...change }) => !isRalphs(path, own.root) && !isSubmodule(change))
      .map(each => [each.bytes, each.after]),
  );
  const inIndex = new Map(readEntries(staged.entries).map(({ bytes, after }) => [bytes, after]));
  const seen = inTheWayOf(changes, yours);
  const inTheWay = seen.length > 0 ? seen : hiddenInTheWay(own, changes, yours);
  const wanted: ChangedPath[] = [];
  for (const change of changes) {
    const { bytes, path } = change;
    const now = yours.has(bytes) ? yours.get(bytes) : change.before;
    const isFree = (blob: Blob | undefined) => isSame(blob, change.before) || isSame(blob, change.after);
    const isStaged = inIndex.has(bytes) && !isFree(inIndex.get(bytes));
    if (shared?.has(bytes)) {
      if (isSame(now, change.before)) wanted.push(change);
    } else if (isStaged || !isFree(now)) inTheWay.push(path);
    else wanted.push(change);
  }
  if (inTheWay.length > 0) return bothChanged(own, inTheWay);
  const after = await own.treeWith(snapshot.tree, wanted);
  return isProblem(after) ? after : { now: snapshot.tree, after };
}

function isSubmodule({ before, after }: Pick<ChangedPath, 'before' | 'after'>): boolean {
  return before?.mode === SUBMODULE || after?.mode === SUBMODULE;
}

function unfitFor(own: OwnGit, { path }: ChangedPath): Problem {
  const what = isRalphs(path, own.root)
    ? `the work changes ${shownPath(path)}, which decides what Ralph runs: nobody takes that over without a look`
    : `the work changes the submodule ${shownPath(path)}, and Ralph cannot move that`;
  return { where: own.top, what, fix: 'look at it, then merge its branch yourself' };
}

/** A file of the user's where a folder will be, or the other way round. */
function inTheWayOf(changes: readonly ChangedPath[], yours: ReadonlyMap<string, Blob | undefined>): string[] {
  const added = changes.filter(({ before, after }) => after && !before).map(({ bytes }) => bytes);
  const folders = new Set(added.flatMap(foldersOf));
  const names = new Set(added);
  const found = [...yours].filter(
    ([path, after]) => after && (folders.has(path) || foldersOf(path).some(folder => names.has(folder))),
  );
  return found.map(([path]) => Buffer.from(path, 'latin1').toString('utf8'));
}

/** What git ignores is in no snapshot. */
export function hiddenInTheWay(
  { top }: OwnGit,
  changes: readonly ChangedPath[],
  yours: ReadonlyMap<string, Blob | undefined>,
): string[] {
  const gone = changes.filter(({ after }) => !after).map(({ path }) => path);
  const isThere = (path: string) => {
    const blocked = blockedAt(top, path);
    if (blocked !== undefined) return !gone.includes(blocked);
    const isFolderGone = gone.some(each => each.startsWith(`${path}/`));
    return !isFolderGone && lstatSync(join(top, path), { throwIfNoEntry: false }) !== undefined;
  };
  const added = changes.filter(({ before, after, bytes }) => after && !before && !yours.has(bytes));
  return added.map(({ path }) => path).filter(isThere);
}

export function isSame(one: Blob | undefined, other: Blob | undefined): boolean {
  return one?.oid === other?.oid && one?.mode === other?.mode;
}

const SHOWN = 5;

function bothChanged({ top }: OwnGit, paths: readonly string[]): Problem {
  const more = paths.length > SHOWN ? ` and ${paths.length - SHOWN} more` : '';
  const names = `${paths.slice(0, SHOWN).map(shownPath).join(', ')}${more}`;
  const what = `you have changes in ${names} that are not committed, and the work changes ${paths.length === 1 ? 'it' : 'them'} too`;
  return { where: top, what, fix: '`git commit` or `git stash` yours first' };
}

/** The worktree in which a branch is checked out. */
export async function checkedOutAt(git: OwnGit['objects'], ref: string): Promise<string | undefined> {
  const { stdout } = await git.run(['worktree', 'list', '--porcelain']);
  const entries = stdout.split('\n\n').map(entry => entry.split('\n'));
  return entries.find(lines => lines.includes(`branch ${ref}`))?.[0]?.replace(/^worktree /, '');
}
