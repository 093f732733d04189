/** The story list as the user left it, or everything that is wrong with it; and where its stories stand. */
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { Settings } from '../../config/settings-shape.ts';
import type { StoryEvidence } from '../../domain/run/evidence.ts';
import {
  cappedStory,
  formatEstimate,
  openStories,
  type ReviewPolicy,
} from '../../domain/stories/assignment.ts';
import type { Story, StoryList } from '../../domain/stories/story.ts';
import { findInvalidStories } from '../../domain/stories/transitions.ts';
import type { Problem } from '../../domain/text/problem.ts';
import type { PrdPaths } from '../../store/prd-paths.ts';
import { isList, loadTasks } from '../../store/tasks-file.ts';
import type { StoryKeeper } from './keeper.ts';

/** `known`: the list itself, where it is not to be read from the file. */
export function loadStories(
  paths: PrdPaths,
  policy: ReviewPolicy,
  known?: StoryList,
): StoryList | readonly Problem[] {
  const tasks = relative(paths.root, paths.tasks);
  const list = known ?? loadTasks(paths.tasks, tasks);
  const missing = existsSync(paths.prd)
    ? []
    : [{ where: relative(paths.root, paths.prd), what: 'there is none', fix: '`ralph prd init` makes one' }];
  if (!isList(list)) return [...missing, ...list];
  const broken = findInvalidStories(list.userStories, { ...policy, reviewCap: Number.MAX_SAFE_INTEGER });
  const problems = [
    ...missing,
    ...broken.map(what => ({ where: tasks, what })),
    ...(list.userStories.length === 0
      ? [{ where: tasks, what: 'there are no stories in it', fix: '`ralph prd plan` makes them with you' }]
      : []),
  ];
  return problems.length > 0 ? problems : list;
}

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
