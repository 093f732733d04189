/** The repository when a run begins: whether work can be committed in it, and what in it is the user's own. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
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
  const problem = commits ? (unfinished(own) ?? (await otherBranch(own, options.began))) : undefined;
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
