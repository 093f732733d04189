/** A commit of some paths, for commands without a wall: made in Ralph's own directory and handed over, so that nothing runs. */
import { relative } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { handOver } from './commit-in-repository.ts';
import { type OwnGit, openOwnGit } from './own-git.ts';
import type { Place } from './repository.ts';
import { alignIndex, outsideOwner } from './user-index.ts';

/** What came of it, in words for the user, where there is anything to say; `done` when there is a commit. */
export async function commitPaths(
  place: Place,
  paths: readonly string[],
  message: string,
): Promise<{ readonly done: boolean; readonly why: string }> {
  const own = await openOwnGit(place);
  const said: string[] = [];
  const tell = (text: string) => void said.push(text);
  const problem = isProblem(own) ? own : await commitOnly(own, paths, message, tell);
  return problem ? { done: false, why: problem.what } : { done: true, why: said.join(' ') };
}

async function commitOnly(
  own: OwnGit,
  paths: readonly string[],
  message: string,
  tell: (text: string) => void,
): Promise<Problem | undefined> {
  const now = await own.status();
  if (isProblem(now)) return now;
  const names = paths.map(path => relative(own.top, path));
  const isNamed = (path: string) => names.some(name => path === name || path.startsWith(`${name}/`));
  const headTree = await own.treeOf(now.commit);
  if (isProblem(headTree)) return headTree;
  const changes = now.entries.filter(({ path }) => isNamed(path));
  const tree = await own.treeWith(headTree, changes);
  if (isProblem(tree)) return tree;
  if (tree === headTree) return { where: own.top, what: 'there is nothing to commit' };
  const commit = await own.commit({
    tree,
    parents: now.commit ? [now.commit] : [],
    message,
    isSigned: true,
  });
  if (isProblem(commit)) return commit;
  const known = now.commit ?? headTree;
  const name = { ref: 'HEAD', from: now.commit, why: `commit: ${message}` };
  const problem = await handOver(own, { commit, known, ...name });
  if (problem) return problem;
  const made = { commit, parent: now.commit, before: headTree, changes };
  await alignIndex(own, made, outsideOwner(own, 'archive', tell));
  return undefined;
}
