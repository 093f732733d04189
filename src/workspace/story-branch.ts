/**
 * The branch of one story and the worktree it is in, moved by Ralph between two turns: to a commit of what was checked, and to a merge. Nothing
 * of the repository runs, and no commit of the agent is left without a name.
 */
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { handOver } from './commit-in-repository.ts';
import { planCommit } from './commit-plan.ts';
import { clearOwnLocks } from './git-lock.ts';
import { type OwnGit, openOwnGit } from './own-git.ts';
import type { Place } from './repository.ts';

export interface StoryBranch {
  readonly own: OwnGit;
  /** Commits these files, or those that are there, on top of what the agent has committed, where that is built on `from`; answers the commit. */
  commitAll(tree: string | undefined, message: string): Promise<CommittedWork | Problem>;
  /** The same on what Ralph has put the branch on: commits and merges of the agent's have no say in what it is built on. */
  commitWork(tree: string | undefined, message: string): Promise<CommittedWork | Problem>;
  /** Makes branch and files what this commit holds; what is there must be committed. `landed`: what is in it of what has landed. */
  moveTo(commit: string, landed: string): Promise<Problem | undefined>;
  /** Ralph has put it on this commit, of what has landed. */
  begin(commit: string): void;
  /** Makes this the commit of the branch; the files stay as they are. */
  standOn(commit: string): Promise<Problem | undefined>;
}

export interface CommittedWork {
  readonly commit: string;
  /** What is in the files and not in the commit, and why. */
  readonly left: readonly string[];
}

/** `from`: where it began, if nothing more is on record. */
export async function openStoryBranch(
  place: Place,
  branch: string,
  from?: string,
): Promise<StoryBranch | Problem> {
  const own = await openOwnGit(place);
  if (isProblem(own)) return own;
  const ref = `refs/heads/${branch}`;
  return {
    own,
    commitAll: (tree, message) =>
      commitAll(own, ref, tree, message, async head =>
        from === undefined || (head !== undefined && (await isBuiltOn(own, from, head))) ? head : from,
      ),
    async commitWork(tree, message) {
      const stand = own.stand()?.commit ?? from;
      return commitAll(own, ref, tree, message, async head =>
        stand === undefined ? head : builtOn(own, stand, head),
      );
    },
    async moveTo(commit, landed) {
      const problem = await moveTo(own, ref, commit);
      // Only now: of files that were not moved it would be a lie.
      if (!problem) own.setStand({ commit, landed });
      return problem;
    },
    begin: commit => own.setStand({ commit, landed: commit }),
    standOn: commit => pointAt(own, ref, commit, commit),
  };
}

async function commitAll(
  own: OwnGit,
  ref: string,
  checked: string | undefined,
  message: string,
  parentFor: (head: string | undefined) => Promise<string | Problem | undefined>,
): Promise<CommittedWork | Problem> {
  const snapshot = checked === undefined ? await own.snapshot() : { tree: checked };
  if (isProblem(snapshot)) return snapshot;
  const plan = await planCommit(own, { start: undefined, checked: snapshot.tree, commitDirty: true });
  if (isProblem(plan)) return plan;
  const { head, headTree, tree, left } = plan;
  const parent = await parentFor(head.commit);
  if (isProblem(parent)) return parent;
  const before = parent === head.commit ? headTree : await own.treeOf(parent);
  if (isProblem(before)) return before;
  const isSame = parent !== undefined && tree === before;
  const parents = parent ? [parent] : [];
  const commit = isSame ? parent : await own.commit({ tree, parents, message, isSigned: true });
  if (isProblem(commit)) return commit;
  const problem = await pointAt(own, ref, commit, head.commit ?? headTree);
  return problem ?? { commit, left };
}

/**
 * The last commit that Ralph put the branch on and the agent has not put away. Whatever the agent calls merged, its parents are Ralph's and
 * the user's: else a merge that drops the work of others, or a commit on top of theirs, would take it away when it lands.
 */
async function builtOn(own: OwnGit, stand: string, head: string | undefined): Promise<string | Problem> {
  if (head === undefined || head === stand) return stand;
  for (const isWhole of [false, true]) {
    // A history that was cut short between the two is brought whole.
    const missing = await own.bring(head, isWhole);
    if (missing) return missing;
    const { code, stdout } = await own.objects.run(['merge-base', stand, head]);
    if (code === 0) return stdout.trim();
  }
  return { where: own.top, what: `its commits have nothing in common with ${stand}, where it began` };
}

/** Whether one commit holds the other, by Ralph's own objects: in the repository anybody can write what is built on what. */
export async function isBuiltOn(own: OwnGit, base: string, head: string): Promise<boolean> {
  if (head === base) return true;
  const isHeld = async () => (await own.objects.run(['merge-base', '--is-ancestor', base, head])).code === 0;
  for (const isWhole of [false, true])
    if ((await isHeld()) || (!(await own.bring(head, isWhole)) && (await isHeld()))) return true;
  return false;
}

/** The agent may have left HEAD on another branch: the work is what is in the files. */
async function pointAt(
  own: OwnGit,
  ref: string,
  commit: string,
  known: string,
): Promise<Problem | undefined> {
  clearOwnLocks(own.repository, ref);
  const problem = await handOver(own, { commit, known, ref, why: 'ralph: checked' });
  if (problem) return problem;
  const isThere = ref === `refs/heads/${(await own.head()).branch}`;
  const { git } = own.repository;
  const moved = isThere
    ? undefined
    : await git.order(['symbolic-ref', 'HEAD', ref], own.top, 'git symbolic-ref');
  return moved ?? git.order(['read-tree', commit], own.top, 'git read-tree');
}

async function moveTo(own: OwnGit, ref: string, commit: string): Promise<Problem | undefined> {
  const [now, to] = [await own.snapshot(), await own.treeOf(commit)];
  const from = await own.treeOf((await own.head()).commit);
  if (isProblem(now)) return now;
  if (isProblem(to)) return to;
  if (isProblem(from)) return from;
  const moved = (await own.moveSubmodules(from, to)) ?? (await own.moveFiles(now.tree, to));
  return moved ?? pointAt(own, ref, commit, commit);
}
