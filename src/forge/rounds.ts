/** What happens before a run is worked on again for its pull request: the words for its agent, and what is merged into its files. */
import { isGreen, redChecks } from '../domain/checks/check.ts';
import { checksPrompt, conflictPrompt, reviewPrompt } from '../domain/forge/prompt.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { checkMerged } from '../opening/merged-checks.ts';
import { mergeTip } from '../parallel/merging.ts';
import { sha256 } from '../platform/hash.ts';
import { putRound } from '../store/inbox.ts';
import { prdPaths } from '../store/prd-paths.ts';
import { createIntegration } from '../workspace/integration.ts';
import { openStoryBranch, type StoryBranch } from '../workspace/story-branch.ts';
import type { Seen } from './facts.ts';
import type { Following } from './follow.ts';
import { writeStatus } from './status-comment.ts';

/** The same round has the same name: prepared twice, it is heard once. The message comes first, so that a kill in between loses no words. */
function tell({ run }: Following, about: readonly string[], text: string): void {
  putRound(run.paths, text, sha256(about.join('\0')).slice(0, 8));
}

export async function prepareChecks(
  following: Following,
  seen: Seen,
  names: readonly string[],
): Promise<'again' | Problem> {
  const { ledger, access } = following;
  const red = seen.checks.filter(({ name, state }) => state === 'red' && names.includes(name));
  const jobs = await Promise.all(
    red.map(async check => ({ name: check.name, log: await access.forge.failureOf(check) })),
  );
  const { head } = seen.pull;
  tell(following, ['checks', head, ...names], checksPrompt(jobs));
  ledger.note({ type: 'forge-round', why: 'checks', names, words: [], commit: head });
  return (await writeStatus(following, seen, `Fixing red checks: ${names.join(', ')}.`)) ?? 'again';
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
  const { ledger, access, run, work } = following;
  const { base, head } = seen.pull;
  const branch = await branchOf(following);
  if (isProblem(branch)) return branch;
  if (!branch)
    return { needsYou: `It conflicts with ${base}, and Ralph merges only in a worktree of its own.` };
  const ref = `refs/heads/${access.base}`;
  const tip = await access.remote.tip(ref);
  if (isProblem(tip)) return tip;
  if (tip === undefined) return { needsYou: `The remote has no branch ${access.base} any more.` };
  const missing = await access.remote.bring([ref]);
  if (missing) return missing;
  const about = ['conflict', head, tip];
  tell(following, about, conflictPrompt(access.base, undefined));
  const note = (merge?: string) =>
    ledger.note({
      ...{ type: 'forge-round', why: 'conflict', names: [base], words: [], commit: head },
      ...(merge !== undefined && { merge }),
    });
  let isNoted = false;
  const integration = createIntegration(work.own, run.id);
  const conflicts = await mergeTip(integration, branch, tip, listPaths(following), ({ merge }) => {
    isNoted = true;
    note(merge);
  });
  if (isProblem(conflicts)) return conflicts;
  if (!isNoted) note();
  tell(following, about, conflictPrompt(access.base, conflicts));
  return (await writeStatus(following, seen, `Merging ${base} into the work.`)) ?? 'again';
}

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
): Promise<'look' | Problem | { readonly needsYou: string }> {
  const { ledger, run, work, request } = following;
  const { tip } = seen;
  const branch = await branchOf(following);
  if (isProblem(branch)) return branch;
  if (!branch || tip === undefined)
    return {
      needsYou:
        'Somebody else has pushed to the branch, and Ralph takes that in only in a worktree of its own.',
    };
  const checks = await checkMerged(run, { ...work.found, work: tip }, tip, request);
  if (isProblem(checks)) return checks;
  if (!isGreen(checks)) {
    const names = redChecks(checks).map(({ command }) => command);
    return { needsYou: `With what somebody else has pushed these checks fail: ${names.join(', ')}.` };
  }
  const last = ledger.state().pushed.at(-1) ?? work.commit;
  const problem =
    (await createIntegration(work.own, run.id).deliver(tip, last)) ?? (await branch.moveTo(tip, tip));
  if (problem) return problem;
  ledger.note({ type: 'forge-round', why: 'foreign', names: [], words: [], commit: tip });
  ledger.note({ type: 'forge', act: 'push', outcome: 'nothing-to-do', detail: work.branch, commit: tip });
  return 'look';
}

/** undefined: the run has no worktree of its own. */
async function branchOf({ run, work }: Following): Promise<StoryBranch | Problem | undefined> {
  const { worktree, from } = work.found;
  if (!worktree?.own || from === undefined) return undefined;
  return openStoryBranch({ cwd: worktree.own.top, env: run.env }, from);
}
