/** What became of the stories of a run: for the final block, `--json` and the archive. */
import type { IterationResult } from './result.ts';
import type { ReviewStatus, StoryList } from './story.ts';
import { isDone, type ReviewPolicy } from './story-mode.ts';
import { CAP_PREFIX } from './story-repair.ts';

export interface StoryOutcome {
  readonly id: string;
  readonly title: string;
  readonly done: boolean;
  readonly reviewStatus: ReviewStatus;
  /** Over its whole life. */
  readonly reviews: number;
  /** It has had all the reviews there may be. */
  readonly reachedCap: boolean;
  /** Approved because of that, with what was still wrong in its feedback. */
  readonly autoApproved: boolean;
  /** Iterations of this run that were for it. */
  readonly iterations: number;
  /** Dollars of those; null: unknown, which is not zero. */
  readonly cost: number | null;
}

export interface StoryReport {
  readonly total: number;
  readonly done: number;
  /** Over their whole lives. */
  readonly reviews: number;
  readonly capHits: number;
  readonly stories: readonly StoryOutcome[];
}

export function buildStoryReport(
  list: StoryList,
  iterations: readonly Pick<IterationResult, 'story' | 'cost'>[],
  policy: ReviewPolicy,
): StoryReport {
  const stories = list.userStories.map((story): StoryOutcome => {
    const own = iterations.filter(iteration => iteration.story === story.id);
    return {
      id: story.id,
      title: story.title,
      done: isDone(story, policy),
      reviewStatus: story.reviewStatus,
      reviews: story.reviewCount,
      reachedCap: !policy.skipReview && story.reviewCount >= policy.reviewCap,
      autoApproved: story.reviewStatus === 'approved' && story.reviewFeedback.startsWith(CAP_PREFIX),
      iterations: own.length,
      cost: costOf(own),
    };
  });
  return {
    total: stories.length,
    done: stories.filter(story => story.done).length,
    reviews: stories.reduce((sum, story) => sum + story.reviews, 0),
    capHits: stories.filter(story => story.reachedCap).length,
    stories,
  };
}

function costOf(iterations: readonly Pick<IterationResult, 'cost'>[]): number | null {
  let sum = 0;
  for (const { cost } of iterations) {
    if (cost === null) return null;
    sum += cost;
  }
  return sum;
}
