/** The repository when a run begins: whether work can be committed in it, and what in it is the user's own. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { RunStart } from '../domain/run/event.ts';
import { listSome } from '../domain/text/feedback.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { findProgram } from '../platform/programs.ts';
import type { RepositoryStart } from '../run/turns/context.ts';
import { statePaths } from '../store/state.ts';
import { type OwnGit, openOwnGit, type Start } from '../workspace/own-git.ts';
import { isUnderGit } from '../workspace/repository.ts';
import { isForOutside, recordSettings } from '../workspace/scm-network.ts';
import { readStaged } from '../workspace/user-index.ts';
import type { Workplace } from './job.ts';
import type { RunRequest } from './open-run.ts';

/** undefined: there is none that could be looked at. */
export async function beginRepository(
  { settings, env, resumed }: RunRequest,
  { cwd, worktree, given, begun: known }: Workplace,
  isSandboxed: boolean,
): Promise<RepositoryStart | Problem | undefined> {
  const before = resumed?.past.prepared;
  const tasks = settings.scm?.tasks ?? [];
  const commits = tasks.some(task => task.trim() === 'commit');
  const program = settings.scm?.command === undefined ? '' : findProgram(settings.scm.command, env, cwd);
  if (isProblem(program)) return { ...program, where: `scm.command ${program.where}` };
  if (!isUnderGit(cwd)) return undefined;
  const own = await openOwnGit({ cwd, env });
  // A state folder that cannot be written would make a weaker proof; a broken repository is the agent's to work with.
  if (isProblem(own)) return own.where.startsWith(statePaths(env).folder) ? own : undefined;
  const begun = before ? undefined : (known ?? (await own.begin()));
  if (isProblem(begun)) return begun;
  const isGit = basename(String(settings.scm?.command)) === 'git';
  // Ralph has made the branch that is checked out: nobody could have given it an upstream.
  const isOwnBranch = worktree !== undefined || given.from !== undefined;
  const problem =
    (commits ? (unfinished(own) ?? (await otherBranch(own, before?.start))) : undefined) ??
    (isGit ? await unready(own, tasks, isOwnBranch) : undefined);
  if (problem) return problem;
  const staged = commits && isGit ? await stagedIn(own, begun) : undefined;
  if (isProblem(staged)) return staged;
  const isNetworked = isSandboxed && tasks.some(task => isForOutside(task.trim().split(/\s+/)[0] ?? ''));
  if (isNetworked && !before) await recordSettings(own, env);
  return { own, staged };
}

/** What git is in the middle of, by the file that says so, and how to end it. */
const UNFINISHED = {
  MERGE_HEAD: ['merge', '`git merge --continue` or `git merge --abort`'],
  'rebase-merge': ['rebase', '`git rebase --continue` or `git rebase --abort`'],
  'rebase-apply': ['rebase', '`git rebase --continue` or `git rebase --abort`'],
  CHERRY_PICK_HEAD: ['cherry-pick', '`git cherry-pick --continue` or `git cherry-pick --abort`'],
  REVERT_HEAD: ['revert', '`git revert --continue` or `git revert --abort`'],
  BISECT_LOG: ['bisect', '`git bisect reset`'],
} as const;

/** What must be ended before anybody else makes a commit here. */
export function unfinished({ top, repository }: OwnGit): Problem | undefined {
  for (const [file, [what, fix]] of Object.entries(UNFINISHED)) {
    if (!existsSync(join(repository.gitDir, file))) continue;
    return {
      where: top,
      what: `a ${what} is not finished, and Ralph's commit would conclude it`,
      fix: `${fix} first`,
    };
  }
  return undefined;
}

/** What is staged; refused where a file has the three versions of a conflict: a commit has one. */
async function stagedIn(own: OwnGit, begun: Start | undefined): Promise<readonly string[] | Problem> {
  const tree = begun?.tree ?? (await own.treeOf((await own.head()).commit));
  const staged = isProblem(tree) ? tree : await readStaged(own, tree);
  if (isProblem(staged) || staged.unmerged.length === 0) return isProblem(staged) ? staged : staged.entries;
  const what = `there are conflicts that are not resolved: ${listSome(staged.unmerged)}`;
  return { where: own.top, what, fix: 'resolve each of them and `git add` it first' };
}

/** What would fail after the work is done, and can be known before. */
async function unready(
  { top, repository: { git } }: OwnGit,
  tasks: readonly string[],
  isOwnBranch: boolean,
): Promise<Problem | undefined> {
  const names = tasks.map(task => task.trim().split(/\s+/));
  const says = async (...args: readonly string[]) => (await git.run(args)).stdout.trim();
  if (names.some(([name]) => name === 'commit')) {
    const { code } = await git.run(['var', 'GIT_COMMITTER_IDENT']);
    const fix = 'git config --global user.name "NAME" && git config --global user.email "EMAIL"';
    if (code !== 0)
      return { where: top, what: 'git does not know who you are, so nothing can be committed', fix };
  }
  const push = names.find(([name]) => name === 'push');
  if (!push) return undefined;
  const remotes = (await says('remote')).split('\n').filter(Boolean);
  if (remotes.length === 0) {
    const fix = '`git remote add origin ADDRESS`, or leave push out of scm.tasks';
    return { where: top, what: 'there is no remote to push to', fix };
  }
  if (push.length > 1 || isOwnBranch) return undefined;
  const branch = await says('symbolic-ref', '--quiet', '--short', 'HEAD');
  const [upstream, how, creates] = await Promise.all([
    says('config', `branch.${branch}.remote`),
    says('config', 'push.default'),
    says('config', '--type=bool', 'push.autoSetupRemote'),
  ]);
  if (branch === '' || upstream !== '' || creates === 'true' || !['', 'simple', 'upstream'].includes(how))
    return undefined;
  const fix = `git push --set-upstream ${remotes[0]} ${branch}`;
  return { where: top, what: `the branch ${branch} has no upstream, so \`git push\` fails`, fix };
}

/** A resumed run commits where it began, or not at all. */
async function otherBranch(own: OwnGit, began: RunStart | undefined): Promise<Problem | undefined> {
  if (!began) return undefined;
  const { branch } = await own.head();
  if (began.branch === (branch ?? null)) return undefined;
  return {
    where: own.top,
    what: `the run was on ${began.branch ?? 'no branch'}, and ${branch ?? 'no branch'} is checked out`,
    fix: began.branch === null ? `git checkout ${began.head ?? ''}` : `git switch ${began.branch}`,
  };
}
