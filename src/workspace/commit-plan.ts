/**
 * What Ralph commits: the tree that was checked, without what is the user's own. A file that the user had changed before the run is
 * left alone, a file that looks like a secret is never added, and a repository inside is not turned into a link.
 */
import type { RunStart } from '../domain/run/event.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { besideTree } from './beside-tree.ts';
import { filteredBy } from './filters.ts';
import type { Head, OwnGit } from './own-git.ts';
import { type ChangedPath, SUBMODULE } from './own-objects.ts';
import { isRalphs, shownPath } from './repository.ts';

export interface CommitPlan {
  /** The commit it is made on, and its branch. */
  readonly head: Head;
  readonly headTree: string;
  /** The tree of the commit, and how it differs from that of `head`. */
  readonly tree: string;
  readonly changes: readonly ChangedPath[];
  /** What the agent changed and is not in it, or what no commit of Ralph's holds, and why. */
  readonly left: readonly string[];
  /** What the user had changed before the run, and nobody since. */
  readonly yours: readonly string[];
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

/** The last plan of each directory: what is proven before a commit is planned once, and committed as it was. */
const PLANS = new WeakMap<OwnGit, { readonly of: string; readonly plan: CommitPlan }>();

export async function planCommit(own: OwnGit, options: CommitOptions): Promise<CommitPlan | Problem> {
  const { start, checked, commitDirty } = options;
  const head = await own.head();
  const moved = movedHead(start, head);
  if (moved) return moved;
  const of = JSON.stringify([head.commit, head.branch, start, checked, commitDirty]);
  const last = PLANS.get(own);
  if (last?.of === of) return last.plan;
  const plan = await planOn(own, head, options);
  if (!isProblem(plan)) PLANS.set(own, { of, plan });
  return plan;
}

async function planOn(own: OwnGit, head: Head, options: CommitOptions): Promise<CommitPlan | Problem> {
  const { start, checked, commitDirty } = options;
  const headTree = await own.treeOf(head.commit);
  if (isProblem(headTree)) return headTree;
  const changed = await own.changedPaths(headTree, checked);
  if (isProblem(changed)) return changed;
  const users = await usersOwn(own, start, checked);
  if (isProblem(users)) return users;
  const left: string[] = [];
  const yours: string[] = [];
  const absent = own.absent();
  const taken = changed.filter(change => {
    const isOurs = isRalphs(change.path, own.root) || (!change.after && absent.has(change.path));
    const why = isOurs ? '' : whyLeft(change, users, commitDirty);
    if (why) (why === YOURS ? yours : left).push(`${shownPath(change.path)} (${why})`);
    return why === undefined;
  });
  const beside = await besideTree(own, headTree, checked);
  if (isProblem(beside)) return beside;
  left.push(...beside.left);
  const tree = taken.length === changed.length ? checked : await own.treeWith(headTree, taken);
  if (isProblem(tree)) return tree;
  return {
    head,
    headTree,
    tree,
    changes: taken,
    left,
    yours,
    filtered: await filteredPaths(own, taken),
  };
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

const YOURS = 'you had changed it before the run';

/** '' where there is nothing to say of it; undefined: it is committed. */
function whyLeft(
  { path, bytes, before, after }: ChangedPath,
  users: ReadonlyMap<string, 'changed since' | 'as it was'>,
  commitDirty: boolean,
): string | undefined {
  // No snapshot holds these: they are as the user's repository has them.
  if (before?.mode === SUBMODULE) return '';
  const state = users.get(bytes);
  if (state === 'as it was') return YOURS;
  if (state === 'changed since' && !commitDirty) return `${YOURS}; see commitDirty`;
  if (!before && after && looksSecret(path)) return 'it looks like a secret, and git does not know it';
  return undefined;
}

const SECRET =
  /(^|\/)(\.env([._-].+)?|\.envrc|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|\.git-credentials|\.dockercfg|kubeconfig|id_(rsa|dsa|ecdsa|ed25519)|(client[-_])?(secrets?|credentials)(\.(json|ya?ml|toml|ini))?|service[-_]?account[^/]*\.json|.+\.(env|pem|key|p12|pfx|ppk|keystore|jks|kdbx|tfvars))$/i;
const SAMPLE = /\.(example|sample|template|dist|defaults)$/i;

export function looksSecret(path: string): boolean {
  return SECRET.test(path) && !SAMPLE.test(path);
}

/** LFS is one, although Ralph runs it to look: what it keeps of a file has to be in the user's repository. */
export async function filteredPaths(
  own: OwnGit,
  changes: readonly ChangedPath[],
): Promise<readonly string[]> {
  const paths = changes.flatMap(({ path, after }) => (after ? [path] : []));
  return (await filteredBy(own, own.repository.filters, paths)).map(({ path }) => path);
}
