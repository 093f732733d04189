/** A commit of some paths, for commands without a wall: made in Ralph's own directory and handed over, so that nothing runs. */
import { relative } from 'node:path';
import { isProblem, type Problem } from '../domain/problem.ts';
import { complaint } from '../platform/git.ts';
import { treeWith } from './commit-plan.ts';
import { deliver } from './hand-over.ts';
import { type OwnGit, openOwnGit } from './own-git.ts';
import type { Place } from './repository.ts';

/** What came of it, in words for the user; `done` when there is a commit. */
export async function commitPaths(
  place: Place,
  paths: readonly string[],
  message: string,
): Promise<{ readonly done: boolean; readonly why: string }> {
  const own = await openOwnGit(place);
  const problem = isProblem(own) ? own : await commitOnly(own, paths, message);
  return problem ? { done: false, why: problem.what } : { done: true, why: '' };
}

async function commitOnly(
  own: OwnGit,
  paths: readonly string[],
  message: string,
): Promise<Problem | undefined> {
  const now = await own.status();
  if (isProblem(now)) return now;
  const names = paths.map(path => relative(own.top, path));
  const isNamed = (path: string) => names.some(name => path === name || path.startsWith(`${name}/`));
  const headTree = await own.treeOf(now.commit);
  if (isProblem(headTree)) return headTree;
  const tree = await treeWith(
    own,
    headTree,
    now.entries.filter(({ path }) => isNamed(path)),
  );
  if (isProblem(tree)) return tree;
  if (tree === headTree) return { where: own.top, what: 'there is nothing to commit' };
  const commit = await own.commitTree({
    tree,
    parents: now.commit ? [now.commit] : [],
    message,
  });
  if (isProblem(commit)) return commit;
  const problem = await deliver(own, commit, now.commit ?? headTree);
  if (problem) return problem;
  const { git } = own.repository;
  // Neither looks at the files, so nothing of the repository's is started.
  for (const args of [
    ['update-ref', '-m', `commit: ${message}`, 'HEAD', commit, ...(now.commit ? [now.commit] : [])],
    ['read-tree', '-i', '-m', headTree, commit],
  ]) {
    const { code, output } = await git.run(args);
    if (code !== 0) return { where: `git ${args[0]}`, what: complaint(output, code) };
  }
  return undefined;
}
