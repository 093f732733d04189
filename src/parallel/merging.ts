/** Merges of a parallel run: the tip into a lane, and a lane onto the tip. Files of Ralph's own are left out of them and written by Ralph. */
import type { Landed, SentBack } from '../domain/lanes/board.ts';
import {
  type Conflict,
  conflictWords,
  countMarks,
  isMadeUp,
  pathsOf,
  undecidedIn,
} from '../domain/lanes/conflict.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Integration, OwnFile } from '../workspace/integration.ts';
import { SUBMODULE } from '../workspace/own-objects.ts';
import type { StoryBranch } from '../workspace/story-branch.ts';
import type { FilesAt } from './lane-work.ts';

/** The work of a lane with Ralph's own files as they were where it began: else nearly every two lanes would conflict in the list alone. */
async function bareWork(
  integration: Integration,
  head: string,
  base: string,
  ownPaths: readonly string[],
): Promise<string | Problem> {
  const tree = await integration.own.treeOf(head);
  if (isProblem(tree)) return tree;
  const bare = await integration.withFilesOf(tree, base, ownPaths);
  if (isProblem(bare) || bare === tree) return isProblem(bare) ? bare : head;
  return integration.commit({
    tree: bare,
    parents: [head],
    message: "Ralph's own files as they were",
    date: 0,
  });
}

export interface Work {
  readonly head: string;
  readonly message: string;
  readonly date: number;
  /** It brings history, if nothing else. */
  readonly isMerge?: boolean;
}

export type Built =
  | { readonly kind: 'candidate'; readonly commit: string; readonly tree: string }
  | { readonly kind: 'conflict'; readonly conflicts: readonly Conflict[] }
  /** Of the lane's own work nothing is left to land. */
  | { readonly kind: 'empty' };

/** The commit that would land: the lane on top of the tip. */
export async function buildCandidate(
  integration: Integration,
  tip: string,
  work: Work,
  ownPaths: readonly string[],
  write: (files: FilesAt) => Promise<readonly OwnFile[]>,
): Promise<Built | Problem> {
  const base = await integration.baseOf(tip, work.head);
  if (isProblem(base)) return base;
  const bare = await bareWork(integration, work.head, base, ownPaths);
  if (isProblem(bare)) return bare;
  const merged = await integration.merge(tip, bare);
  if (isProblem(merged)) return merged;
  if (merged.conflicts.length > 0) return { kind: 'conflict', conflicts: merged.conflicts };
  const before = await integration.own.treeOf(tip);
  if (isProblem(before)) return before;
  if (merged.tree === before && !work.isMerge) return { kind: 'empty' };
  const at = (commit: string) => (path: string) => integration.readFile(commit, path);
  const files = await write({ tip: at(tip), base: at(base), own: at(work.head) });
  const tree = await integration.withFiles(merged.tree, files);
  if (isProblem(tree)) return tree;
  const { message, date } = work;
  const parents = [tip, work.head];
  const commit = await integration.commit({ tree, parents, message, date, isSigned: true });
  return isProblem(commit) ? commit : { kind: 'candidate', commit, tree };
}

/** What a merge leaves to be decided. */
export interface MergeLeft {
  readonly merge: string;
  readonly conflicts: readonly Conflict[];
}

/** Puts it on a ledger. It is called before anything is in the files, so that a crash in between hides nothing. */
export type NoteMerge = (left: MergeLeft) => void;

/** The commit with the marks of conflicts in its files is known by this. */
export const WITH_CONFLICTS = 'Merge what has landed meanwhile, with conflicts to solve';

/** Puts what has landed since into the branch and files of a lane, with the conflicts as git leaves them; answers those. */
export async function mergeTip(
  integration: Integration,
  branch: StoryBranch,
  tip: string,
  ownPaths: readonly string[],
  note: NoteMerge,
): Promise<readonly Conflict[] | Problem> {
  const saved = await branch.commitWork(undefined, 'Work in progress, before a merge');
  if (isProblem(saved)) return saved;
  const { commit: head } = saved;
  const problem = await integration.own.bring(head);
  if (problem) return problem;
  if (await integration.isAncestor(tip, head)) return [];
  const base = await integration.baseOf(tip, head);
  if (isProblem(base)) return base;
  const bare = await bareWork(integration, head, base, ownPaths);
  if (isProblem(bare)) return bare;
  const merged = await integration.merge(tip, bare);
  if (isProblem(merged)) return merged;
  const tree = await integration.withFilesOf(merged.tree, head, ownPaths);
  if (isProblem(tree)) return tree;
  const { conflicts } = merged;
  const message = conflicts.length === 0 ? 'Merge what has landed meanwhile' : WITH_CONFLICTS;
  const commit = await integration.commit({ tree, parents: [head, tip], message, isSigned: true });
  if (isProblem(commit)) return commit;
  if (conflicts.length > 0) note({ merge: commit, conflicts });
  const failed = (await integration.deliver(commit, head)) ?? (await branch.moveTo(commit, tip));
  return failed ?? conflicts;
}

