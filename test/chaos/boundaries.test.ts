/** Killed on every event of a loop, then resumed: nothing may show it but the interruption's own records. */
import { expect, test } from 'vitest';
import { disturbed } from './disturb.ts';
import { SHAPES, type ShapeName } from './shapes.ts';

/** All of them when a campaign is asked for; else enough that each step of each shape is cut off somewhere. */
const EVERY = Number(process.env.RALPH_CHAOS_EVERY ?? 13);

test.each(Object.keys(SHAPES) as ShapeName[])('%s, killed at its steps', { timeout: 600_000 }, async name => {
  const shape = SHAPES[name];
  const calm = await disturbed(shape, []);
  for (let event = 1; event <= calm.events.length; event += EVERY) {
    const { outcome, steps } = await disturbed(shape, [{ moment: { event } }]);
    expect(outcome, `killed at event ${event}, ${calm.events[event - 1]}; went on at ${steps}`).toEqual(
      calm.outcome,
    );
  }
});
