/** What a reviewer is told that is not in the files: what Ralph's own checks said, and what changed since the story was begun. */
import type { CheckResult } from '../domain/check.ts';
import { isProblem } from '../domain/problem.ts';
import type { ReviewFacts } from '../domain/story-prompt.ts';
import type { PlanParts } from '../turns/plan-parts.ts';
import { accumulatedDiff, startRef } from '../workspace/diff.ts';

const DIFF_CHARS = 20_000;

export function createReviewFacts({ cwd, env, settings }: Pick<PlanParts, 'cwd' | 'env' | 'settings'>) {
  /** By story: the commit that it was begun on. */
  const begun = new Map<string, string>();
  const seen = new Map<string, readonly CheckResult[]>();
  return {
    /** Before the first iteration that builds it. */
    async begin(story: string): Promise<void> {
      if (begun.has(story)) return;
      const commit = await startRef({ cwd, env });
      if (typeof commit === 'string') begun.set(story, commit);
    },
    /** After an iteration that was for it. */
    saw(story: string | undefined, results: readonly CheckResult[]): void {
      if (story !== undefined && results.length > 0) seen.set(story, results);
    },
    async of(story: string): Promise<ReviewFacts> {
      const commit = begun.get(story);
      const results = seen.get(story) ?? [];
      const facts = { results, protect: settings.protect };
      if (commit === undefined) return facts;
      const diff = await accumulatedDiff({ cwd, env, startRef: commit, maxChars: DIFF_CHARS });
      return isProblem(diff) ? facts : { ...facts, diff: diff.text };
    },
  };
}
