/** One purse for all runs of a parallel run. */
import type { Limits, Spending } from '../domain/limits.ts';
import { newPurse, overdrawn, type Purse, reserve, type Sum, settle, sumOf } from '../domain/purse.ts';
import type { Accounts, Shared } from '../turns/shared.ts';

/** What is left for all together. */
export interface Funds {
  /** A further turn could be paid for. */
  hasRoom(): boolean;
  /** All is spent. */
  spending(): Spending | undefined;
}

export interface Money extends Funds {
  /** What one lane sees of it. */
  sharedBy(lane: string, accounts: Accounts): Shared;
  /** Its run is over, whatever it held. */
  release(lane: string): void;
  /** What it holds for its turn, in dollars. */
  held(lane: string): number;
}

export function createMoney(limits: Limits, spent: Sum): Money {
  let purse: Purse = newPurse(limits, spent);
  return {
    sharedBy: (lane, accounts) => ({
      accounts,
      reserve() {
        const { [lane]: _, ...others } = purse.reserved;
        const got = reserve({ ...purse, reserved: others }, lane);
        if (got.kind === 'spent') return got.spending;
        if (got.kind === 'wait') return 'wait';
        purse = got.purse;
        return 'yes';
      },
      overdrawn: used => overdrawn(purse, lane, used),
      settle({ usage }) {
        purse = settle(purse, lane, sumOf(usage));
      },
    }),
    release(lane) {
      const { [lane]: _, ...reserved } = purse.reserved;
      purse = { ...purse, reserved };
    },
    hasRoom: () => reserve(purse, '').kind === 'reserved',
    spending() {
      const got = reserve(purse, '');
      return got.kind === 'spent' ? got.spending : undefined;
    },
    held: lane => purse.reserved[lane]?.cost ?? 0,
  };
}
