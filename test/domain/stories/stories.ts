/** Stories for tests. */
import type { Story, StoryList } from '../../../src/domain/stories/story.ts';

export function story(id: string, more: Partial<Story> = {}): Story {
  return {
    id,
    title: `Title of ${id}`,
    description: '',
    acceptanceCriteria: [`${id} works`],
    priority: 1,
    passes: false,
    reviewStatus: null,
    reviewCount: 0,
    reviewFeedback: '',
    notes: 'done so',
    dependsOn: [],
    ...more,
  };
}

export function storyList(...userStories: readonly Story[]): StoryList {
  return {
    project: 'Demo',
    branchName: 'ralph/demo',
    description: 'A demo',
    verifyCommands: [],
    userStories,
  };
}

/** A story in each state of its life. */
export const STATES = {
  open: {},
  waiting: { reviewStatus: 'needs_review' },
  rejected: { reviewStatus: 'changes_requested', reviewCount: 1, reviewFeedback: 'fix it' },
  approved: { reviewStatus: 'approved', reviewCount: 1, passes: true },
} as const satisfies Record<string, Partial<Story>>;
