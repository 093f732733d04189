/** The level at which tests are run: docs/development.md. `npm test` is quick, `npm run campaign` is thorough. */
import fc from 'fast-check';

const IS_QUICK = process.env.RALPH_LEVEL === 'quick';

/** Longer than CI has time for. */
export const IS_THOROUGH = Boolean(process.env.RALPH_THOROUGH);

/** Kills at many more places. For more of them, by number, there is `npm run chaos`. */
export const IS_CAMPAIGN = process.env.RALPH_THOROUGH === 'campaign';

/** How many examples a property tries: all of them in a campaign, a fifth in CI, a few where somebody waits for the answer. */
export function examples(many: number): { readonly numRuns: number } {
  return { numRuns: IS_THOROUGH ? many : Math.ceil(many / (IS_QUICK ? 20 : 5)) };
}

/** `npm run chaos -- --forge --runs 18 --seed 1`: so many of each scenario, the same ones for a seed. */
const { RALPH_CHAOS_FORGE: KILLS, RALPH_CHAOS_SEED: SEED } = process.env;

/** The nth of so many steps, and on which side of it something is killed: all of them in a campaign; else a few, others each time. */
export function killPlaces(last: number, few: number): readonly (readonly [number, 'before' | 'after'])[] {
  const wanted = KILLS === undefined ? (IS_CAMPAIGN ? last : few) : Math.ceil(Number(KILLS) / 2);
  const count = Math.min(last, wanted);
  const all = fc.shuffledSubarray(
    Array.from({ length: last }, (_, at) => at + 1),
    { minLength: count, maxLength: count },
  );
  return (['before', 'after'] as const).flatMap((when, side) => {
    const seed = SEED === undefined ? {} : { seed: Number(SEED) * 2 + side };
    return fc.sample(all, { numRuns: 1, ...seed }).flatMap(some => some.map(nth => [nth, when] as const));
  });
}
