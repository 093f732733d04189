/** The budget of all runs of a parallel run, in the memory of its process. */
import { charge, newTally, overdrawn, type Paid, reserve, type Sum, usedBy } from '../domain/run/budget.ts';
import type { Limits } from '../domain/run/limits.ts';
import type { Accounts, Budget } from '../run/turns/budget.ts';

export interface LaneBudget extends Budget {
  /** Its run is over, whatever it held. */
  release(): void;
  /** What it holds for its turn, in dollars. */
  held(): number;
}

export interface Before {
  readonly spent: Sum;
  readonly dearest?: Sum | undefined;
}

export function createBudget(limits: Limits, { spent, dearest }: Before, accounts: Accounts) {
  let tally = newTally(limits, spent, dearest);
  const of = (who: string): LaneBudget => ({
    accounts,
    reserve(turns) {
      const [paid, next] = reserve(tally, who, turns);
      tally = next;
      return paid;
    },
    overdrawn: used => overdrawn(tally, who, used),
    charge(turn) {
      tally = charge(tally, who, usedBy(turn));
    },
    release() {
      const { [who]: _, ...reserved } = tally.reserved;
      tally = { ...tally, reserved };
    },
    held: () => tally.reserved[who]?.cost ?? 0,
  });
  return {
    /** What one of them sees of it. */
    of,
    /** Whether a further turn could be paid for. */
    room: (): Paid => reserve(tally, '')[0],
  };
}
