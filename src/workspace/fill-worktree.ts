/**
 * The files of a new worktree, written through Ralph's own git directory: a checkout by the repository's own settings would run its
 * filters, and an agent of an earlier run may have written those.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { readIfThere } from '../platform/files.ts';
import type { Env } from '../platform/git.ts';
import { openOwnGit } from './own-git.ts';
import { headCommit, type Repository } from './repository.ts';

/** Added with `--lock`, so that one that was cut off is known for it. */
export async function fillWorktree(
  there: Repository,
  env: Env,
  isSparse: boolean,
): Promise<Problem | undefined> {
  const { top, gitDir, git } = there;
  const own = await openOwnGit({ cwd: top, env });
  if ('what' in own) return own;
  const tree = await own.treeOf(await headCommit(git));
  if (typeof tree !== 'string') return tree;
  const sparse = isSparse ? readIfThere(join(gitDir, 'info/sparse-checkout')) : undefined;
  const problem = await own.checkout(tree, top, { index: join(gitDir, 'index'), sparse });
  if (!problem) rmSync(join(gitDir, 'locked'), { force: true });
  return problem;
}
