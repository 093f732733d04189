/** The level at which tests are run: docs/development.md. `npm test` is quick, `npm run campaign` is thorough. */
const IS_QUICK = process.env.RALPH_LEVEL === 'quick';

/** Longer than CI has time for. */
export const IS_THOROUGH = Boolean(process.env.RALPH_THOROUGH);

/** Kills at many more places. For more of them, by number, there is `npm run chaos`. */
export const IS_CAMPAIGN = process.env.RALPH_THOROUGH === 'campaign';

/** How many examples a property tries: all of them in a campaign, a fifth in CI, a few where somebody waits for the answer. */
export function examples(many: number): { readonly numRuns: number } {
  return { numRuns: IS_THOROUGH ? many : Math.ceil(many / (IS_QUICK ? 20 : 5)) };
}
