/** What a reviewer is told that is not in the files: what Ralph's own checks said, and what changed since the story was begun. */
import type { CheckResult } from '../domain/checks/check.ts';
import type { ReviewFacts } from '../domain/stories/prompt.ts';
import { isProblem } from '../domain/text/problem.ts';
import type { RunContext } from '../turns/context.ts';
import { accumulatedDiff } from '../workspace/diff.ts';
import { openOwnGit } from '../workspace/own-git.ts';
import type { Place } from '../workspace/repository.ts';

const DIFF_CHARS = 20_000;

export function createReviewFacts({
  cwd,
  env,
  settings,
  past,
}: Pick<RunContext, 'cwd' | 'env' | 'settings' | 'past'>) {
  /** By story: the tree that it was begun on. */
  const begun = new Map<string, string>();
  const seen = new Map<string, readonly CheckResult[]>();
  return {
    /** Before the first iteration that builds it. */
    async begin(story: string): Promise<void> {
      if (begun.has(story)) return;
      const { last, prepared } = past();
      const tree = last ? last.judged?.snapshot : prepared?.start?.tree;
      const known = tree ?? (await treeNow({ cwd, env }));
      if (known !== undefined) begun.set(story, known);
    },
    /** After an iteration that was for it. */
    saw(story: string | undefined, results: readonly CheckResult[]): void {
      if (story !== undefined && results.length > 0) seen.set(story, results);
    },
    async of(story: string): Promise<ReviewFacts> {
      const startTree = begun.get(story);
      const results = seen.get(story) ?? [];
      const facts = { results, protect: settings.protect };
      if (startTree === undefined) return facts;
      const diff = await accumulatedDiff({ cwd, env, startTree, maxChars: DIFF_CHARS });
      return isProblem(diff) ? facts : { ...facts, diff: diff.text };
    },
  };
}

async function treeNow(place: Place): Promise<string | undefined> {
  const own = await openOwnGit(place);
  const taken = isProblem(own) ? own : await own.snapshot();
  return isProblem(taken) ? undefined : taken.tree;
}
