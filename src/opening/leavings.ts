/**
 * What a run has left that could be taken over: as one commit, made in Ralph's own git directory, where nobody else sees it; and the branch
 * of the user's that would get it. Nothing is changed by looking.
 */
import { existsSync } from 'node:fs';
import { mergeLayers } from '../config/load.ts';
import type { SettingsCommand } from '../config/setting.ts';
import { defaultSettings } from '../config/settings.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { Conflict } from '../domain/lanes/conflict.ts';
import { trustSentence, trustWith } from '../domain/run/ledger-trust.ts';
import type { RunState } from '../domain/run/state.ts';
import { listSome } from '../domain/text/feedback.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Env } from '../platform/git.ts';
import { loadState } from '../store/checkpoint.ts';
import { isRunning } from '../store/lease.ts';
import { isRecorded, type ProjectPaths, type RunPaths, runPaths } from '../store/paths.ts';
import { liveRuns, type RunFile, readRunFile } from '../store/run-file.ts';
import { deliver } from '../workspace/commit-in-repository.ts';
import { filteredPaths, planCommit } from '../workspace/commit-plan.ts';
import { createIntegration, tooOld } from '../workspace/integration.ts';
import { ownerOf } from '../workspace/lock.ts';
import { type Head, type OwnGit, openOwnGit } from '../workspace/own-git.ts';
import { commitOf } from '../workspace/refs.ts';
import { withTrailers } from '../workspace/scm.ts';
import { command, findSite, whyNotOurs, worktreeAt } from '../workspace/worktree-facts.ts';
import { changedHere, mergeTrees } from './changed-here.ts';
import { unfinished } from './repository-start.ts';

/** A run that is over, as it was recorded here. */
export interface EndedRun {
  readonly id: string;
  readonly project: ProjectPaths;
  readonly paths: RunPaths;
  readonly env: Env;
  readonly file: RunFile;
  readonly past: RunState;
  /** As they were when it began. */
  readonly settings: Settings;
  readonly title: string;
  /** Of a fleet's unit: the branch of a remote that its work is on. */
  readonly fetched?: string;
}

export interface EndedRequest {
  readonly project: ProjectPaths;
  readonly env: Env;
  readonly id: string;
  /** Although its ledger has been changed. */
  readonly acceptChanges?: boolean;
}

/** What its record says is done: the commands of a copy may be anybody's. */
export function readEnded({ project, env, id, acceptChanges = false }: EndedRequest): EndedRun | Problem {
  const paths = runPaths(project, id);
  const file = readRunFile(paths);
  if (!isRecorded(paths) || !file) {
    const fix = 'look at it, run the checks yourself, and merge it with git';
    return { where: id, what: file ? trustSentence(paths.trust) : 'nothing of it is on record here', fix };
  }
  if (isRunning(paths)) return { where: id, what: 'it is running', fix: `\`ralph cancel ${id}\` stops it` };
  const { state: past, problems } = loadState(paths);
  const trust = trustWith(paths.trust, existsSync(paths.events) ? flawsOf(past, problems) : ['it is gone']);
  if (trust.kind !== 'intact' && !acceptChanges) {
    const fix = `look at it with \`ralph log ${id}\`; --accept-changes takes its work all the same`;
    return { where: id, what: trustSentence(trust), fix };
  }
  const name = file.command as SettingsCommand;
  const settings = mergeLayers(
    { ...defaultSettings(name) },
    file.config as Record<string, unknown>,
  ) as unknown as Settings;
  const title = past.head?.title ?? `Work of ${id}`;
  return { id, project, paths, env, file, past, settings, title };
}

/** What was cut off at its end is no break in its chain; without its beginning nobody knows what was checked. */
function flawsOf({ head }: RunState, problems: readonly string[]): readonly string[] {
  return head ? problems : [...problems, 'it does not say how the run began'];
}

export interface Leavings {
  readonly kind: 'worktree' | 'parallel' | 'here' | 'fetched';
  /** Of the project. */
  readonly own: OwnGit;
  /** The branch of the user's that gets it, and where it stands. */
  readonly branch: string;
  readonly base: string;
  /** The commit that holds all of it. */
  readonly work: string;
  /** The branch that it is on, where that is one of the run's. */
  readonly from?: string | undefined;
  /** What of the files is not in it, and why. */
  readonly left: readonly string[];
  /** Paths, a character for each byte, whose files may hold the user's own beside it. */
  readonly shared: ReadonlySet<string>;
  /** Of the worktree that it is in. */
  readonly worktree?: { readonly name: string; readonly own?: OwnGit | undefined } | undefined;
  /** The branch of the run is checked out in the project. */
  readonly isOut?: boolean;
}

