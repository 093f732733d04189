/** Killed on every event of a loop, then resumed: nothing may show it but the interruption's own records. */
import { test } from 'vitest';
import { IS_CAMPAIGN } from '../rig/thorough.ts';
import { disturbed, expectSame } from './disturb.ts';
import { SHAPES, type ShapeName } from './shapes.ts';

/** Every so many events when a campaign is asked for, and in CI; else in the middle of a turn and of a commit, and where a step has just ended. */
const EVERY = Number(process.env.RALPH_CHAOS_EVERY ?? (IS_CAMPAIGN ? 14 : 0));
const STEPS = ['agent-started', 'turn-ended', 'judged', 'scm-started', 'iteration-ended'];

/** Numbers of events, from 1. Of each kind the second one where there is one: the first is often before anything happened. */
function moments(events: readonly string[]): readonly number[] {
  if (EVERY > 0) return events.flatMap((_, at) => (at % EVERY === 0 ? [at + 1] : []));
  return STEPS.flatMap(type => {
    const first = events.indexOf(type);
    const second = events.indexOf(type, first + 1);
    return first === -1 ? [] : [1 + (second === -1 ? first : second)];
  });
}

test('killed in a turn and in a commit', { tags: ['promise', 'P-nothing-lost'] }, async () => {
  const shape = SHAPES.loopWithCommits;
  const calm = await disturbed(shape, []);
  const blows = ['agent-started', 'scm-started'].map(type => ({
    moment: { event: 1 + calm.events.indexOf(type) },
  }));
  expectSame(await disturbed(shape, blows), calm, 'killed in a turn, and in the commit of a resumed run');
});

test.each(Object.keys(SHAPES) as ShapeName[])('%s, killed at its steps', { timeout: 600_000 }, async name => {
  const shape = SHAPES[name];
  const calm = await disturbed(shape, []);
  for (const event of moments(calm.events)) {
    const ended = await disturbed(shape, [{ moment: { event } }]);
    expectSame(ended, calm, `killed at event ${event}, ${calm.events[event - 1]}`);
  }
});
