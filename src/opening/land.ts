/**
 * `ralph land`: what a run left becomes part of the user's branch, after every check of the run has passed on the merged tree; or nothing is
 * changed. Afterwards its worktree and its branch are removed, if nothing is in them that is nowhere else.
 */
import { rmSync } from 'node:fs';

import { type CheckResult, isGreen } from '../domain/checks/check.ts';
import type { Conflict } from '../domain/lanes/conflict.ts';
import { listSome } from '../domain/text/feedback.ts';
import { defined } from '../domain/text/fields.ts';
import { parseObject } from '../domain/text/json.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { readIfThere, tryTo, writeAtomic } from '../platform/files.ts';
import { joinWords } from '../platform/shell.ts';
import { filteredPaths } from '../workspace/commit-plan.ts';
import { createIntegration } from '../workspace/integration.ts';
import { withLock } from '../workspace/lock.ts';
import { type OwnGit, openOwnGit } from '../workspace/own-git.ts';
import { compareTrees } from '../workspace/own-objects.ts';
import { commitOf } from '../workspace/refs.ts';
import { type Removed, removeLanes } from '../workspace/remove-lanes.ts';
import { deleteBranch, removeWorktree, unmerged } from '../workspace/remove-worktree.ts';
import { isRalphs, shownPath } from '../workspace/repository.ts';
import { withTrailers } from '../workspace/scm.ts';
import { openStoryBranch } from '../workspace/story-branch.ts';
import { moveBranch, planFiles, switchBranch } from '../workspace/take-over.ts';
import { outsideOwner } from '../workspace/user-index.ts';
import { endOf } from './changed-here.ts';
import { readFetched } from './fetched-unit.ts';
import { type EndedRequest, type EndedRun, findLeavings, type Leavings, readEnded } from './leavings.ts';
import { type CheckWatch, checkMerged } from './merged-checks.ts';

export interface LandRequest extends EndedRequest, CheckWatch {
  /** Says what would be done, and does nothing. */
  readonly isDry?: boolean;
}

/** How `ralph land` came out. */
export type LandResult = Readonly<{ runId: string; notes: readonly string[] }> &
  (
    | (Landed & Cleaned & { readonly outcome: 'landed' })
    | (Landed & { readonly outcome: 'would_land' })
    /** It is in the branch already, or there is nothing. */
    | (Cleaned & { readonly outcome: 'nothing'; readonly why: string })
    | (Whence & { readonly outcome: 'conflict'; readonly conflicts: readonly Conflict[] })
    | (Whence & { readonly outcome: 'red'; readonly checks: readonly CheckResult[] })
    | { readonly outcome: 'interrupted' }
  );

/** What did not land. */
interface Whence {
  /** The user's, which stays as it is. */
  readonly branch: string;
  /** The branch of the run; absent: its work is in the user's own files. */
  readonly from?: string;
  readonly worktree?: string;
  /** Not all of it is committed there. */
  readonly uncommitted?: true;
  /** The checks of the run. */
  readonly commands?: readonly string[];
  /** The branch is a remote's. */
  readonly isFetched?: true;
}

interface Landed {
  readonly branch: string;
  readonly commit: string;
  /** What the branch stood on before. */
  readonly base: string;
  /** `commit`: what was in the files is committed. */
  readonly how: 'commit' | 'fast-forward' | 'merge';
  readonly files: readonly string[];
  /** What of the work is not in it, and why. */
  readonly left: readonly string[];
  readonly checks: readonly CheckResult[];
  /** It came from a remote's branch. */
  readonly isFetched?: true;
}

interface Cleaned extends Removed {
  /** What was left, and why. */
  readonly kept: readonly string[];
}

export async function landRun(request: LandRequest): Promise<LandResult | Problem> {
  const run = (await readFetched(request)) ?? readEnded(request);
  if (isProblem(run)) return run;
  return withLock(run.paths.state.lock, () => land(run, request));
}

