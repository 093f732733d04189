/** Longer than CI has time for: `RALPH_THOROUGH=1 npm test`. docs/development.md says when. */
export const IS_THOROUGH = Boolean(process.env.RALPH_THOROUGH);

/** Kills at many more places: `RALPH_THOROUGH=campaign npm test`. For more of them, by number, there is `npm run chaos`. */
export const IS_CAMPAIGN = process.env.RALPH_THOROUGH === 'campaign';

/** How many examples a property tries: all of them where there is time, else a fifth. */
export function examples(many: number): { readonly numRuns: number } {
  return { numRuns: IS_THOROUGH ? many : Math.ceil(many / 5) };
}
