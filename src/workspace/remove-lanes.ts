/** Takes away what a parallel run has left in the repository: worktrees, story branches, its integration branch. Nothing that is nowhere else. */
import { rmdirSync } from 'node:fs';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import type { Git } from '../platform/git.ts';
import { commitOf } from './refs.ts';
import { deleteBranch, discardWorktree, removeWorktree, unmerged } from './remove-worktree.ts';
import { findRepository, type Repository } from './repository.ts';
import { openStoryBranch } from './story-branch.ts';
import { listWorktrees } from './worktree.ts';
import { command, type SiteOptions } from './worktree-facts.ts';

/** What is gone. */
export interface Removed {
  /** Branches. */
  readonly removed: readonly string[];
  /** Those of them whose worktree is gone as well. */
  readonly worktrees: readonly string[];
}

export interface RemovedLanes extends Removed {
  /** Refs that keep work which is on no branch any more. */
  readonly kept: readonly string[];
  /** What was left, and why. */
  readonly problems: readonly Problem[];
}

interface Options extends Pick<SiteOptions, 'root' | 'env'> {
  readonly run: string;
  /** Also what is not merged: its commits are kept under a ref. */
  readonly force: boolean;
}

/** What `removeLanes` would leave without force, and why. */
export async function lanesInTheWay({ root, env, run }: Omit<Options, 'force'>): Promise<readonly Problem[]> {
  const repository = await findRepository({ cwd: root, env });
  if ('what' in repository) return [repository];
  const there = new Set((await listWorktrees({ root, env })).map(({ name }) => name));
  const problems: Problem[] = [];
  for (const name of await laneNames(repository.git, there, run)) {
    const problem = await removeWorktree({ root, env, name, isDry: true });
    if (problem) problems.push(problem);
  }
  const whole = await wholeInTheWay(repository, root, run);
  return whole ? [...problems, whole] : problems;
}

export async function removeLanes({ root, env, run, force }: Options): Promise<RemovedLanes> {
  const repository = await findRepository({ cwd: root, env });
  if ('what' in repository) return { removed: [], worktrees: [], kept: [], problems: [repository] };
  const { git } = repository;
  const removed: string[] = [];
  const [worktrees, kept]: [string[], string[]] = [[], []];
  const problems: Problem[] = [];
  const there = new Set((await listWorktrees({ root, env })).map(({ name }) => name));
  for (const name of await laneNames(git, there, run)) {
    const ref = force ? await keepWork(git, { root, env, name }) : undefined;
    const problem = isProblem(ref)
      ? ref
      : ref !== undefined
        ? await discardWorktree({ root, env, name, heldBy: ref })
        : await removeWorktree({ root, env, name, force });
    if (problem) problems.push(problem);
    else removed.push(`ralph/${name}`);
    if (!problem && there.has(name)) worktrees.push(`ralph/${name}`);
    if (!problem && typeof ref === 'string') kept.push(ref);
  }
  const whole = await removeWhole(repository, root, run, force);
  if (whole.problem) problems.push(whole.problem);
  if (whole.isGone) removed.push(`ralph/${run}/_int`);
  if (whole.kept !== undefined) kept.push(whole.kept);
  await dropMerged(git, run);
  tryTo(() => rmdirSync(`${root}/.ralph/worktrees/${run}`));
  return { removed, worktrees, kept, problems };
}

/** Those with a worktree, and those with a branch alone. */
async function laneNames(git: Git, worktrees: ReadonlySet<string>, run: string): Promise<readonly string[]> {
  const branches = (await refsBelow(git, `refs/heads/ralph/${run}/`)).map(ref =>
    ref.slice('refs/heads/ralph/'.length),
  );
  const all = new Set([...worktrees, ...branches]);
  return [...all].filter(name => name.startsWith(`${run}/`) && name !== `${run}/_int`).sort();
}

async function refsBelow(git: Git, prefix: string): Promise<readonly string[]> {
  const { stdout } = await git.run(['for-each-ref', '--format=%(refname)', prefix]);
  return stdout.split('\n').filter(Boolean);
}