async function land(run: EndedRun, request: LandRequest): Promise<LandResult | Problem> {
  const { id: runId } = run;
  const notes: string[] = [];
  const tell = (text: string) => void notes.push(text);
  const found = await finishLast(run, tell).then(problem => problem ?? findLeavings(run));
  if (isProblem(found)) return found;
  if ('nothing' in found)
    return { runId, notes, outcome: 'nothing', why: whereNow(run) ?? found.nothing, ...NO_TRACE };
  if ('conflicts' in found) return { runId, notes, outcome: 'conflict', ...found };
  const where = await whenceOf(run, found);
  const candidate = await buildCandidate(run, found);
  if (isProblem(candidate)) return candidate;
  const { branch, base, left } = found;
  notes.push(...(await changedSince(run, found)));
  if ('conflicts' in candidate) return { runId, notes, outcome: 'conflict', branch, ...candidate, ...where };
  if (candidate.how === 'nothing') {
    const why = `${branch} has all of it already`;
    if (request.isDry) return { runId, notes, outcome: 'nothing', why, ...NO_TRACE };
    const problem = await arrive(run, found, base, tell);
    return problem ?? { runId, notes, outcome: 'nothing', why, ...(await cleanUp(run, found)) };
  }
  const { commit, how } = candidate;
  const files = await whatChanges(run, found, commit);
  if (isProblem(files)) return files;
  const { isFetched } = where;
  const landed = { branch, commit, base, how, files, left, checks: [], ...defined({ isFetched }) };
  if (request.isDry) return { runId, notes, outcome: 'would_land', ...landed };
  const checks = await checkMerged(run, found, commit, request);
  if (isProblem(checks)) return checks;
  if (request.abort.aborted) return { runId, notes, outcome: 'interrupted' };
  if (!isGreen(checks)) return { runId, notes, outcome: 'red', branch, checks, ...where };
  const problem = await arrive(run, found, commit, tell);
  if (problem) return problem;
  return { runId, notes, outcome: 'landed', ...landed, checks, ...(await cleanUp(run, found)) };
}

async function whenceOf(
  { past }: EndedRun,
  { kind, from, worktree, work }: Leavings,
): Promise<Omit<Whence, 'branch'>> {
  const tip = worktree?.own && (await worktree.own.head()).commit;
  const isCommitted = tip === undefined || tip === work;
  const commands = past.head?.checks ?? [];
  return {
    ...defined({ worktree: worktree?.name, from, commands }),
    ...(!isCommitted && { uncommitted: true }),
    ...(kind === 'fetched' && { isFetched: true }),
  };
}

/** What the run has not seen is part of it all the same: whoever takes it over should know. */
async function changedSince(
  { past }: EndedRun,
  { kind, own, worktree, work, from, left }: Leavings,
): Promise<readonly string[]> {
  const end = endOf(past);
  if (kind === 'parallel' || from === undefined || end === undefined) return [];
  const there = worktree?.own ?? own;
  const changes = await there.changedPaths(end, `${work}^{tree}`);
  if (isProblem(changes)) return [`Nobody can say what has changed on ${from} since the run ended.`];
  const paths = changes.map(({ path }) => path).filter(path => !isRalphs(path, there.root));
  const late = paths.filter(path => !left.some(words => words.startsWith(shownPath(path))));
  if (late.length === 0) return [];
  return [`Changed on ${from} since the last check of the run, and part of this: ${listSome(late)}.`];
}

const NO_TRACE: Cleaned = { removed: [], worktrees: [], kept: [] };

interface Candidate {
  readonly commit: string;
  readonly how: Landed['how'] | 'nothing';
}

async function buildCandidate(
  run: EndedRun,
  { own, base, work, branch, from }: Leavings,
): Promise<Candidate | { readonly conflicts: readonly Conflict[] } | Problem> {
  const integration = createIntegration(own, run.id);
  const missing = (await own.bring(base)) ?? (await own.bring(work));
  if (missing) return missing;
  // The user has rewritten the branch: where the two meet is before the commit that the run began with.
  if (isProblem(await integration.baseOf(base, work))) await own.bring(base, true);
  const apart = await integration.baseOf(base, work);
  if (isProblem(apart)) return apart;
  if (await integration.isAncestor(work, base)) return { commit: base, how: 'nothing' };
  if (await integration.isAncestor(base, work))
    return { commit: work, how: from === undefined ? 'commit' : 'fast-forward' };
  const merged = await integration.merge(base, work);
  if (isProblem(merged)) return merged;
  const { tree, conflicts } = merged;
  if (conflicts.length > 0) return { conflicts };
  if (tree === (await own.treeOf(base))) return { commit: base, how: 'nothing' };
  const { id: runId, title } = run;
  const message = withTrailers(`Merge ${from ?? runId} into ${branch}`, { runId, title });
  const commit = await integration.commit({ tree, parents: [base, work], message, isSigned: true });
  return isProblem(commit) ? commit : { commit, how: 'merge' };
}

