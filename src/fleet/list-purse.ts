/** What the stories of a list may spend together, as the database knows it: its workers are many. */
import type { Limits, Spending } from '../domain/limits.ts';
import type { Funds } from '../parallel/money.ts';
import { openPurse, spentByList } from './budget.ts';
import type { Unit } from './unit.ts';
import type { Querying } from './units.ts';

export interface ListPurse extends Funds {
  /** Asks the database; answers the budget of its stories. */
  look(): Promise<string | null>;
}

export function listPurse(
  database: Querying,
  unit: Pick<Unit, 'id' | 'owner' | 'budget'>,
  limits: Limits,
): ListPurse {
  let spent: Spending | undefined;
  return {
    async look() {
      const budget = await openPurse(database, unit, limits);
      spent = budget === null ? undefined : await spentByList(database, budget);
      return budget;
    },
    // Where others hold what is left, a unit waits by itself.
    hasRoom: () => spent === undefined,
    spending: () => spent,
  };
}