/** Nothing is there to be taken over, and why. */
export interface NothingLeft {
  readonly nothing: string;
}

/** What the run changed and the user did too, in the same lines. */
export interface Conflicting {
  readonly branch: string;
  readonly conflicts: readonly Conflict[];
}

export type Found = Leavings | NothingLeft | Conflicting | Problem;

export async function findLeavings(run: EndedRun): Promise<Found> {
  const { project, env, file, past } = run;
  const own = await openOwnGit({ cwd: project.root, env });
  if (isProblem(own)) return own;
  // Whoever asks may hold the run itself, to write on its ledger.
  const busy = liveRuns(project).find(
    ({ id, file: { given } }) =>
      id !== run.id && given?.worktree === undefined && given?.parallel === undefined,
  );
  if (busy) {
    const fix = `\`ralph cancel ${busy.id}\` stops it`;
    return { where: project.root, what: `the run ${busy.id} is working here`, fix };
  }
  const problem = (await tooOld(own)) ?? unfinished(own);
  if (problem) return problem;
  const head = await own.head();
  const target = targetOf(own, head);
  if (isProblem(target)) return target;
  const { given } = file;
  if (run.fetched !== undefined) return namedWork(own, target, 'fetched', run.fetched);
  if (given?.parallel !== undefined) return parallelWork(run, own, target);
  if (given?.worktree !== undefined) return worktreeWork(run, own, target, given.worktree);
  const began = past.prepared?.start?.branch;
  const isOut = began === head.branch;
  if (given?.from !== undefined && began && given.from !== began)
    return isOut ? storyWork(run, own, target, given.from) : namedWork(own, target, 'here', began);
  return workHere(run, own, target);
}

/** Whether a run that has ended well, or in part, left something that is not in the user's branch yet. */
export async function isLeft(request: EndedRequest): Promise<boolean> {
  const run = readEnded(request);
  const { success, lanes, iterations } = (isProblem(run) ? undefined : run.past.result) ?? {};
  const isFine = success || lanes || iterations?.at(-1)?.allChecksPassed;
  if (isProblem(run) || !isFine) return false;
  const found = await findLeavings(run);
  if (isProblem(found) || 'nothing' in found) return false;
  if ('conflicts' in found) return true;
  const { own, base, work } = found;
  const missing = (await own.bring(base)) ?? (await own.bring(work));
  return missing !== undefined || !(await createIntegration(own, request.id).isAncestor(work, base));
}

type Target = Pick<Leavings, 'branch' | 'base'>;

/** The user's branch, as far as there is one that can be moved. */
function targetOf({ top }: OwnGit, { branch, commit }: Head): Target | Problem {
  if (branch === undefined) {
    const fix = '`git switch BRANCH` first';
    return {
      where: top,
      what: 'no branch is checked out (detached HEAD), so there is none for the work',
      fix,
    };
  }
  if (commit !== undefined) return { branch, base: commit };
  return {
    where: top,
    what: `${branch} has no commit yet`,
    fix: '`git commit --allow-empty -m start` makes one',
  };
}

const NOBODYS = { left: [], shared: new Set<string>() };

/** What has landed in a parallel run, as Ralph left it: the branch that shows it could have been moved. */
async function parallelWork({ id }: EndedRun, own: OwnGit, target: Target): Promise<Found> {
  const from = `ralph/${id}/_int`;
  const work = await createIntegration(own, id).tip();
  if (work === undefined) return { nothing: 'nothing of it has landed' };
  if ((await commitOf(own.repository, `refs/heads/${from}`)) === undefined)
    return { nothing: `${from} is gone` };
  return { ...target, ...NOBODYS, kind: 'parallel', own, work, from };
}

/** On a branch here, or on one of a remote. */
async function namedWork(
  own: OwnGit,
  target: Target,
  kind: 'here' | 'fetched',
  from: string,
): Promise<Found> {
  const [names, what] = kind === 'here' ? ['heads', `its branch ${from}`] : ['remotes', from];
  const work = await commitOf(own.repository, `refs/${names}/${from}`);
  if (work === undefined) return { nothing: `${what} is gone` };
  return { ...target, ...NOBODYS, kind, own, work, from };
}

