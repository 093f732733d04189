/** A story of a parallel run is brought up to date before its review: conflicts are solved before somebody looks, not after. */
import type { Past } from '../domain/past.ts';
import type { Assignment } from '../domain/story-mode.ts';
import type { StoryKeeper } from './keeper.ts';

interface Parts {
  past(): Past;
  sync?(): Promise<string | undefined>;
}

export async function broughtUpToDate(
  { sync, past }: Parts,
  keeper: StoryKeeper,
  iteration: number,
): Promise<Assignment> {
  const assignment = keeper.begin();
  const { mode, story } = assignment;
  const { open } = past();
  // A review that was cut off is taken again with the files as it found them.
  const isBegun = open?.number === iteration && open.kept !== undefined;
  const misfit = mode === 'review' && story && !isBegun ? await sync?.() : undefined;
  return misfit === undefined || !story ? assignment : keeper.sendBack(story.id, misfit);
}