/** Commits what is in the files, and names the commit; undefined: all of it is on other branches anyway, or it is in use. */
async function keepWork(git: Git, { root, env, name }: SiteOptions): Promise<string | Problem | undefined> {
  const branch = `ralph/${name}`;
  const there = (await listWorktrees({ root, env })).find(each => each.name === name);
  if (there && there.usedBy !== null && there.usedBy !== process.pid) return undefined;
  if (there?.dirty) {
    const opened = await openStoryBranch({ cwd: there.path, env }, branch);
    if (isProblem(opened)) return opened;
    const saved = await opened.commitAll(undefined, `Keep the work of ${name}`);
    if (isProblem(saved)) return saved;
    if (saved.left.length > 0) {
      const fix = 'move them elsewhere first';
      return {
        where: there.path,
        what: `not everything in it can be committed: ${saved.left.join(', ')}`,
        fix,
      };
    }
  }
  return keepBranch(git, branch, `refs/ralph/kept/${name}/removed`);
}

/** The ref under which it is kept; undefined: every commit of it is on another branch. */
async function keepBranch(git: Git, branch: string, ref: string): Promise<string | Problem | undefined> {
  const count = await unmerged(git, `refs/heads/${branch}`, branch);
  return count === 0 ? undefined : nameIt(git, branch, ref);
}

async function nameIt(
  git: Git,
  branch: string,
  ref: string,
  tip = `refs/heads/${branch}`,
): Promise<string | Problem> {
  return (await git.order(['update-ref', '--no-deref', ref, tip], branch)) ?? ref;
}

interface Whole {
  readonly isGone: boolean;
  readonly kept?: string;
  readonly problem?: Problem;
}

/** That the branch of a story which is left contains what has landed is not enough: nobody looks for it there. */
async function removeWhole(
  repository: Repository,
  root: string,
  run: string,
  force: boolean,
): Promise<Whole> {
  const { git } = repository;
  const branch = `ralph/${run}/_int`;
  const tip = await commitOf(repository, `refs/heads/${branch}`);
  if (tip === undefined) return { isGone: false };
  const count = await unmerged(git, tip, `ralph/${run}/*`);
  if (isProblem(count)) return { isGone: false, problem: count };
  if (count > 0 && !force) return { isGone: false, problem: notTakenOver(root, branch, count) };
  const ref = count > 0 ? await nameIt(git, branch, `refs/ralph/kept/${run}/_int/removed`, tip) : undefined;
  if (isProblem(ref)) return { isGone: false, problem: ref };
  const problem = await deleteBranch(repository, branch, tip);
  if (problem) return { isGone: false, problem };
  return { isGone: true, ...(ref !== undefined && { kept: ref }) };
}

async function wholeInTheWay(
  repository: Repository,
  root: string,
  run: string,
): Promise<Problem | undefined> {
  const branch = `ralph/${run}/_int`;
  const tip = await commitOf(repository, `refs/heads/${branch}`);
  const count = tip === undefined ? 0 : await unmerged(repository.git, tip, `ralph/${run}/*`);
  if (isProblem(count)) return count;
  return count > 0 ? notTakenOver(root, branch, count) : undefined;
}

function notTakenOver(root: string, branch: string, count: number): Problem {
  const fix = `${command('-C', root, 'merge', branch)} takes it over`;
  const what = `what has landed is on no other branch (${count} ${count === 1 ? 'commit' : 'commits'})`;
  return { where: branch, what, fix };
}

/** Names that Ralph gave to commits which are on a branch now. */
async function dropMerged(git: Git, run: string): Promise<void> {
  for (const ref of await refsBelow(git, `refs/ralph/kept/${run}/`))
    if ((await unmerged(git, ref)) === 0) await git.run(['update-ref', '--no-deref', '-d', ref]);
}

/** In words, a line each. */
export function removedWords(run: string, { kept, ...gone }: RemovedLanes): readonly string[] {
  return [
    ...(gone.removed.length === 0 ? [`${run} has no worktree or branch left.`] : removedLines(gone)),
    ...kept.map(ref => `Its unmerged work is kept: \`git log ${ref}\``),
  ];
}

export function removedLines({ removed, worktrees }: Removed, verb = 'Removed'): readonly string[] {
  const its = (branch: string) => (worktrees.includes(branch) ? ' and its worktree' : '');
  return removed.map(branch => `${verb} the branch ${branch}${its(branch)}.`);
}
