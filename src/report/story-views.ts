/** The stories of a run, from the list in its folder. */
import { readList, type Story } from '../domain/stories/story.ts';
import { readStories } from '../store/kept.ts';
import type { RunPaths } from '../store/paths.ts';
import { type RunView, type StoryView, storyStatus } from './run-view.ts';

/** A list that is gone, cut or damaged is no list. */
export function storyViews({ storyList }: RunView, paths: RunPaths): readonly StoryView[] {
  if (storyList === null) return [];
  const list = readList(parsed(readStories(paths, storyList) ?? ''));
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
