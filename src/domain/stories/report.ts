/** What became of the stories of a run: for the final block, `--json` and the archive. */
import type { IterationResult } from '../run/result.ts';
import { isDone, type ReviewPolicy } from './assignment.ts';
import { CAP_PREFIX } from './repair.ts';
import type { ReviewStatus, StoryList } from './story.ts';

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
  /** The reviewer left it approved in the list and did not say so: something that it ran may have written that. */
  readonly unsaid?: true;
  /** Iterations of this run that were for it. */
  readonly iterations: number;
  /** Dollars of those; null: unknown, which is not zero. */
  readonly cost: number | null;
  /** What the last review asks for, where it is not done. */
  readonly feedback?: string;
}

export type Role = 'implementer' | 'reviewer';

/** What one role has done in this run. */
export interface RoleOutcome {
  readonly role: Role;
  readonly agent: string;
  readonly iterations: number;
  /** Dollars; null: unknown, which is not zero. */
  readonly cost: number | null;
}

export interface StoryReport {
  readonly total: number;
  readonly done: number;
  /** Over their whole lives. */
  readonly reviews: number;
  readonly capHits: number;
  readonly stories: readonly StoryOutcome[];
  /** Where building and reviewing are done by different agents. */
  readonly roles?: readonly RoleOutcome[];
}

interface Beside {
  readonly agents?: Readonly<Record<Role, string>> | undefined;
  /** Those that were approved in the list, and not in words. */
  readonly unsaid?: readonly string[] | undefined;
}

export function buildStoryReport(
  list: StoryList,
  iterations: readonly Pick<IterationResult, 'story' | 'cost' | 'mode'>[],
  policy: ReviewPolicy,
  { agents, unsaid = [] }: Beside = {},
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
      ...(story.reviewStatus === 'approved' && unsaid.includes(story.id) && { unsaid: true }),
      iterations: own.length,
      cost: costOf(own),
      ...(story.reviewStatus === 'changes_requested' && { feedback: story.reviewFeedback }),
    };
  });
  return {
    total: stories.length,
    done: stories.filter(story => story.done).length,
    reviews: stories.reduce((sum, story) => sum + story.reviews, 0),
    capHits: stories.filter(story => story.reachedCap).length,
    stories,
    ...(agents && { roles: ROLES.map(role => roleOutcome(role, agents[role], iterations)) }),
  };
}

const ROLES = ['implementer', 'reviewer'] as const satisfies readonly Role[];

function roleOutcome(
  role: Role,
  agent: string,
  iterations: readonly Pick<IterationResult, 'cost' | 'mode'>[],
): RoleOutcome {
  const own = iterations.filter(({ mode }) => (mode === 'review') === (role === 'reviewer'));
  return { role, agent, iterations: own.length, cost: costOf(own) };
}

function costOf(iterations: readonly Pick<IterationResult, 'cost'>[]): number | null {
  let sum = 0;
  for (const { cost } of iterations) {
    if (cost === null) return null;
    sum += cost;
  }
  return sum;
}
