/** Killed on every event of a loop, then resumed: nothing may show it but the interruption's own records. */
import { expect, test } from 'vitest';
import { IS_CAMPAIGN } from '../rig/thorough.ts';
import { disturbed, expectSame } from './disturb.ts';
import { SHAPES, type ShapeName } from './shapes.ts';

/** Every so many events when a campaign is asked for; else one run is killed where an iteration has ended, and then at each step of the next one. */
const EVERY = Number(process.env.RALPH_CHAOS_EVERY ?? (IS_CAMPAIGN ? 14 : 0));
const STEPS = ['iteration-ended', 'agent-started', 'turn-ended', 'judged', 'scm-started'];

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
  if (EVERY === 0) {
    const types = STEPS.filter(type => calm.events.includes(type));
    const blows = types.map(type => ({ moment: { type } }));
    const ended = await disturbed(shape, blows);
    expectSame(ended, calm, `killed at ${types}`);
    // One that is over by the time of a kill is not stopped by it.
    expect(ended.kills).toBeGreaterThanOrEqual(types.length - 1);
    return;
  }
  for (let event = 1; event <= calm.events.length; event += EVERY)
    expectSame(
      await disturbed(shape, [{ moment: { event } }]),
      calm,
      `killed at event ${event}, ${calm.events[event - 1]}`,
    );
});
