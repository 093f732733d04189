/** One thing that a bundle claims, and whether it holds. */

export type ClaimState = 'holds' | 'does not hold' | 'unknown';

export interface Claim {
  readonly claim: string;
  readonly state: ClaimState;
  readonly why: string;
}

const made =
  (state: ClaimState) =>
  (claim: string, why: string): Claim => ({ claim, state, why });

export const claims = {
  holds: made('holds'),
  fails: made('does not hold'),
  unknown: made('unknown'),
};
