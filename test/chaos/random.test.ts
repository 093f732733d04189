/** Killed at random moments, several times over, with the damage of a power cut, then resumed. Each run is told by its seed. */
import { expect, test } from 'vitest';
import { IS_THOROUGH } from '../rig/thorough.ts';
import { type Blow, type CameTo, type Damage, disturbed } from './disturb.ts';
import { SHAPES, type ShapeName } from './shapes.ts';

const RUNS = Number(process.env.RALPH_CHAOS_RUNS ?? (IS_THOROUGH ? 16 : 4));
const SEED = Number(process.env.RALPH_CHAOS_SEED ?? 1);
const NAMES = Object.keys(SHAPES) as ShapeName[];
const DAMAGES: readonly Damage[] = ['none', 'none', 'torn', 'unflushed'];

const calm = new Map<ShapeName, Promise<CameTo>>();
const calmly = (name: ShapeName) => {
  const known = calm.get(name) ?? disturbed(SHAPES[name], []);
  calm.set(name, known);
  return known;
};

const seeds = Array.from({ length: RUNS }, (_, index) => SEED + index);

test.each(seeds)('seed %i', { timeout: 120_000 }, async seed => {
  const random = generator(seed);
  const name = NAMES[seed % NAMES.length] ?? 'runWithPush';
  const { outcome: expected, seconds } = await calmly(name);
  const blows = Array.from({ length: 1 + Math.floor(random() * 3) }, (): Blow => {
    const damage = DAMAGES[Math.floor(random() * DAMAGES.length)] ?? 'none';
    return { moment: { after: random() * seconds * 1000 }, damage };
  });
  const { outcome, steps, kills } = await disturbed(SHAPES[name], blows);
  expect(outcome, `${name}, ${JSON.stringify(blows)}; ${kills} kill(s), went on at ${steps}`).toEqual(
    expected,
  );
});

/** Small and good enough: mulberry32. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
