/** What an iteration of `ralph prd` is for: which mode, which story; and when there is nothing left to do. */
import type { Story, StoryList } from './story.ts';

export const STORY_MODES = ['implement', 'review', 'review-fix', 'merge-fix'] as const;

export type StoryMode = (typeof STORY_MODES)[number];

/** Before the feedback of a story that does not fit what others have landed since. */
export const MERGE_PREFIX = '[MERGE]';

/** What happens to a story that is still not approved after its last allowed review. */
export type AtCap = 'approve' | 'stop';

export interface ReviewPolicy {
  /** No reviews: an implement iteration sets `passes` itself. */
  readonly skipReview: boolean;
  readonly reviewCap: number;
  readonly atCap: AtCap;
}

export interface Assignment {
  readonly mode: StoryMode;
  /** undefined: every story is done, and something else is still to be fixed. */
  readonly story?: Story;
}

/** Feedback is answered before anything new is reviewed, and what waits for its review before anything new is begun. */
export function nextAssignment(
  { userStories }: StoryList,
  { skipReview }: ReviewPolicy,
  /** Ids of stories that wait for an answer of the user. */
  asking: ReadonlySet<string> = new Set(),
): Assignment {
  // Stories of the same priority keep the order of the list.
  const stories = userStories.filter(({ id }) => !asking.has(id)).sort((a, b) => a.priority - b.priority);
  const find = (status: Story['reviewStatus']) => stories.find(story => story.reviewStatus === status);
  const merge = stories.find(
    ({ passes, reviewStatus, reviewFeedback }) =>
      !passes && reviewStatus !== 'needs_review' && reviewFeedback.startsWith(MERGE_PREFIX),
  );
  if (merge) return { mode: 'merge-fix', story: merge };
  const fix = skipReview ? undefined : find('changes_requested');
  if (fix) return { mode: 'review-fix', story: fix };
  const review = skipReview ? undefined : find('needs_review');
  if (review) return { mode: 'review', story: review };
  const passed = passedIds(userStories);
  const story = stories.find(each => !each.passes && waitsFor(each, passed).length === 0);
  return { mode: 'implement', ...(story && { story }) };
}

/** The story with work left to do before it fits: whatever was said of it before counts no longer. */
export function sendBackStory(
  story: Story,
  words: string,
  { skipReview }: Pick<ReviewPolicy, 'skipReview'>,
): Story {
  return {
    ...story,
    passes: false,
    reviewStatus: skipReview ? null : 'changes_requested',
    reviewCount: 0,
    reviewFeedback: `${MERGE_PREFIX} ${words}`,
  };
}

export function passedIds(stories: readonly Story[]): ReadonlySet<string> {
  return new Set(stories.filter(story => story.passes).map(story => story.id));
}

/** The stories that must be done first and are not. */
export function waitsFor({ dependsOn = [] }: Story, passed: ReadonlySet<string>): readonly string[] {
  return dependsOn.filter(id => !passed.has(id));
}

export function isDone(story: Story, { skipReview }: Pick<ReviewPolicy, 'skipReview'>): boolean {
  return story.passes && (skipReview || story.reviewStatus === 'approved');
}

export function openStories(list: StoryList, policy: Pick<ReviewPolicy, 'skipReview'>): readonly Story[] {
  return list.userStories.filter(story => !isDone(story, policy));
}

/** The story that was just reviewed for the last time and is not approved: the run stops for it. No cap approves over a red check. */
export function cappedStory(
  { userStories }: StoryList,
  { mode, story }: Assignment,
  { reviewCap }: ReviewPolicy,
): Story | undefined {
  if (mode !== 'review') return undefined;
  return userStories.find(
    ({ id, reviewStatus, reviewCount }) =>
      id === story?.id && reviewStatus === 'changes_requested' && reviewCount >= reviewCap,
  );
}

/** Implement, review, and for every second story a fix with its review. */
const USUAL = 3;

/** How many iterations the rest of a list is likely to need. */
export function estimateIterations(list: StoryList, policy: Pick<ReviewPolicy, 'skipReview'>): number {
  return openStories(list, policy)
    .map(story => (policy.skipReview ? 1 : story.reviewStatus === null ? USUAL : USUAL - 1))
    .reduce((sum, iterations) => sum + iterations, 0);
}

export function formatEstimate(list: StoryList, policy: ReviewPolicy, maxIterations: number): string {
  const open = openStories(list, policy).length;
  const needed = estimateIterations(list, policy);
  const each = policy.skipReview ? 'one iteration' : `about ${USUAL} iterations`;
  const stories = open === 1 ? '1 story' : `${open} stories`;
  const enough =
    maxIterations === 0 || needed <= maxIterations
      ? ''
      : ` That is more than the ${maxIterations} allowed: raise it with -n.`;
  return `${stories} to go, ${each} for a whole one: about ${needed} needed.${enough}`;
}
