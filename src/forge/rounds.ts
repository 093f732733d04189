/** What happens before a run is worked on again for its pull request: the words for its agent, and what is merged into its files. */
import { isGreen, redChecks } from '../domain/checks/check.ts';
import type { ForgeEvent } from '../domain/forge/forge-event.ts';
import {
  checksPrompt,
  conflictPrompt,
  foreignPrompt,
  type RedJob,
  reviewPrompt,
} from '../domain/forge/prompt.ts';
import type { Conflict } from '../domain/lanes/conflict.ts';
import { isCommit } from '../domain/text/commit.ts';
import { listSome } from '../domain/text/feedback.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { checkMerged } from '../opening/merged-checks.ts';
import { mergeTip, WITH_CONFLICTS } from '../parallel/merging.ts';
import { sha256 } from '../platform/hash.ts';
import { putRound } from '../store/inbox.ts';
import { prdPaths } from '../store/prd-paths.ts';
import { createIntegration, type Integration } from '../workspace/integration.ts';
import { openStoryBranch, type StoryBranch } from '../workspace/story-branch.ts';
import { whyNotAgain } from './again.ts';
import type { Seen } from './facts.ts';
import type { Following } from './follow.ts';
import type { UnitSource } from './pull-request.ts';
import { writeStatus } from './status-comment.ts';

/** The same round has the same name: prepared twice, it is heard once. The message comes first, so that a kill in between loses no words. */
function tell({ run }: Following, about: readonly string[], text: string, carry?: string): void {
  const hint = { text, ...(carry !== undefined && { carry }) };
  putRound(run.paths, hint, sha256(about.join('\0')).slice(0, 8));
}

export async function prepareChecks(
  following: Following,
  seen: Seen,
  names: readonly string[],
): Promise<'again' | Problem> {
  const { ledger, access } = following;
  const red = seen.checks.filter(({ name, state }) => state === 'red' && names.includes(name));
  const jobs: RedJob[] = [];
  for (const check of red) {
    const log = await access.forge.failureOf(check);
    if (isProblem(log)) return log;
    jobs.push({ name: check.name, log });
  }
  const { head } = seen.pull;
  tell(following, ['checks', head, ...names], checksPrompt(jobs));
  ledger.note({ type: 'forge-round', why: 'checks', names, words: [], commit: head });
  return (await writeStatus(following, seen, `Fixing red checks: ${listSome(names)}.`)) ?? 'again';
}

export async function prepareReview(following: Following, seen: Seen): Promise<'again' | Problem> {
  const { ledger } = following;
  const { requests, pull } = seen;
  const words = requests.map(({ id }) => id);
  const names = [...new Set(requests.map(({ author }) => author))];
  tell(following, ['review', ...words], reviewPrompt(requests));
  ledger.note({ type: 'forge-round', why: 'review', names, words, commit: pull.head });
  return (await writeStatus(following, seen, 'Working on what the review asks for.')) ?? 'again';
}

export type Prepared = 'again' | Problem | { readonly needsYou: string };

/** The base is merged into the files, with the conflicts as git leaves them; never rebased. */
export async function prepareConflict(following: Following, seen: Seen): Promise<Prepared> {
  const { access } = following;
  const { base, head } = seen.pull;
  const ref = `refs/heads/${access.base}`;
  const tip = await access.remote.tip(ref);
  if (isProblem(tip)) return tip;
  if (tip === undefined) return { needsYou: `The remote has no branch ${access.base} any more.` };
  const missing = await access.remote.bring([ref]);
  if (missing) return missing;
  const merged = await prepareMerge(following, {
    ...{ tip, about: ['conflict', head, tip] },
    round: { type: 'forge-round', why: 'conflict', names: [base], words: [], commit: head },
    words: conflicts => conflictPrompt(access.base, conflicts),
  });
  if (merged === 'no-place') return { needsYou: `It conflicts with ${base}, and ${NO_PLACE}` };
  if (isProblem(merged)) return merged;
  return (await writeStatus(following, seen, `Merging ${base} into the work.`)) ?? 'again';
}

/** What only the user can do. */
const NO_PLACE =
  'the files of this run are your own: Ralph merges nothing into them. Merge it there and push, then the same command continues.';

interface Merging {
  readonly tip: string;
  readonly about: readonly string[];
  readonly round: Extract<ForgeEvent, { readonly type: 'forge-round' }>;
  words(conflicts: readonly Conflict[]): string;
}

/**
 * Into the worktree of the run, into a lane of its own, or into what the next worker of a unit begins with. The ledger comes before the files
 * that somebody works on: a kill in between leaves no merge that nobody knows of.
 */
async function prepareMerge(following: Following, merging: Merging): Promise<'no-place' | 'done' | Problem> {
  const { ledger, run, work, request } = following;
  const { tip, about, round, words } = merging;
  const integration = createIntegration(work.own, run.id);
  if (request.unit || run.past.board) {
    const merged = await integration.merge(tip, work.commit);
    if (isProblem(merged)) return merged;
    const { conflicts } = merged;
    if (!request.unit) {
      tell(following, about, words(conflicts));
      ledger.note({ ...round, tip });
      return 'done';
    }
    return carryMerge(following, { ...merging, unit: request.unit, ...merged });
  }
  const branch = await branchOf(following);
  if (!branch || isProblem(branch)) return branch ?? 'no-place';
  tell(following, about, words([]));
  let isNoted = false;
  const conflicts = await mergeTip(integration, branch, tip, listPaths(following), ({ merge }) => {
    isNoted = true;
    ledger.note({ ...round, merge });
  });
  if (isProblem(conflicts)) return conflicts;
  if (!isNoted) ledger.note(round);
  tell(following, about, words(conflicts));
  return 'done';
}