/** Those of which everything is as git has left it. */
export async function undecided(
  integration: Integration,
  commit: string,
  conflicts: readonly Conflict[] = [],
): Promise<readonly Conflict[] | Problem> {
  const now = await integration.entriesAt(commit, pathsOf(conflicts));
  return isProblem(now) ? now : undecidedIn(conflicts, now);
}

/** Files in which a commit leaves the marks of a conflict that were not there before, or that have a name that git made up. */
export async function unsolved(
  integration: Integration,
  before: string,
  commit: string,
): Promise<readonly string[] | Problem> {
  const changed = await integration.own.changedPaths(`${before}^{tree}`, `${commit}^{tree}`);
  if (isProblem(changed)) return changed;
  const marked: string[] = [];
  for (const { path, before: was, after } of changed) {
    if (!after) continue;
    if (isMadeUp(path)) marked.push(path);
    if (isMadeUp(path) || after.mode === SUBMODULE) continue;
    // By its content: a name that is not UTF-8 cannot be asked for.
    const text = await integration.readBlob(after.oid);
    if (text === undefined) return { where: path, what: 'git cannot read it' };
    const now = countMarks(text);
    if (now > 0 && now > countMarks((was && (await integration.readBlob(was.oid))) ?? '')) marked.push(path);
  }
  return marked;
}

/** What this commit takes away of what was landed before: `a.txt of US-001`, `3 lines of b.txt of US-001`. A file that it has removed and that is back, too. */
export async function removedWork(
  integration: Integration,
  { base, landed }: { readonly base: string; readonly landed: readonly Pick<Landed, 'story' | 'commit'>[] },
  { tip, commit }: { readonly tip: string; readonly commit: string },
  ownPaths: readonly string[],
): Promise<readonly string[] | Problem> {
  const own = await integration.changedLines(tip, commit, ownPaths);
  if (isProblem(own)) return own;
  const less = [...own].filter(
    ([, { removed, isGone, isNew, isOpaque }]) => isGone || isNew || isOpaque || removed.length > 0,
  );
  const found: string[] = [];
  let before = base;
  for (const { story, commit: theirs } of less.length === 0 ? [] : landed) {
    const work = await integration.changedLines(before, theirs, ownPaths);
    if (isProblem(work)) return work;
    for (const [path, now] of less) {
      const earlier = work.get(path);
      if (!earlier) continue;
      const had = new Set(earlier.added);
      const count = now.removed.filter(line => had.has(line)).length;
      // Of what git shows no lines nobody can say what is left of theirs.
      const isUnclear = !earlier.isGone && (now.isOpaque || earlier.isOpaque);
      const isGone = now.isGone && (earlier.isNew || count > 0);
      if (isGone || isUnclear || (now.isNew && earlier.isGone)) found.push(`${path} of ${story}`);
      else if (count > 0) found.push(`${count} ${count === 1 ? 'line' : 'lines'} of ${path} of ${story}`);
    }
    before = theirs;
  }
  return found;
}

/** For the agent that has to make it fit. */
export function sentBackWords({ why, files, conflicts = [], others, detail }: SentBack): string {
  const open = conflicts.length === 0 ? '' : `\n\n${conflictWords(conflicts)}`;
  const met = others.length > 0 ? ` It meets: ${others.join('; ')}.` : '';
  switch (why) {
    case 'conflict':
      return conflicts.length > 0
        ? `It conflicts with what has landed meanwhile. The merge is in the files: solve it there, and run the checks.${met}${open}`
        : `It conflicts with what has landed meanwhile. The merge is in the files: solve the conflict marks in ${files.join(', ')}, keeping what both sides want, and run the checks.${met}`;
    case 'red':
      return `Alone it passes; merged with what has landed meanwhile the checks fail. The merge is in the files: fix it there.${met}${open}\n\n${detail}`;
    case 'unwatched':
      return `Its checks pass, and would not notice enough faults in what it changes. Add tests that do.${open}\n\n${detail}`;
    case 'changed':
      return `The merge with what has landed meanwhile changed what was reviewed. The merge is in the files: see that it is still right.${met}${open}`;
    default:
      return why satisfies never;
  }
}
