/** The branch that a list of stories names: created from the current one, or continued, or the reason why not. */
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Captured } from '../platform/capture.ts';
import { complaint, type Git, git as gitAt, withConfig } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import { lfsConfig } from './own-folder.ts';
import { commitOf } from './refs.ts';
import { findRepository, type Place, type Repository } from './repository.ts';

export interface UsedBranch {
  /** What was checked out before; undefined: this branch. */
  readonly from?: string;
  /** The files may be others now. */
  readonly isOther: boolean;
}

export async function useBranch(place: Place, branch: string): Promise<UsedBranch | Problem> {
  const where = `branchName ${branch}`;
  const repository = await findRepository(place);
  if (isProblem(repository)) return { ...repository, where };
  const { git } = repository;
  const { branch: current, commit } = repository.head;
  if (current === branch) return { isOther: false };
  if ((await git.run(['check-ref-format', '--branch', branch])).code !== 0)
    return {
      where,
      what: 'git does not allow this name for a branch',
      fix: 'change branchName in tasks.json',
    };
  if (current === undefined) {
    const fix = `\`${joinWords(['git', 'switch', '-c', branch])}\` creates it here`;
    return {
      where,
      what: 'no branch is checked out (detached HEAD), so there is none to create it from',
      fix,
    };
  }
  const isThere = (await commitOf(repository, `refs/heads/${branch}`)) !== undefined;
  const isBorn = commit !== undefined;
  const problem = isThere ? await whyNot(git, branch, current) : undefined;
  if (problem) return { where, ...problem };
  const { code, output } = await switchTo({ ...place, ...repository }, { branch, isThere, isBorn });
  if (code === 0) return { from: current, isOther: isThere };
  const words = isThere ? [branch] : ['--create', branch, '--no-track'];
  const fix = `commit or stash what is not committed, then \`${joinWords(['git', 'switch', ...words])}\``;
  return { where, what: `git does not switch to it: ${complaint(output, code)}`, fix };
}

interface Target {
  readonly branch: string;
  readonly isThere: boolean;
  /** HEAD stands on a commit. */
  readonly isBorn: boolean;
}

/** Where the files stay as they are, git need not look at them: it would run the filters of the repository. */
async function switchTo(
  { env, top, git }: Place & Repository,
  { branch, isThere, isBorn }: Target,
): Promise<Captured> {
  const ref = `refs/heads/${branch}`;
  if (isThere) return (await withoutFilters(git, env, top)).run(['switch', '--quiet', branch]);
  const made = isBorn ? await git.run(['branch', '--quiet', '--no-track', branch]) : undefined;
  return made && made.code !== 0 ? made : git.run(['symbolic-ref', '-m', `ralph: to ${branch}`, 'HEAD', ref]);
}

/** Those that are configured could be an agent's, but for LFS, which is the user's own program. */
async function withoutFilters(git: Git, env: Place['env'], top: string): Promise<Git> {
  const { records } = await git.list(['config', '--list', '-z', '--name-only']);
  const off = records
    .filter(key => /^filter\..*\.(clean|smudge|process|required)$/s.test(key))
    .map(key => [key, key.endsWith('.required') ? 'false' : ''] as const);
  const own = Object.fromEntries([...off, ['submodule.recurse', 'false'], ...lfsConfig(env, top)]);
  return gitAt(git.cwd, withConfig(env, own));
}

/** A branch that does not hold what is here now holds another story list, or an older one. */
async function whyNot(
  git: Git,
  branch: string,
  current: string,
): Promise<Pick<Problem, 'what' | 'fix'> | undefined> {
  const { code } = await git.run(['merge-base', '--is-ancestor', 'HEAD', `refs/heads/${branch}`]);
  if (code === 0) return undefined;
  const merge = `${joinWords(['git', 'switch', branch])} && ${joinWords(['git', 'merge', current])}`;
  return {
    what: `it exists, and does not hold the last commit of ${current}`,
    fix: `\`${merge}\`, or change branchName in tasks.json`,
  };
}
