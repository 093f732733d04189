/** A story of a parallel run is brought up to date before its review, and sent back where it does not fit. */
import { describe, expect, test } from 'vitest';
import { broughtUpToDate } from '../../../src/run/stories/steps.ts';
import { STATES, story } from '../../domain/stories/stories.ts';
import { keeping } from './world.ts';

async function next(first: Parameters<typeof story>[1], misfit?: string, kept?: string) {
  const { keeper, emit, past } = keeping([story('US-001', first)]);
  if (kept !== undefined) emit({ type: 'iteration-started', iteration: 4, mode: 'review', kept });
  let calls = 0;
  const sync = async () => {
    calls++;
    return misfit;
  };
  const assignment = await broughtUpToDate({ past, sync, emit }, keeper, 4);
  return { mode: assignment.mode, feedback: assignment.story?.reviewFeedback, calls };
}

describe('before a review', () => {
  test('what others have landed is brought in, and what fits is reviewed', async () => {
    expect(await next(STATES.waiting)).toEqual({ mode: 'review', feedback: '', calls: 1 });
  });

  test('what does not fit is not reviewed but made to fit', async () => {
    const told = { mode: 'merge-fix', feedback: '[MERGE] a.ts conflicts', calls: 1 };
    expect(await next(STATES.waiting, 'a.ts conflicts')).toEqual(told);
  });

  test('that was cut off and is taken again the files stay as it found them', async () => {
    expect(await next(STATES.waiting, 'a.ts conflicts', 'kept-1')).toMatchObject({
      mode: 'review',
      calls: 0,
    });
  });
});

test('whoever builds is not disturbed', async () => {
  expect(await next({}, 'a.ts conflicts')).toMatchObject({ mode: 'implement', calls: 0 });
});