/** In the state of a run that is carried from worker to worker. */
const CARRIED = 'outside/run.json';

/** The next worker begins with the merge in its files. The words come last: what is not there yet is prepared again. */
async function carryMerge(
  following: Following,
  { unit, tip, tree, conflicts, about, round, words }: Merging & { readonly unit: UnitSource } & Merged,
): Promise<'done' | Problem> {
  const { ledger, work, access } = following;
  const { own } = work;
  const { carry, carryRef, nextRef } = unit.work();
  const missing = await access.remote.bring([carryRef]);
  if (missing) return missing;
  // It has the file of a run in it, or it is none.
  const parts = isCommit(carry) ? [`${carry}:${CARRIED}`, `${carry}^{tree}`, `${carry}^@`] : ['--verify', ''];
  const { code, stdout } = await own.objects.run(['rev-parse', ...parts]);
  const [, state = '', , ...kept] = stdout.trim().split('\n');
  if (code !== 0)
    return { where: carryRef, what: 'the remote does not have what the next worker would begin with' };
  const message = conflicts.length === 0 ? 'Merge what has landed meanwhile' : WITH_CONFLICTS;
  const merge = await own.commit({ tree, parents: [work.commit, tip], message });
  if (isProblem(merge)) return merge;
  const files = await own.commit({ tree, parents: [merge], message: 'Work in progress' });
  if (isProblem(files)) return files;
  const next = await own.commit({ tree: state, parents: [files, ...kept], message: 'State of a run' });
  if (isProblem(next)) return next;
  const unsent = await access.remote.put(next, nextRef);
  if (unsent) return unsent;
  ledger.note(conflicts.length === 0 ? round : { ...round, merge });
  await ledger.flushed();
  tell(following, about, words(conflicts), next);
  return 'done';
}

type Merged = Exclude<Awaited<ReturnType<Integration['merge']>>, Problem>;

/** The story list and its log are the run's own: a merge leaves them as they are. */
function listPaths({ run: { file }, work }: Following): readonly string[] {
  if (file.command !== 'prd') return [];
  const { root, tasks, progress } = prdPaths('/', file.given?.ralphDir);
  return [tasks, progress].map(path => `${work.own.prefix}${path.slice(root.length)}`);
}

/** What somebody else has pushed on top becomes part of the work, if its checks pass with it. */
export async function takeIn(
  following: Following,
  seen: Seen,
): Promise<'look' | 'again' | Problem | { readonly needsYou: string }> {
  const { ledger, run, work, request } = following;
  const { tip } = seen;
  if (tip !== undefined && (request.unit || run.past.board)) return takeInElsewhere(following, tip);
  const branch = await branchOf(following);
  if (isProblem(branch)) return branch;
  if (!branch || tip === undefined)
    return { needsYou: `Somebody else has pushed to the branch, and ${NO_PLACE}` };
  const checks = await checkMerged(run, { ...work.found, work: tip }, tip, request);
  if (isProblem(checks)) return checks;
  if (!isGreen(checks)) {
    const names = redChecks(checks).map(({ command }) => command);
    const next = 'Fix it on the branch and push, then the same command continues.';
    return { needsYou: `With what somebody else has pushed these checks fail: ${listSome(names)}. ${next}` };
  }
  const last = ledger.state().pushed.at(-1) ?? work.commit;
  const problem =
    (await createIntegration(work.own, run.id).deliver(tip, last)) ?? (await branch.moveTo(tip, tip));
  if (problem) return problem;
  ledger.note({ type: 'forge-round', why: 'foreign', names: [], words: [], commit: tip });
  ledger.note({ type: 'forge', act: 'push', outcome: 'nothing-to-do', detail: work.branch, commit: tip });
  return 'look';
}

/** Where Ralph has no files here to check it with, the run is worked on again with it. */
async function takeInElsewhere(
  following: Following,
  tip: string,
): Promise<'again' | Problem | { readonly needsYou: string }> {
  const stays = whyNotAgain(following);
  if (stays) return stays;
  const onTop = await onTopOfWork(following, tip);
  if (isProblem(onTop)) return onTop;
  const merged = await prepareMerge(following, {
    ...{ tip: onTop, about: ['foreign', tip], words: foreignPrompt },
    round: { type: 'forge-round', why: 'foreign', names: [], words: [], commit: tip },
  });
  return isProblem(merged) ? merged : 'again';
}

/** What was pushed is another commit with the same files as the work: what is on top of it is on top of the work as well. */
async function onTopOfWork({ ledger, run, work }: Following, tip: string): Promise<string | Problem> {
  const { own, commit } = work;
  const last = ledger.state().pushed.at(-1) ?? tip;
  const [pushed, ours, tree] = [await own.treeOf(last), await own.treeOf(commit), await own.treeOf(tip)];
  if (isProblem(tree)) return tree;
  if (isProblem(pushed) || pushed !== ours) return tip;
  const message = 'Take in what others have pushed';
  return own.commit({ tree, parents: [commit, tip], message, date: run.past.time.latest });
}

/** undefined: the run has no worktree of its own. */
async function branchOf({ run, work }: Following): Promise<StoryBranch | Problem | undefined> {
  const { worktree, from } = work.found;
  if (!worktree?.own || from === undefined) return undefined;
  return openStoryBranch({ cwd: worktree.own.top, env: run.env }, from);
}
