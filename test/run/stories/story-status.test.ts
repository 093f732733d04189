/** Where the stories stand: for the verdict of an iteration, and for people before the first one. */
import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../../../src/config/settings.ts';
import type { Settings } from '../../../src/config/settings-shape.ts';
import { policyOf, standOf, startWords } from '../../../src/run/stories/load.ts';
import { STATES, story, storyList } from '../../domain/stories/stories.ts';
import { reject } from '../../rig/stories.ts';
import { FAIR, keeping, POLICY } from './world.ts';

const { approved, waiting, rejected } = STATES;
const settings = (more: Partial<Settings> = {}): Settings => ({ ...defaultSettings('prd'), ...more });

describe('for the verdict', () => {
  test('open is what is not approved, whatever it says of itself', () => {
    const stories = [
      story('US-001', approved),
      story('US-002', waiting),
      story('US-003', { passes: true }),
      story('US-004'),
    ];
    expect(standOf(keeping(stories).keeper, POLICY)).toEqual({ open: ['US-002', 'US-003', 'US-004'] });
  });

  test('without reviews what passes is done', () => {
    const policy = { ...POLICY, skipReview: true };
    const { keeper } = keeping([story('US-001', { passes: true }), story('US-002')], { policy });
    expect(standOf(keeper, policy).open).toEqual(['US-002']);
  });

  test('a story that was reviewed for the last time and sent back stops the run, with its last words', () => {
    const world = keeping([story('US-001', { ...waiting, reviewCount: 2 })]);
    world.keeper.begin();
    world.leaves(reject('US-001', 'still wrong'));
    world.keeper.applyTurn(1, FAIR);
    world.keeper.applyChecks(1, []);
    expect(standOf(world.keeper, POLICY).capped).toBe('US-001 was reviewed 3 times: still wrong');
  });

  test('one that was sent back as often before the run is worked on', () => {
    const { keeper } = keeping([story('US-001', { ...rejected, reviewCount: 3 })]);
    keeper.begin();
    expect(standOf(keeper, POLICY)).not.toHaveProperty('capped');
  });
});

describe('for people', () => {
  test.each<[string, Parameters<typeof startWords>, string]>([
    [
      'how much is left',
      [storyList(story('US-001'), story('US-002', approved)), settings()],
      '1 story to go',
    ],
    [
      'that there may be too few iterations',
      [storyList(story('US-001'), story('US-002')), settings({ maximumIterations: 4 })],
      'That is more than the 4 allowed',
    ],
    [
      'that nothing is left',
      [storyList(story('US-001', approved)), settings()],
      'Every story is done already (1 of 1). Next: ralph prd archive',
    ],
    [
      'that nothing is left without reviews',
      [storyList(story('US-001', { passes: true })), settings({ skipReview: true })],
      'Every story is done already',
    ],
  ])('%s', (_, given, words) => {
    expect(startWords(...given)).toContain(words);
  });
});

test('the policy is what the settings say of reviews', () => {
  const own = { skipReview: true, reviewCap: 7, atCap: 'approve' } as const;
  expect(policyOf(settings(own))).toEqual(own);
});
