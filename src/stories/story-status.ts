/** Where the stories of a run stand, for the verdict and for people. */
import type { Settings } from '../config/settings-shape.ts';
import type { StoryEvidence } from '../domain/run/evidence.ts';
import { cappedStory, formatEstimate, openStories, type ReviewPolicy } from '../domain/stories/assignment.ts';
import type { Story, StoryList } from '../domain/stories/story.ts';
import type { StoryKeeper } from './keeper.ts';

export function standOf(keeper: StoryKeeper, policy: ReviewPolicy): Pick<StoryEvidence, 'open' | 'capped'> {
  const open = openStories(keeper.list(), policy).map(story => story.id);
  const capped = cappedStory(keeper.list(), keeper.assignment(), policy);
  return { open, ...(capped && { capped: cappedWords(capped) }) };
}

function cappedWords({ id, reviewCount, reviewFeedback }: Story): string {
  return `${id} was reviewed ${reviewCount} times: ${reviewFeedback}`;
}

export function startWords(list: StoryList, settings: Settings): string {
  const { length: total } = list.userStories;
  const policy = policyOf(settings);
  if (openStories(list, policy).length > 0) return formatEstimate(list, policy, settings.maximumIterations);
  return `Every story is done already (${total} of ${total}). Next: ralph prd archive`;
}

export function policyOf({ skipReview, reviewCap, atCap }: Settings): ReviewPolicy {
  return { skipReview, reviewCap, atCap };
}
