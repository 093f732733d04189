/**
 * `prd.json` of other Ralph loops: userStories with id, title, description, acceptanceCriteria, priority, passes, notes. Nobody
 * has reviewed what they call passed, so it comes in as built and waiting for its review.
 */
import { isObject, type Json } from '../text/json.ts';
import { type StoryList, UNTOUCHED } from './story.ts';

/** What it becomes here; `readList` checks whether it is valid. */
export function convertForeignList(value: unknown): unknown {
  if (!isObject(value) || !Array.isArray(value.userStories)) return value;
  const { project, name, branchName, description } = value;
  return {
    ...value,
    project: project ?? name ?? '',
    branchName: branchName ?? '',
    description: description ?? '',
    verifyCommands: value.verifyCommands ?? [],
    userStories: value.userStories.map((story, at) =>
      isObject(story) ? fromForeignStory(story, at) : story,
    ),
  } satisfies Partial<Record<keyof StoryList, unknown>>;
}

function fromForeignStory(story: Json, at: number): Json {
  const isBuilt = story.passes === true && story.reviewStatus === undefined;
  return {
    ...UNTOUCHED,
    notes: '',
    dependsOn: [],
    ...story,
    ...(typeof story.id === 'number' && { id: String(story.id) }),
    priority: story.priority ?? at + 1,
    ...(isBuilt && { passes: false, reviewStatus: 'needs_review' }),
  };
}
