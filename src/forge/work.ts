/** What a run has left, as the one commit that is pushed: its tree is the one that was proven, or its checks pass on it now. */
import { type CheckResult, isGreen } from '../domain/checks/check.ts';
import { isSupported, supportOf } from '../domain/checks/proof.ts';
import { type LoopResult, provenBy } from '../domain/run/result.ts';
import { isProven } from '../domain/run/stop-reason.ts';
import { isCommit } from '../domain/text/commit.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { endOf } from '../opening/changed-here.ts';
import { type EndedRun, findLeavings, type Leavings } from '../opening/leavings.ts';
import { type CheckWatch, checkMerged } from '../opening/merged-checks.ts';
import { joinWords } from '../platform/shell.ts';
import { createIntegration } from '../workspace/integration.ts';
import { type OwnGit, openOwnGit } from '../workspace/own-git.ts';
import { commitOf } from '../workspace/refs.ts';
import { isRalphs } from '../workspace/repository.ts';
import { openStoryBranch } from '../workspace/story-branch.ts';
import { isBranchName } from './address.ts';
import type { Access, UnitSource } from './pull-request.ts';

export interface ProvenWork {
  readonly found: Leavings;
  /** Of the project. */
  readonly own: OwnGit;
  readonly commit: string;
  /** The branch that it gets at the remote. */
  readonly branch: string;
  /** Its checks have passed once more, because the run had checked other files with it. */
  readonly isRechecked: boolean;
}

export interface RedWork {
  readonly red: readonly CheckResult[];
}

/** Why there is nothing to push: one sentence. */
export function whyNotProven(id: string, result: LoopResult | undefined): Problem | undefined {
  const fix = `\`ralph explain ${id}\` says what is missing`;
  if (!result)
    return { where: id, what: 'it has not ended, so nothing is proven', fix: `\`ralph resume ${id}\`` };
  if (!isProven(result.stopReason)) return { where: id, what: `it is not proven: ${result.stopReason}`, fix };
  if (isSupported(supportOf(provenBy(result)))) return undefined;
  return {
    where: id,
    what: 'nothing was checked, so it gets no pull request',
    fix: 'run it with `--check`, or add a guardrail',
  };
}

interface Goal {
  /** The branch that it goes into. */
  readonly base: string;
  /** The name of the remote that it is pushed to. */
  readonly remote: string;
}

export async function findWork(
  run: EndedRun,
  goal: Goal,
  watch: CheckWatch,
): Promise<ProvenWork | RedWork | Problem> {
  const found = await leavingsOf(run, goal);
  if (isProblem(found)) return found;
  const { own, work: commit } = found;
  const missing = await own.bring(commit, true);
  if (missing) return missing;
  const branch = found.from ?? `ralph/${run.id}`;
  const differs = await isOther(run, found);
  if (isProblem(differs)) return differs;
  if (differs) {
    const checks = await checkMerged(run, found, commit, watch);
    if (isProblem(checks)) return checks;
    if (!isGreen(checks)) return { red: checks };
  }
  const problem = await standOn(run, found, commit);
  return problem ?? { found, own, commit, branch, isRechecked: differs };
}

/** It is at the remote already, and counts where it is what its ledger says was proven. */
export async function findUnitWork(
  run: EndedRun,
  { branch, work }: Pick<UnitSource, 'branch' | 'work'>,
  { own, remote, base }: Pick<Access, 'own' | 'remote' | 'base'>,
): Promise<ProvenWork | Problem> {
  const { head, ref } = work();
  // All of it comes from a database that others write.
  const isNamed = isBranchName(branch) && isBranchName(`x/${ref}`) && isCommit(head);
  for (const name of isNamed ? [`refs/heads/${branch}`, ref] : []) {
    const missing = await remote.bring([name]);
    if (missing) return missing;
  }
  const tree = isNamed ? await own.treeOf(head) : undefined;
  if (!isNamed || isProblem(tree)) {
    const what = 'the remote does not have what its worker has pushed';
    return { where: branch, what, fix: '`--remote NAME`: the one that the fleet pushes to' };
  }
  if (tree !== run.past.result?.proof.tree)
    return {
      where: branch,
      what: 'what is on it is not what was proven',
      fix: '`ralph land` checks it here',
    };
  const found: Leavings = {
    ...{ kind: 'fetched', own, branch: base, base: head, work: head, from: branch, left: [] },
    shared: new Set(),
  };
  return { found, own, commit: head, branch, isRechecked: false };
}

async function leavingsOf(run: EndedRun, goal: Goal): Promise<Leavings | Problem> {
  const found = await findLeavings(run);
  if (isProblem(found)) return found;
  if ('conflicts' in found) {
    const what = 'you and the run have changed the same lines: nobody can say whose they are';
    return { where: run.id, what, fix: 'commit what you want of them, or run it in a worktree' };
  }
  return 'nothing' in found ? committedWork(run, found.nothing, goal) : found;
}

/** It is on the user's own branch already. */
async function committedWork(
  run: EndedRun,
  why: string,
  { base, remote }: Goal,
): Promise<Leavings | Problem> {
  const name = run.file.given?.worktree;
  const branch = `ralph/${name}`;
  const again = `\`${joinWords(['git', 'fetch', remote, `${branch}:${branch}`])}\``;
  const nothing: Problem = {
    where: run.id,
    what: `there is nothing to push: ${why}`,
    ...(name !== undefined && { fix: `where it was pushed before, ${again} brings it back` }),
  };
  const own = await openOwnGit({ cwd: run.project.root, env: run.env });
  if (isProblem(own)) return own;
  const commit = run.past.result?.proof.commit;
  const began = run.past.prepared?.start?.branch;
  if (!commit || (await commitOf(own.repository, commit)) === undefined) return nothing;
  const from = began && began !== base ? { from: began } : {};
  return {
    kind: 'here',
    own,
    branch: base,
    base: commit,
    work: commit,
    left: [],
    shared: new Set(),
    ...from,
  };
}

/** Whether it holds something else than what was checked last. */
async function isOther(run: EndedRun, { kind, own, worktree, work }: Leavings): Promise<boolean | Problem> {
  if (kind === 'parallel') return run.past.result?.proof.commit !== work;
  const end = endOf(run.past);
  if (end === undefined) return true;
  const there = worktree?.own ?? own;
  const changes = await there.changedPaths(end, `${work}^{tree}`);
  return isProblem(changes) ? changes : changes.some(({ path }) => !isRalphs(path, there.root));
}

/** What was pushed is another commit with the same files. */
export async function standOnPushed(
  run: EndedRun,
  { found, own, commit }: ProvenWork,
  pushed: string,
): Promise<Problem | undefined> {
  if (!found.worktree?.own) return undefined;
  return (
    (await createIntegration(own, run.id).deliver(pushed, commit)) ?? (await standOn(run, found, pushed))
  );
}

/** The branch of a worktree becomes what is pushed: the next work is built on it. */
async function standOn(
  run: EndedRun,
  { worktree, from }: Leavings,
  work: string,
): Promise<Problem | undefined> {
  const inside = worktree?.own;
  if (!inside || from === undefined || (await inside.head()).commit === work) return undefined;
  const branch = await openStoryBranch({ cwd: inside.top, env: run.env }, from);
  if (isProblem(branch)) return branch;
  const problem = await branch.standOn(work);
  if (!problem) branch.begin(work);
  return problem;
}
