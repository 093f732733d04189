/** The branch that a run began on, when it is over: what it held then it still holds, or that is kept under a name and said. */
import { isProblem } from '../../domain/text/problem.ts';
import { complaint } from '../../platform/git.ts';
import { joinWords } from '../../platform/shell.ts';
import { type OwnGit, openOwnGit } from '../../workspace/own-git.ts';
import { commitOf } from '../../workspace/refs.ts';
import { isBuiltOn } from '../../workspace/story-branch.ts';
import type { RunContext } from './context.ts';

/** undefined: more may be on it, and nothing is missing. */
export async function lostBranch({ cwd, env, past, runId }: RunContext): Promise<string | undefined> {
  const { head, branch } = past().prepared?.start ?? {};
  const own = head && branch ? await openOwnGit({ cwd, env }) : undefined;
  if (!own || isProblem(own) || !head || !branch) return undefined;
  const now = await commitOf(own.repository, `refs/heads/${branch}`);
  return (await lostSince(own, { runId, branch, head, now })) ?? lostObjects(own, branch, head);
}

/** A name says nothing where the commit behind it is gone, or nobody can look; Ralph's own directory has its files. */
async function lostObjects(
  { repository, objects, top }: OwnGit,
  branch: string,
  head: string,
): Promise<string | undefined> {
  let answer = '';
  const read = (chunk: Buffer) => {
    answer += chunk;
    return 'more' as const;
  };
  const asked = `${head}\n${head}^{tree}\n`;
  const { code, errors } = await repository.git.stream(['cat-file', '--batch-check'], read, asked);
  if (code === 0 && !/ missing$/m.test(answer)) return undefined;
  const what = `The commit ${head.slice(0, 12)}, on which the branch ${branch} stood when the run began,`;
  const back = joinWords(['git', '-C', top, 'fetch', objects.cwd, head]);
  const files = `\`${back}\` brings its files back, not what was before it: take that from another clone.`;
  return code === 0
    ? `${what} is not in the repository any more. ${files}`
    : `${what} cannot be read any more, since git does not read the repository: ${complaint(errors, code)}. Repair it first; where the commit is gone then, ${files}`;
}

export interface Branch {
  readonly runId: string;
  readonly branch: string;
  /** What it stood on when the run began. */
  readonly head: string;
  /** undefined: it is gone. */
  readonly now: string | undefined;
}

/** Returns what has become of it, and what brings it back. */
export async function lostSince(
  own: OwnGit,
  { runId, branch, head, now }: Branch,
): Promise<string | undefined> {
  if (now !== undefined && (await isBuiltOn(own, head, now))) return undefined;
  const ref = `refs/ralph/kept/${runId}/_branch`;
  const { code } = await own.repository.git.run(['update-ref', '--no-deref', ref, head]);
  const what = now === undefined ? 'deleted or renamed' : `moved to ${now.slice(0, 12)}`;
  const back = joinWords([
    ...['git', '-C', own.top, 'update-ref', `refs/heads/${branch}`],
    code === 0 ? ref : head,
  ]);
  return `The branch ${branch} was ${what} while the run ran, and not by Ralph. It stood on ${head.slice(0, 12)}, which is kept: \`${back}\` puts it back.`;
}
