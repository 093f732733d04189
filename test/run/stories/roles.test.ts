/** Who builds and who reviews. */
import { expect, test } from 'vitest';
import { STORY_MODES } from '../../../src/domain/stories/assignment.ts';
import { poolOf, roleOf, rolesOf } from '../../../src/run/stories/steps.ts';
import { createRoster } from '../../../src/run/turns/agent-pool.ts';
import { functionAgent } from '../turns/world.ts';

const agent = functionAgent('builder', async () => undefined);
const roster = createRoster([agent]);
const reviewers = createRoster([functionAgent('critic', async () => undefined), agent]);

test('only reviews are the reviewer’s', () => {
  const reviewing = STORY_MODES.filter(mode => poolOf({ agent, roster, reviewers }, mode) === reviewers);
  expect(reviewing).toEqual(['review']);
  expect(STORY_MODES.filter(mode => roleOf(mode) === 'reviewer')).toEqual(['review']);
});

test('without a reviewer one agent does everything, and there are no roles to tell', () => {
  expect(STORY_MODES.every(mode => poolOf({ agent, roster }, mode) === roster)).toBe(true);
  expect(rolesOf({ agent, roster })).toBeUndefined();
  expect(rolesOf({ agent, roster, reviewers })).toEqual({ implementer: 'builder', reviewer: 'critic' });
});
