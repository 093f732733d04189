/** The stories of a run, from the list in its folder. */
import { readList, type Story } from '../domain/story.ts';
import type { RunPaths } from '../store/paths.ts';
import { readStoryCopy } from '../store/story-copies.ts';
import { type RunView, type StoryView, storyStatus } from './run-view.ts';

/** Nothing else becomes a part of a path: a ledger can be changed to say anything. */
const HASH = /^[0-9a-f]{1,128}$/;

/** A list that is gone, cut or damaged is no list. */
export function storyViews({ storyList }: RunView, paths: RunPaths): readonly StoryView[] {
  if (storyList === null || !HASH.test(storyList)) return [];
  const list = readList(parsed(readStoryCopy(paths, storyList) ?? ''));
  return 'userStories' in list ? list.userStories.map(storyView) : [];
}

function storyView(story: Story): StoryView {
  const { id, title, reviewCount, reviewFeedback } = story;
  return { id, title, status: storyStatus(story), reviews: reviewCount, feedback: reviewFeedback };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
