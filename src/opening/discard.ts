/**
 * `ralph discard`: what a run left goes: its worktree and its branch, or what it changed in the user's files, and nothing of the user's. All
 * of it is kept under a ref first, and the command that brings it back is part of the answer.
 */
import type { Conflict } from '../domain/lanes/conflict.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { complaint } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import { handOver } from '../workspace/commit-in-repository.ts';
import { withLock } from '../workspace/lock.ts';
import type { OwnGit } from '../workspace/own-git.ts';
import { type ChangedPath, indexInfo } from '../workspace/own-objects.ts';
import { type Removed, removeLanes } from '../workspace/remove-lanes.ts';
import { deleteBranch, discardWorktree } from '../workspace/remove-worktree.ts';
import { shownPath } from '../workspace/repository.ts';
import { outsideOwner, readStaged } from '../workspace/user-index.ts';
import { mergeTrees } from './changed-here.ts';
import { readFetched } from './fetched-unit.ts';
import { type EndedRequest, type EndedRun, findLeavings, type Leavings, readEnded } from './leavings.ts';
import { tearDownLanes } from './tear-down.ts';

export interface DiscardRequest extends EndedRequest {
  /** Says what would be done, and does nothing. */
  readonly isDry?: boolean;
  /** Also files in a worktree that git ignores and that are nowhere else: nothing brings them back. */
  readonly force?: boolean;
}

/** How `ralph discard` came out. */
export type DiscardResult = { readonly runId: string } & (
  | (Discarded & { readonly outcome: 'discarded' | 'would_discard' })
  | { readonly outcome: 'nothing'; readonly why: string }
  | { readonly outcome: 'conflict'; readonly branch: string; readonly conflicts: readonly Conflict[] }
);

interface Discarded extends Removed {
  /** Files of the user's folder that are again what they were. */
  readonly files: readonly string[];
  /** What was left, and why. */
  readonly left: readonly string[];
  /** Commands for a shell, one after the other. */
  readonly back: readonly string[];
}

export async function discardRun(request: DiscardRequest): Promise<DiscardResult | Problem> {
  const run = (await readFetched(request)) ?? readEnded(request);
  if (isProblem(run)) return run;
  return withLock(run.paths.state.lock, () => discard(run, request));
}

async function discard(run: EndedRun, request: DiscardRequest): Promise<DiscardResult | Problem> {
  const { id: runId } = run;
  const found = await findLeavings(run);
  if (isProblem(found)) return found;
  if ('nothing' in found) return { runId, outcome: 'nothing', why: found.nothing };
  if ('conflicts' in found) return { runId, outcome: 'conflict', ...found };
  const done = await discardKind(run, found, request);
  if (isProblem(done) || 'outcome' in done) return isProblem(done) ? done : { runId, ...done };
  return { runId, outcome: request.isDry ? 'would_discard' : 'discarded', ...done };
}

function discardKind(run: EndedRun, found: Leavings, request: DiscardRequest) {
  if (found.kind === 'parallel') return discardLanes(run, found, request);
  if (found.kind === 'fetched') return discardFetched(run, found, request);
  if (found.from === undefined || found.isOut) return discardHere(run, found, request);
  return discardBranch(run, found, request);
}

function keptUnder({ id }: EndedRun): string {
  return `refs/ralph/kept/${id}/discarded`;
}