async function worktreeWork(run: EndedRun, own: OwnGit, target: Target, name: string): Promise<Found> {
  const { project, env } = run;
  const site = await findSite({ root: project.root, env, name });
  if (isProblem(site)) return site;
  const { branch: from, path } = site;
  const there = await worktreeAt(site);
  if (!there) {
    const work = await commitOf(own.repository, `refs/heads/${from}`);
    if (work === undefined) return { nothing: `its worktree ${name} and its branch are gone` };
    return { ...target, ...NOBODYS, kind: 'worktree', own, work, from, worktree: { name } };
  }
  const user = ownerOf(project.worktreeOwner(name));
  if (user && user.pid !== process.pid)
    return {
      where: path,
      what: `is in use by another run (process ${user.pid})`,
      fix: 'wait until it has ended',
    };
  const inside = await openOwnGit({ cwd: there.top, env });
  const wrong = isProblem(inside) ? inside : ((await whyNotOurs(site)) ?? unfinished(inside));
  if (isProblem(inside) || wrong) return wrong ?? (inside as Problem);
  const found = await commitOfAll(run, inside);
  if (isProblem(found)) return found;
  return {
    ...target,
    shared: NOBODYS.shared,
    kind: 'worktree',
    own,
    from,
    worktree: { name, own: inside },
    ...found,
  };
}

/** All that is in a worktree of the run's own. */
async function commitOfAll(run: EndedRun, own: OwnGit): Promise<Pick<Leavings, 'work' | 'left'> | Problem> {
  const snapshot = await own.snapshot();
  if (isProblem(snapshot)) return snapshot;
  const plan = await planCommit(own, { start: undefined, checked: snapshot.tree, commitDirty: true });
  if (isProblem(plan)) return plan;
  const { head, headTree, tree, left, filtered } = plan;
  if (head.commit !== undefined && tree === headTree) return { work: head.commit, left };
  if (filtered.length > 0) return filterProblem(own, filtered);
  const parents = head.commit === undefined ? [] : [head.commit];
  const work = await own.commit({ tree, parents, ...writtenBy(run) });
  if (isProblem(work)) return work;
  // The project may have another directory of Ralph's: it reads the commit where both can. No name stands for it there.
  return (await deliver(own, work, head.commit ?? headTree)) ?? { work, left };
}

function filterProblem({ top }: OwnGit, paths: readonly string[]): Problem {
  const what = `a filter of yours changes ${listSome(paths)} on the way into a commit, and Ralph runs none`;
  const fix = `commit it yourself: ${command('-C', top, 'add', '--all')} && ${command('-C', top, 'commit')}`;
  return { where: top, what, fix };
}

const SUBJECT = 72;

/** As of the end of the run, so that the same work has the same name when it is landed again after a kill, unless it is signed. */
function writtenBy({ id, title, past }: EndedRun) {
  const message = withTrailers(title.slice(0, SUBJECT), { runId: id, title });
  return { message, date: past.time.latest, isSigned: true } as const;
}

/** On the branch of a story list, which is checked out: it goes to the branch that it was made from. */
async function storyWork(run: EndedRun, own: OwnGit, target: Target, branch: string): Promise<Found> {
  const base = await commitOf(own.repository, `refs/heads/${branch}`);
  if (base === undefined) {
    const fix = `switch to the branch that shall have it: \`git switch BRANCH\`, then \`ralph land\` again`;
    return { where: own.top, what: `the branch ${branch}, which the run began on, is gone`, fix };
  }
  const found = await workHere(run, own, target);
  if (!('work' in found) && !('nothing' in found)) return found;
  const work = 'work' in found ? found : { ...NOBODYS, kind: 'here' as const, own, work: target.base };
  return { ...work, branch, base, from: target.branch, isOut: true };
}

/** What the run has changed in the user's own files, without what was changed there before; on top of what is checked out. */
async function workHere(run: EndedRun, own: OwnGit, target: Target): Promise<Found> {
  const tree = await own.treeOf(target.base);
  if (isProblem(tree)) return tree;
  const changed = await changedHere(run, own, tree);
  if (isProblem(changed)) return changed;
  const { start, end, taken, left } = changed;
  const shared = new Set(taken.map(({ bytes }) => bytes));
  const nothing = { nothing: `${target.branch} has all that it changed, or it is not in the files any more` };
  if (taken.length === 0) return nothing;
  const merged = await mergeTrees(own, { base: start, ours: tree, theirs: end });
  if (isProblem(merged)) return merged;
  if (merged.conflicts.length > 0) return { branch: target.branch, conflicts: merged.conflicts };
  if (merged.tree === tree) return nothing;
  const filtered = await filteredPaths(own, taken);
  if (filtered.length > 0) return filterProblem(own, filtered);
  const work = await own.commit({ tree: merged.tree, parents: [target.base], ...writtenBy(run) });
  return isProblem(work) ? work : { ...target, kind: 'here', own, work, left, shared };
}
