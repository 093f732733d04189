/** Shows what came of a unit under the name of the unit, for a worker that died between the record and the branch. */
import { formatProblem } from '../domain/problem.ts';
import { complaint, type Env } from '../platform/git.ts';
import { reachingGit } from '../workspace/remote.ts';
import { mirrorOf } from './place.ts';
import { shownBranch, type Unit, workRef } from './unit.ts';

/** Answers why it cannot be shown. */
export async function showBranch(env: Env, unit: Unit): Promise<string | undefined> {
  const { id, fence, headSha, repoUrl } = unit;
  const mirror = await mirrorOf(env, repoUrl);
  if (typeof mirror !== 'string') return formatProblem(mirror);
  const git = reachingGit(mirror, env);
  const ref = workRef(id, fence);
  const orders = [
    ['fetch', '--quiet', '--no-tags', repoUrl, `+${ref}:${ref}`],
    ['push', '--quiet', '--no-verify', repoUrl, `+${headSha}:refs/heads/${shownBranch(unit)}`],
  ];
  for (const order of orders) {
    const { code, output } = await git.run(order);
    if (code !== 0) return `git ${order[0]}: ${complaint(output, code)}`;
  }
  return undefined;
}