async function discardLanes(
  run: EndedRun,
  { from = '' }: Leavings,
  { isDry }: DiscardRequest,
): Promise<Discarded | Problem> {
  if (isDry) return { removed: [from], worktrees: [], files: [], left: [], back: [] };
  const { project, env, id } = run;
  const { root } = project;
  const left = (await tearDownLanes(run)).map(formatProblem);
  const { removed, worktrees, kept, problems } = await removeLanes({ root, env, run: id, force: true });
  if (problems[0]) return problems[0];
  const branchOf = (ref: string) => ref.replace(/^refs\/ralph\/kept\//, 'ralph/').replace(/\/removed$/, '');
  const back = kept.map(ref => joinWords(['git', '-C', root, 'branch', branchOf(ref), ref]));
  return { removed, worktrees, files: [], left, back };
}

/** With the worktree that it is checked out in, if there is one. */
async function discardBranch(
  run: EndedRun,
  { own, from = '', work, worktree, left }: Leavings,
  { isDry, force = false }: DiscardRequest,
): Promise<Discarded | Problem> {
  const { project, env } = run;
  const { root } = project;
  const ref = keptUnder(run);
  const add = worktree?.own
    ? ['worktree', 'add', '-b', from, project.worktree(worktree.name), ref]
    : ['branch', from, ref];
  const gone = { removed: [from], worktrees: worktree?.own ? [from] : [] };
  const done = { ...gone, files: [], left: [], back: [joinWords(['git', '-C', root, ...add])] };
  if (isDry) return done;
  if (left.length > 0) {
    const what = `no commit of Ralph's holds ${left.join(', ')}, so nothing would bring it back`;
    return { where: from, what, fix: 'move it elsewhere first' };
  }
  // The repository has it: it was delivered to it where it was made.
  const problem = await handOver(own, { commit: work, known: work, ref, why: 'ralph: discarded' });
  if (problem) return problem;
  if (!worktree) return (await deleteBranch(own.repository, from, work)) ?? done;
  const { name } = worktree;
  return (await discardWorktree({ root, env, name, heldBy: ref, keepIgnored: !force })) ?? done;
}

/** Here: what is on the remote is everybody's, and goes by a command of the user's own. */
async function discardFetched(
  run: EndedRun,
  { own, from = '', work }: Leavings,
  { isDry }: DiscardRequest,
): Promise<Discarded | Problem> {
  const [remote = '', ...branch] = from.split('/');
  const { git } = own.repository;
  const [ref, fetched] = [keptUnder(run), `refs/remotes/${from}`];
  const words = (...args: readonly string[]) => joinWords(['git', '-C', own.top, ...args]);
  const there = words('push', remote, '--delete', branch.join('/'));
  const done = {
    ...{ removed: [from], worktrees: [], files: [], back: [words('update-ref', fetched, ref)] },
    left: [`the branch on the remote, which \`git fetch\` brings back: \`${there}\` removes it there`],
  };
  if (isDry) return done;
  const problem = await handOver(own, { commit: work, known: work, ref, why: 'ralph: discarded' });
  return problem ?? (await git.order(['update-ref', '--no-deref', '-d', fetched, work], from)) ?? done;
}

/** What the run has changed and nobody has committed. */
async function discardHere(
  run: EndedRun,
  { own, work, left, isOut, branch, from }: Leavings,
  { isDry }: DiscardRequest,
): Promise<
  | Discarded
  | Problem
  | { readonly outcome: 'conflict'; readonly branch: string; readonly conflicts: readonly Conflict[] }
> {
  const { commit: head = work } = await own.head();
  const [before, snapshot] = [await own.treeOf(head), await own.snapshot()];
  const after = await own.treeOf(work);
  if (isProblem(before)) return before;
  if (isProblem(after)) return after;
  if (isProblem(snapshot)) return snapshot;
  const changes = await own.changedPaths(before, after);
  if (isProblem(changes)) return changes;
  if (changes.length === 0 && isOut) {
    const fix = `\`git switch ${branch}\`, then \`ralph discard\` again`;
    return { where: own.top, what: `its commits are on ${from}, and that is checked out`, fix };
  }
  const merged = await mergeTrees(own, { base: after, ours: snapshot.tree, theirs: before });
  if (isProblem(merged)) return merged;
  if (merged.conflicts.length > 0) return { outcome: 'conflict', branch, conflicts: merged.conflicts };
  const ref = keptUnder(run);
  const git = ['git', '-C', own.top];
  const show = joinWords([...git, 'diff-tree', '-p', '--binary', '--full-index', `${ref}^`, ref]);
  const files = changes.map(({ path }) => shownPath(path));
  const done = {
    removed: [],
    worktrees: [],
    files,
    left,
    back: [`${show} | ${joinWords([...git, 'apply'])}`],
  };
  if (isDry) return done;
  const problem =
    (await handOver(own, { commit: work, known: head, ref, why: 'ralph: discarded' })) ??
    (await own.moveFiles(snapshot.tree, merged.tree));
  return problem ?? (await unstage(run, own, before, changes)) ?? done;
}

/** What the agent had staged of it. */
async function unstage(
  { id }: EndedRun,
  own: OwnGit,
  before: string,
  changes: readonly ChangedPath[],
): Promise<Problem | undefined> {
  const staged = await readStaged(own, before);
  if (isProblem(staged)) return staged;
  const there = new Set(staged.entries);
  const undone = changes.filter(change => indexInfo([change]).some(entry => there.has(entry)));
  if (undone.length === 0) return undefined;
  const entries = indexInfo(
    undone.map(({ bytes, before: after }) => ({ bytes, after })),
    before.length,
  );
  const { code, output } = await outsideOwner(own, id, () => {}).update(
    ['update-index', '-z', '--index-info'],
    Buffer.from(`${entries.join('\0')}\0`, 'latin1'),
  );
  return code === 0 ? undefined : { where: 'git index', what: complaint(output, code) };
}
