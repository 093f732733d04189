/** Merges of a parallel run: the tip into a lane, and a lane onto the tip. Files of Ralph's own are left out of them and written by Ralph. */
import type { SentBack } from '../domain/board.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { Integration, OwnFile } from '../workspace/integration.ts';
import type { StoryBranch } from '../workspace/story-branch.ts';
import type { FilesAt } from './crew.ts';

/** The work of a lane with Ralph's own files as they were where it began: else nearly every two lanes would conflict in the list alone. */
async function bareWork(
  integration: Integration,
  head: string,
  base: string,
  ownPaths: readonly string[],
): Promise<string | Problem> {
  const tree = await integration.own.treeOf(head);
  if (isProblem(tree)) return tree;
  const files = await filesOf(integration, base, ownPaths);
  const bare = await integration.withFiles(tree, files);
  if (isProblem(bare) || bare === tree) return isProblem(bare) ? bare : head;
  return integration.commit({
    tree: bare,
    parents: [head],
    message: "Ralph's own files as they were",
    date: 0,
  });
}

async function filesOf(
  integration: Integration,
  commit: string,
  paths: readonly string[],
): Promise<readonly OwnFile[]> {
  return Promise.all(paths.map(async path => [path, await integration.readFile(commit, path)] as const));
}

export interface Work {
  readonly head: string;
  readonly message: string;
  readonly date: number;
}

export type Built =
  | { readonly kind: 'candidate'; readonly commit: string; readonly tree: string }
  | { readonly kind: 'conflict'; readonly files: readonly string[] };

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
  if (merged.conflicts.length > 0) return { kind: 'conflict', files: merged.conflicts };
  const at = (commit: string) => (path: string) => integration.readFile(commit, path);
  const files = await write({ tip: at(tip), base: at(base), own: at(work.head) });
  const tree = await integration.withFiles(merged.tree, files);
  if (isProblem(tree)) return tree;
  const { message, date } = work;
  const commit = await integration.commit({ tree, parents: [tip, work.head], message, date });
  return isProblem(commit) ? commit : { kind: 'candidate', commit, tree };
}

/** Puts what has landed since into the branch and files of a lane, with marks where files conflict; answers those. */
export async function mergeTip(
  integration: Integration,
  branch: StoryBranch,
  tip: string,
  ownPaths: readonly string[],
): Promise<readonly string[] | Problem> {
  const saved = await branch.commitAll(undefined, 'Work in progress, before a merge');
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
  const tree = await integration.withFiles(merged.tree, await filesOf(integration, head, ownPaths));
  if (isProblem(tree)) return tree;
  const left = merged.conflicts.length === 0 ? '' : ', with conflicts to solve';
  const message = `Merge what has landed meanwhile${left}`;
  const commit = await integration.commit({ tree, parents: [head, tip], message });
  if (isProblem(commit)) return commit;
  const failed = (await integration.deliver(commit, head)) ?? (await branch.moveTo(commit));
  return failed ?? merged.conflicts;
}

const MARKS = /^<{7} [\s\S]*^={7}$[\s\S]*^>{7} /m;

/** Files in which a commit leaves the marks of a conflict that were not there before. */
export async function unsolved(
  integration: Integration,
  before: string,
  commit: string,
): Promise<readonly string[]> {
  const changed = await integration.own.changedPaths(`${before}^{tree}`, `${commit}^{tree}`);
  const marked: string[] = [];
  for (const { path, after } of isProblem(changed) ? [] : changed) {
    const isMarked = async (at: string) => MARKS.test((await integration.readFile(at, path)) ?? '');
    if (after && (await isMarked(commit)) && !(await isMarked(before))) marked.push(path);
  }
  return marked;
}

/** For the agent that has to make it fit. */
export function sentBackWords({ why, files, others, detail }: SentBack): string {
  const met = others.length > 0 ? ` It meets: ${others.join('; ')}.` : '';
  switch (why) {
    case 'conflict':
      return `It conflicts with what has landed meanwhile. The merge is in the files: solve the conflict marks in ${files.join(', ')}, keeping what both sides want, and run the checks.${met}`;
    case 'red':
      return `Alone it passes; merged with what has landed meanwhile the checks fail. The merge is in the files: fix it there.${met}\n\n${detail}`;
    case 'unwatched':
      return `Its checks pass, and would not notice enough faults in what it changes. Add tests that do.\n\n${detail}`;
    case 'changed':
      return `The merge with what has landed meanwhile changed what was reviewed. The merge is in the files: see that it is still right.${met}`;
    default:
      return why satisfies never;
  }
}
