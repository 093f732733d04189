/** The repository when a run begins: whether work can be committed in it, and what in it is the user's own. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Settings } from '../config/settings-shape.ts';
import type { RunStart } from '../domain/event.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { LoopPlan } from '../engine/plan.ts';
import { findProgram } from '../platform/programs.ts';
import { statePaths } from '../store/state.ts';
import { type OwnGit, openOwnGit } from '../workspace/own-git.ts';
import { isUnderGit, type Place } from '../workspace/repository.ts';
import { isForOutside, recordSettings } from '../workspace/scm-network.ts';

export interface RepositoryStart {
  /** The same plan; what it prepares says where the repository stood. */
  withStart(plan: LoopPlan): LoopPlan;
}

export interface StartOptions extends Place {
  readonly settings: Settings;
  readonly isSandboxed: boolean;
  /** Of a resumed run: where it began. */
  readonly began?: RunStart | undefined;
  readonly isResumed: boolean;
  /** Ralph has made the branch that is checked out: nobody could have given it an upstream. */
  readonly isOwnBranch: boolean;
}

export async function beginRepository(options: StartOptions): Promise<RepositoryStart | Problem> {
  const { cwd, env, settings, isResumed } = options;
  const tasks = settings.scm?.tasks ?? [];
  const commits = tasks.some(task => task.trim() === 'commit');
  const program = settings.scm?.command === undefined ? '' : findProgram(settings.scm.command, env, cwd);
  if (isProblem(program)) return { ...program, where: `scm.command ${program.where}` };
  const none: RepositoryStart = { withStart: plan => plan };
  if (!isUnderGit(cwd)) return none;
  const own = await openOwnGit({ cwd, env });
  // A state folder that cannot be written would make a weaker proof; a broken repository is the agent's to work with.
  if (isProblem(own)) return own.where.startsWith(statePaths(env).folder) ? own : none;
  const begun = isResumed ? undefined : await own.begin();
  if (isProblem(begun)) return begun;
  const isGit = basename(String(settings.scm?.command)) === 'git';
  const problem =
    (commits ? (unfinished(own) ?? (await otherBranch(own, options.began))) : undefined) ??
    (isGit ? await unready(own, tasks, options.isOwnBranch) : undefined);
  if (problem) return problem;
  const isNetworked =
    options.isSandboxed && tasks.some(task => isForOutside(task.trim().split(/\s+/)[0] ?? ''));
  if (isNetworked && !isResumed) await recordSettings(own, env);
  return { withStart: plan => prepareWith(plan, own) };
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

function unfinished({ top, repository }: OwnGit): Problem | undefined {
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

function prepareWith(plan: LoopPlan, own: OwnGit): LoopPlan {
  return {
    ...plan,
    async prepare() {
      const prepared = await plan.prepare();
      const [snapshot, head] = [await own.snapshot(), await own.head()];
      if (isProblem(snapshot)) return prepared;
      const start = { tree: snapshot.tree, head: head.commit ?? null, branch: head.branch ?? null };
      return { ...prepared, start };
    },
  };
}
