/**
 * Would the checks notice a fault in what one commit changes against another? For a queue that lands commits: nothing of a work tree is
 * looked at, and both commits may be anywhere in the repository.
 */
import { join } from 'node:path';
import type { MutationReport } from '../domain/mutation.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import { complaint, git as gitAt } from '../platform/git.ts';
import { changedBetween } from '../workspace/changed-lines.ts';
import { makeCleanPlace } from '../workspace/clean-place.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import { isMutable } from './find.ts';
import { type MutationRequest, tryFaults } from './mutate.ts';

export interface CommitMutation extends Omit<MutationRequest, 'base'> {
  /** What it is compared with: where the commit is to land. */
  readonly base: string;
  readonly commit: string;
}

/** `cwd`: a folder in the repository; the checks run in the same folder of a clean checkout. */
export async function mutateCommit(request: CommitMutation): Promise<MutationReport | Problem> {
  const { base, commit, env, confinement } = request;
  const own = await openOwnGit(request);
  if (isProblem(own)) return own;
  const [before, now] = [await own.treeOf(base), await own.treeOf(commit)];
  if (isProblem(before)) return before;
  if (isProblem(now)) return now;
  const files = await changedBetween(own, [before, now], isMutable);
  if (isProblem(files)) return files;
  const place = makeCleanPlace(confinement?.scratch);
  if (isProblem(place)) return place;
  try {
    const problem = (await own.checkout(now, place.folder)) ?? (await makeRepository(place.folder, env));
    if (problem) return problem;
    return await tryFaults({ ...request, cwd: join(place.folder, own.prefix) }, { base, files });
  } finally {
    place.remove();
  }
}

/** Copies are made of what git knows, ignored or not. */
async function makeRepository(folder: string, env: CommitMutation['env']): Promise<Problem | undefined> {
  const git = gitAt(folder, env);
  for (const args of [
    ['init', '--quiet'],
    ['add', '--all', '--force'],
  ]) {
    const { code, output } = await git.run(args);
    if (code !== 0) return { where: `git ${args[0]}`, what: complaint(output, code) };
  }
  return undefined;
}
