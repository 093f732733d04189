/** Where a story stands, in one word. */
import type { Story } from '../domain/story.ts';
import type { StoryStatus } from './run-view.ts';

export function storyStatus({ passes, reviewStatus }: Pick<Story, 'passes' | 'reviewStatus'>): StoryStatus {
  if (passes) return 'approved';
  return reviewStatus === 'needs_review' || reviewStatus === 'changes_requested' ? reviewStatus : 'open';
}