/** The paths that the branch gets anew. Refused where it could not be written, or what it would do is not for a machine to decide. */
async function whatChanges(
  { settings }: EndedRun,
  { own, base, shared, isOut, work, from }: Leavings,
  tip: string,
): Promise<readonly string[] | Problem> {
  const { top, prefix } = own;
  const byHand =
    from === undefined
      ? 'commit it yourself: `git status` shows it'
      : `\`${joinWords(['git', 'merge', from])}\` takes over what is committed there`;
  if (own.absent().size > 0)
    return { where: top, what: 'this is a sparse checkout, and Ralph writes none', fix: byHand };
  const changes = await own.changedPaths(`${base}^{tree}`, `${tip}^{tree}`);
  if (isProblem(changes)) return changes;
  const files = await planFiles(own, isOut ? work : base, { tip, shared });
  if (isProblem(files)) return files;
  const filtered = await filteredPaths(
    own,
    changes.filter(({ bytes }) => !shared.has(bytes)),
  );
  if (filtered.length > 0)
    return {
      where: top,
      what: `a filter of yours makes ${filtered[0]} from what is committed, and Ralph runs none`,
      fix: byHand,
    };
  const specs = settings.protect.map(glob => `:(top,glob)${prefix}${glob}`);
  const guarded =
    specs.length === 0
      ? []
      : await compareTrees(own.objects, `${base}^{tree}`, `${tip}^{tree}`, ['--', ...specs]);
  if (isProblem(guarded)) return guarded;
  const touched = guarded.find(({ before }) => before || settings.protectNew);
  if (touched)
    return {
      where: top,
      what: `the work changes ${shownPath(touched.path)}, which the run had to protect`,
      fix: `look at it; if it is right, ${byHand}`,
    };
  return changes.map(({ path }) => path);
}

interface Record {
  readonly branch: string;
  readonly base: string;
  readonly commit: string;
}

/** The branch first of all on record: what is cut off in between is finished by whoever lands it again. */
async function arrive(
  run: EndedRun,
  { own, branch, base, work, shared, isOut }: Leavings,
  commit: string,
  tell: (text: string) => void,
): Promise<Problem | undefined> {
  const { id, paths } = run;
  const owner = outsideOwner(own, id, tell);
  if (commit !== base) {
    const record: Record = { branch, base, commit };
    writeAtomic(paths.state.landed, JSON.stringify(record));
    const problem = await moveBranch(own, { branch, base, tip: commit, shared }, owner);
    if (problem) {
      rmSync(paths.state.landed, { force: true });
      return problem;
    }
  }
  return isOut ? switchBranch(own, { branch, tip: commit, files: work, shared }, owner) : undefined;
}

/** The index may not be in line with a branch that was moved when somebody was cut off. */
async function finishLast(run: EndedRun, tell: (text: string) => void): Promise<Problem | undefined> {
  const record = landedAs(run);
  const { id, project, env } = run;
  if (!record) return undefined;
  const own = await openOwnGit({ cwd: project.root, env });
  if (isProblem(own)) return own;
  const head = await own.head();
  const { branch, base, commit: tip } = record;
  if (head.branch !== branch || head.commit !== tip) return undefined;
  return moveBranch(own, { branch, base, tip }, outsideOwner(own, id, tell));
}

/** Where `ralph land` has put what the run left; undefined: it has not. */
export function landedAs({ paths }: Pick<EndedRun, 'paths'>): Record | undefined {
  const record = parseObject(tryTo(() => readIfThere(paths.state.landed)) ?? '');
  return record && 'commit' in record ? (record as unknown as Record) : undefined;
}

function whereNow(run: EndedRun): string | undefined {
  const record = landedAs(run);
  return record && `it has landed on ${record.branch} already, as ${record.commit.slice(0, 12)}`;
}

/** Removes what is merged, and says what is not. */
async function cleanUp(run: EndedRun, { kind, own, worktree, work, from }: Leavings): Promise<Cleaned> {
  const {
    project: { root },
    env,
    id,
  } = run;
  if (kind === 'parallel') {
    const { removed, worktrees, problems } = await removeLanes({ root, env, run: id, force: false });
    return { removed, worktrees, kept: problems.map(formatProblem) };
  }
  if (kind === 'fetched') return { ...NO_TRACE, kept: [`${from}, which is the remote's`] };
  if (from === undefined) return NO_TRACE;
  const problem = worktree
    ? ((await inLine(run, from, worktree, work)) ??
      (await removeWorktree({ root, env, name: worktree.name })))
    : await removeBranch(own, from);
  if (problem) return { ...NO_TRACE, kept: [formatProblem(problem)] };
  return { removed: [from], worktrees: worktree?.own ? [from] : [], kept: [] };
}

/** What was not committed in the worktree is now. */
async function inLine(
  { env }: EndedRun,
  from: string,
  { own }: NonNullable<Leavings['worktree']>,
  work: string,
): Promise<Problem | undefined> {
  if (!own || (await own.head()).commit === work) return undefined;
  const opened = await openStoryBranch({ cwd: own.top, env }, from);
  return isProblem(opened) ? opened : opened.standOn(work);
}

async function removeBranch({ repository }: OwnGit, branch: string): Promise<Problem | undefined> {
  const tip = await commitOf(repository, `refs/heads/${branch}`);
  if (tip === undefined) return undefined;
  const count = await unmerged(repository.git, tip, branch);
  if (isProblem(count)) return count;
  if (count > 0) return { where: branch, what: `holds ${count} commits that no other branch has` };
  return deleteBranch(repository, branch, tip);
}
