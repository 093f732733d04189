/** Stopped at random moments, several times over, then resumed: by SIGKILL with the damage of a power cut, and in good order. Its seed tells each run. */
import { test } from 'vitest';
import { IS_CAMPAIGN } from '../rig/thorough.ts';
import { type Blow, type CameTo, type Damage, disturbed, expectSame } from './disturb.ts';
import { generator } from './generator.ts';
import { SHAPES, type ShapeName } from './shapes.ts';

const RUNS = Number(process.env.RALPH_CHAOS_RUNS ?? (IS_CAMPAIGN ? 8 : 4));
const ORDERLY_RUNS = Number(process.env.RALPH_CHAOS_ORDERLY ?? (IS_CAMPAIGN ? 60 : 12));
const SEED = Number(process.env.RALPH_CHAOS_SEED ?? 1);
const NAMES = Object.keys(SHAPES) as ShapeName[];
const DAMAGES: readonly Damage[] = ['none', 'none', 'torn', 'unflushed'];

/** What an orderly stop is made of: one signal, or one and another that does not wait. */
const ORDERLY: Readonly<Record<string, readonly (readonly NodeJS.Signals[])[]>> = {
  KILL: [['SIGKILL']],
  TERM: [['SIGTERM'], ['SIGTERM', 'SIGTERM'], ['SIGTERM', 'SIGKILL']],
  INT: [['SIGINT'], ['SIGINT', 'SIGINT'], ['SIGINT', 'SIGKILL']],
  HUP: [['SIGHUP']],
};
const SIGNALS = (process.env.RALPH_CHAOS_SIGNALS ?? 'TERM,INT,HUP,KILL').split(',');

const calm = new Map<ShapeName, Promise<CameTo>>();
const calmly = (name: ShapeName) => {
  const known = calm.get(name) ?? disturbed(SHAPES[name], []);
  calm.set(name, known);
  return known;
};

const seeds = Array.from({ length: RUNS }, (_, index) => SEED + index);

test.each(seeds)('seed %i, killed', async seed => {
  const random = generator(seed);
  const damages = () => ({ damage: oneOf(DAMAGES, random) });
  await compare(seed, random, damages);
});

const orderly = Array.from({ length: ORDERLY_RUNS }, (_, index) => SEED + index);

test.each(orderly)('seed %i, stopped in good order', async seed => {
  const random = generator(seed);
  await compare(seed, random, () => ({ signals: oneOf(ORDERLY[oneOf(SIGNALS, random)] ?? [], random) }));
});

async function compare(seed: number, random: () => number, blow: () => Omit<Blow, 'moment'>): Promise<void> {
  const name = NAMES[seed % NAMES.length] ?? 'runWithPush';
  const undisturbed = await calmly(name);
  const blows = Array.from({ length: 1 + Math.floor(random() * 3) }, (): Blow => {
    return { moment: { after: random() * undisturbed.seconds * 1000 }, ...blow() };
  });
  expectSame(await disturbed(SHAPES[name], blows), undisturbed, `${name}, ${JSON.stringify(blows)}`);
}

function oneOf<Value>(values: readonly Value[], random: () => number): Value {
  return values[Math.floor(random() * values.length)] as Value;
}
