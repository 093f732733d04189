/** What one unit spends, and its account, shared with all others through the database. What it answers at once it has asked for before. */
import type { EndedTurn } from '../domain/event.ts';
import { type Sum, sumOf } from '../domain/purse.ts';
import { totalTokens, type Usage } from '../domain/usage.ts';
import { pause } from '../engine/wait.ts';
import type { Accounts, Entry, Shared } from '../turns/shared.ts';
import { type Reserved, reserve, spend } from './budget.ts';
import type { Database } from './database.ts';
import type { Unit } from './unit.ts';

export interface SharedWorld {
  readonly database: Database;
  readonly unit: Pick<Unit, 'id' | 'fence' | 'budget' | 'account'>;
  /** The most that its next turn is expected to use. */
  nextTurn(): Sum;
  now(): number;
  /** The unit is somebody else's, or given up: nothing more is written. */
  readonly cut: AbortSignal;
}

export interface UnitShared extends Shared {
  /** When what was spent is on record. Must not throw. */
  settled(): Promise<void>;
}

export function sharedOfUnit(world: SharedWorld): UnitShared {
  const { unit } = world;
  return {
    accounts: accountsOf(world),
    ...(unit.budget === null ? NO_BUDGET : budgetOf(world, unit.budget)),
  };
}

const NO_BUDGET: Omit<UnitShared, 'accounts'> = {
  reserve: () => 'yes',
  overdrawn: () => undefined,
  settle: () => {},
  settled: async () => {},
};

function budgetOf(
  { database, unit, nextTurn, cut }: SharedWorld,
  budget: string,
): Omit<UnitShared, 'accounts'> {
  let spending: Promise<void> = Promise.resolve();
  /** The database may be away: then it is said again. */
  const record = async (used: Sum) => {
    let isRecorded = false;
    while (!isRecorded && !cut.aborted) {
      isRecorded = await spend(database, unit, used).then(
        () => true,
        () => false,
      );
      if (!isRecorded) await pause(LOOK_EVERY, cut);
    }
  };
  let asked = false;
  let now: Reserved = { answer: 'wait' };
  return {
    reserve() {
      if (now.answer === 'yes') return 'yes';
      if (now.answer === 'spent') return now.spending;
      if (!asked) {
        asked = true;
        void spending
          .then(() => reserve(database, budget, unit, nextTurn()))
          .then(got => {
            now = got;
          })
          .catch(() => {}) // the database is away: asked again
          .finally(() => {
            asked = false;
          });
      }
      return 'wait';
    },
    overdrawn({ cost = 0, tokens }: Usage) {
      if (now.answer !== 'yes') return undefined;
      const { held, most } = now;
      if (cost > Math.min(held.cost * OVERDRAFT, most.cost)) return 'max-cost';
      const used = totalTokens(tokens) ?? 0;
      return used > Math.min(held.tokens * OVERDRAFT, most.tokens) ? 'max-tokens' : undefined;
    },
    settle(turn) {
      const held = now.answer === 'yes' ? now.held.cost : 0;
      now = { answer: 'wait' };
      const { cost = held } = turn.usage;
      spending = spending.then(() => record(sumOf({ ...turn.usage, cost }, isTakenAgain(turn) ? 0 : 1)));
    },
    settled: () => spending,
  };
}

/** Left for another worker, or for the time after a limit: the same iteration has another turn. */
function isTakenAgain({ outcome, idle }: Pick<EndedTurn, 'outcome' | 'idle'>): boolean {
  return idle === true || (outcome.kind === 'ended' && outcome.by === 'interrupt');
}

/** So many times what was reserved: a turn that costs more is ended, so that a cap is a cap. */
const OVERDRAFT = 4;

/** Milliseconds between two looks at the account. */
const LOOK_EVERY = 500;
/** Seconds after which a unit that tries first and says nothing no longer holds up the others. */
const LONGEST_PROBE = 120;

/** One waiting clock for the whole fleet: after a limit one unit tries alone, and the others follow when it works. */
function accountsOf({ database, unit: { id, account }, now }: SharedWorld): Accounts {
  let until = 0;
  const may = async () => {
    const { rows } = await database.query(
      `update ralph.account set probe = $2, probe_since = now() where id = $1 and limited_until <= now()
         and (probe is null or probe = $2 or probe_since < now() - $3 * interval '1 second') returning id`,
      [account, id, LONGEST_PROBE],
    );
    if (rows.length > 0) return true;
    // By the clock of the database: that of another machine may be an hour off.
    const { rows: found } = await database.query(
      'select extract(epoch from limited_until - now()) * 1000 as ms from ralph.account where id = $1',
      [account],
    );
    const left = found[0]?.ms ?? null;
    until = left === null ? 0 : now() + Number(left);
    return left === null;
  };
  return {
    until: () => until,
    limited(_agent, when) {
      until = Math.max(until, when);
      void database
        .query(
          "update ralph.account set limited_until = greatest(limited_until, now() + $2 * interval '1 millisecond'), probe = null where id = $1",
          [account, Math.max(0, when - now())],
        )
        .catch(() => {});
    },
    async enter(_agent, stopping, longest) {
      const latest = now() + longest;
      while (!stopping.aborted && now() < latest && !(await may().catch(() => false)))
        await pause(LOOK_EVERY, stopping);
      return entryOf(database, account, id);
    },
  };
}

function entryOf(database: Database, account: string, id: string): Entry {
  const clear = (limit: string) =>
    void database
      .query(`update ralph.account set probe = null${limit} where id = $1 and probe = $2`, [account, id])
      .catch(() => {});
  return { works: () => clear(', limited_until = null'), leave: () => clear('') };
}
