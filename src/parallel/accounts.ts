/**
 * The accounts of the agents of a parallel run. A limit that one run meets stops new attempts of all; when it is over, one tries alone, and
 * each further one follows when the one before has begun to work: several at once would all be limited again.
 */

import type { Clock } from '../platform/clock.ts';
import type { Accounts, Entry } from '../run/turns/budget.ts';
import { pause } from '../run/wait.ts';

interface Account {
  until: number;
  /** They follow one by one. */
  isCareful: boolean;
  /** The one that has begun and not shown yet that it works. */
  probe: object | undefined;
  waiting: number;
}

export interface AccountOptions {
  readonly clock: Clock;
  onLimit(agent: string, until: number): void;
}

/** Milliseconds between two looks at whether it may begin. */
const LOOK_EVERY = 50;

export function createAccounts({
  clock,
  onLimit,
}: AccountOptions): Accounts & { isLimited(agents: readonly string[]): boolean } {
  const accounts = new Map<string, Account>();
  const of = (agent: string): Account => {
    const known = accounts.get(agent) ?? { until: 0, isCareful: false, probe: undefined, waiting: 0 };
    accounts.set(agent, known);
    return known;
  };
  const isFree = (account: Account) =>
    account.until <= clock.now() && (!account.isCareful || account.probe === undefined);
  return {
    until: agent => of(agent).until,
    limited(agent, until) {
      const account = of(agent);
      account.isCareful = true;
      if (until <= account.until) return;
      account.until = until;
      onLimit(agent, until);
    },
    async enter(agent, stopping, longest) {
      const account = of(agent);
      const latest = clock.ticks() + longest;
      account.waiting++;
      while (!isFree(account) && !stopping.aborted && clock.ticks() < latest)
        await pause(LOOK_EVERY, stopping);
      account.waiting--;
      return entryOf(account);
    },
    isLimited: agents => agents.every(agent => of(agent).until > clock.now()),
  };
}

function entryOf(account: Account): Entry {
  const own = {};
  if (account.isCareful) account.probe ??= own;
  const stepAside = () => {
    if (account.probe === own) account.probe = undefined;
  };
  return {
    works() {
      if (account.probe !== own) return;
      stepAside();
      if (account.waiting === 0) account.isCareful = false;
    },
    leave: stepAside,
  };
}
