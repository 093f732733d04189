/**
 * What Ralph commits: the tree that was checked, without what is the user's own. A file that the user had changed before the run is
 * left alone, a file that looks like a secret is never added, and a repository inside is not turned into a link.
 */
import type { RunStart } from '../domain/event.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { Head, OwnGit } from './own-git.ts';
import type { ChangedPath } from './own-objects.ts';
import { isRalphs, shownPath } from './repository.ts';

export interface CommitPlan {
  /** The commit it is made on, and its branch. */
  readonly head: Head;
  readonly headTree: string;
  /** The tree of the commit. */
  readonly tree: string;
  /** What the agent changed and is not in it, and why. */
  readonly left: readonly string[];
  /** Paths in it that a filter of the user's changes on the way into a commit, such as one that encrypts. */
  readonly filtered: readonly string[];
}

export interface CommitOptions {
  /** Absent in runs that were begun by an older Ralph: then everything that changed is committed. */
  readonly start: RunStart | undefined;
  /** The tree that was checked. */
  readonly checked: string;
  /** Commits files, too, that the user had changed before the run and the agent has changed since. */
  readonly commitDirty: boolean;
}

export async function planCommit(own: OwnGit, options: CommitOptions): Promise<CommitPlan | Problem> {
  const { start, checked, commitDirty } = options;
  const head = await own.head();
  const moved = movedHead(start, head);
  if (moved) return moved;
  const headTree = await own.treeOf(head.commit);
  if (isProblem(headTree)) return headTree;
  const changed = await own.changedPaths(headTree, checked);
  if (isProblem(changed)) return changed;
  const users = await usersOwn(own, start, checked);
  if (isProblem(users)) return users;
  const left: string[] = [];
  const taken = changed.filter(change => {
    const why = whyLeft(change, users, commitDirty);
    if (why) left.push(`${shownPath(change.path)} (${why})`);
    return why === undefined;
  });
  const tree = await treeWith(own, headTree, taken);
  if (isProblem(tree)) return tree;
  return { head, headTree, tree, left, filtered: await filteredPaths(own, taken) };
}

/** A commit on another branch is not what was asked for, whoever changed it. */
function movedHead(start: RunStart | undefined, head: Head): Problem | undefined {
  const branch = head.branch ?? null;
  if (!start || start.branch === branch) return undefined;
  const name = (each: string | null) => each ?? 'no branch';
  return {
    where: 'HEAD',
    what: `the run began on ${name(start.branch)}, and now it is on ${name(branch)}`,
    ...(start.branch !== null && { fix: `git switch ${start.branch}` }),
  };
}

/** Paths that differed from HEAD before the run, and whether the agent has changed them since. */
async function usersOwn(
  own: OwnGit,
  start: RunStart | undefined,
  checked: string,
): Promise<ReadonlyMap<string, 'changed since' | 'as it was'> | Problem> {
  if (!start) return new Map();
  const before = await own.treeOf(start.head ?? undefined);
  if (isProblem(before)) return before;
  const dirty = await own.changedPaths(before, start.tree);
  if (isProblem(dirty) || dirty.length === 0) return isProblem(dirty) ? dirty : new Map();
  const since = await own.changedPaths(start.tree, checked);
  if (isProblem(since)) return since;
  const changed = new Set(since.map(({ bytes }) => bytes));
  return new Map(dirty.map(({ bytes }) => [bytes, changed.has(bytes) ? 'changed since' : 'as it was']));
}

const SUBMODULE = '160000';

/** '' where there is nothing to say of it; undefined: it is committed. */
function whyLeft(
  { path, bytes, before, after }: ChangedPath,
  users: ReadonlyMap<string, 'changed since' | 'as it was'>,
  commitDirty: boolean,
): string | undefined {
  // No snapshot holds these: they are as the user's repository has them.
  if (before?.mode === SUBMODULE || isRalphs(path)) return '';
  const state = users.get(bytes);
  if (state === 'as it was') return '';
  if (state === 'changed since' && !commitDirty) return 'you had changed it before the run; see commitDirty';
  if (!before && after && looksSecret(path)) return 'it looks like a secret, and git does not know it';
  return undefined;
}

const SECRET =
  /(^|\/)(\.env([._-].+)?|\.envrc|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|\.git-credentials|\.dockercfg|kubeconfig|id_(rsa|dsa|ecdsa|ed25519)|(client[-_])?(secrets?|credentials)(\.(json|ya?ml|toml|ini))?|service[-_]?account[^/]*\.json|.+\.(env|pem|key|p12|pfx|ppk|keystore|jks|kdbx|tfvars))$/i;
const SAMPLE = /\.(example|sample|template|dist|defaults)$/i;

function looksSecret(path: string): boolean {
  return SECRET.test(path) && !SAMPLE.test(path);
}

/** By the attributes in the tree, as git reads them; LFS is run by Ralph itself where it is installed. */
async function filteredPaths(own: OwnGit, changes: readonly ChangedPath[]): Promise<readonly string[]> {
  const { filters } = own.repository;
  const paths = changes.flatMap(({ path, after }) => (after ? [path] : []));
  if (filters.length === 0 || paths.length === 0) return [];
  const lfs = await own.objects.run(['config', 'filter.lfs.clean']);
  const { records } = await own.git.at(own.top).list(['check-attr', '-z', '--stdin', 'filter'], paths);
  return records.flatMap((path, at) => {
    const value = records[at + 2] ?? '';
    const isOwn = value === 'lfs' && lfs.code === 0;
    return at % 3 === 0 && filters.includes(value) && !isOwn ? [path] : [];
  });
}

/** The tree `base` with these changes. */
export async function treeWith(
  own: OwnGit,
  base: string,
  changes: readonly ChangedPath[],
): Promise<string | Problem> {
  if (changes.length === 0) return base;
  const { code, records, errors } = await own.objects.bytes(['ls-tree', '-r', '-z', '--full-tree', base]);
  if (code !== 0) return { where: base, what: errors };
  const entries = new Map(records.map(record => [record.slice(record.indexOf('\t') + 1), record]));
  for (const { bytes, after } of changes) {
    if (after) entries.set(bytes, `${after.mode} ${after.oid}\t${bytes}`);
    else entries.delete(bytes);
  }
  return own.writeTree([...entries.values()]);
}
