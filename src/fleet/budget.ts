/** What units spend together, in the database: money, and of a list of stories also tokens and turns. A budget may be part of another one: then both hold. */
import {
  type Currency,
  capsOf,
  capWords,
  type Paid,
  type PaidTurn,
  type Sum,
  showsPrice,
  usedBy,
} from '../domain/run/budget.ts';
import type { Limits, Spending } from '../domain/run/limits.ts';
import { totalTokens } from '../domain/turn/usage.ts';
import type { Accounts, Budget } from '../run/turns/budget.ts';
import { pause } from '../run/wait.ts';
import { untilDone } from './away.ts';
import type { Database, Querying } from './database.ts';
import type { Unit } from './unit.ts';
import { freeReservation, holds, UNKNOWN_PRICE } from './units.ts';

type Holder = Pick<Unit, 'id' | 'fence'>;

/** `held` for this turn; it may use `most` before others lose what they have reserved. */
interface Held {
  readonly held: Sum;
  readonly most: Sum;
}

/** F7: what is reserved and spent together never exceeds a cap; each statement sees what the others have written. Only for the holder. */
export async function reserve(
  database: Database,
  budget: string,
  { id, fence }: Holder,
  turns: 0 | 1 = 1,
): Promise<Held | Exclude<Paid, 'yes'>> {
  return database.transaction(async tx => {
    if (!(await holds(tx, id, fence))) return 'wait';
    await freeReservation(tx, id, fence);
    const most = { cost: Infinity, tokens: Infinity, turns: Infinity };
    const held: Record<Currency, number> = { ...most, turns };
    const all = await withWhole(tx, budget);
    // In a statement of its own: the next one sees what those have written who held it before.
    await tx.query('select 1 from ralph.budget where id = any($1) order by id for update', [
      all.map(each => each.id),
    ]);
    for (const { id: each, currency } of all) {
      const got = await reserveIn(tx, each, turns);
      if (got === undefined) {
        await freeReservation(tx, id, fence);
        return (await spentIn(tx, budget)) ?? 'wait';
      }
      await tx.query('insert into ralph.reservation (unit, budget, amount, fence) values ($1, $2, $3, $4)', [
        ...[id, each, got.held, fence],
      ]);
      held[currency] = Math.min(held[currency], got.held);
      most[currency] = Math.min(most[currency], got.most);
    }
    return { held, most };
  });
}

interface Row {
  readonly id: string;
  readonly currency: Currency;
  readonly cap: number;
  readonly spent: number;
  /** The list of stories whose own it is. */
  readonly unit: string | null;
}

async function withWhole(tx: Querying, budget: string): Promise<readonly Row[]> {
  const { rows } = await tx.query<Row>(
    'select id, currency, cap::float8 as cap, spent::float8 as spent, unit from ralph.whole_of($1)',
    [budget],
  );
  return rows;
}

/**
 * As much as the dearest turn so far; before the first one has ended, all that is left. Alone, a turn may have what is left: the limit still
 * holds inside of it.
 */
async function reserveIn(
  tx: Querying,
  budget: string,
  turns: number,
): Promise<{ readonly held: number; readonly most: number } | undefined> {
  const { rows } = await tx.query<{ held: number; most: number }>(
    `with wanted as (
       select id, case currency when 'turns' then $2 else coalesce(dearest, cap - spent) end as amount from ralph.budget where id = $1),
     now as (
       select id, case when b.reserved = 0 then least(amount, cap - spent) else amount end as amount from ralph.budget b join wanted using (id))
     update ralph.budget b set reserved = b.reserved + now.amount from now
     where b.id = now.id and (b.spent < b.cap or (b.currency = 'turns' and $2 = 0)) and now.amount >= 0 and b.spent + b.reserved + now.amount <= b.cap
     returning now.amount::float8 as held, (b.cap - b.spent - b.reserved + now.amount)::float8 as most`,
    [budget, turns],
  );
  return rows[0];
}

async function spentIn(tx: Querying, budget: string): Promise<Spending | undefined> {
  const spent = (await withWhole(tx, budget)).find(each => each.spent >= each.cap);
  if (!spent) return undefined;
  return spent.unit === null
    ? { reason: 'budget_exhausted', detail: `The budget ${spent.id} of the fleet is spent.` }
    : capWords(spent.currency, spent.spent, spent.cap, ' by the whole list');
}

/** What a turn has really used takes the place of what was reserved for it: once, however often it is said, and only by who reserved it. */
export async function spend(database: Querying, { id, fence }: Holder, turn: PaidTurn): Promise<void> {
  const used = usedBy(turn);
  const { cost, tokens, turns } = used;
  // A turn that did something and does not say what it cost was not free.
  const isPriced = turn.usage.cost !== undefined || turn.idle;
  await database.query(
    `with gone as (delete from ralph.reservation where unit = $1 and fence = $2 returning budget, amount),
     used as (
       select b.id, gone.amount as held, case b.currency when 'tokens' then $4::numeric when 'turns' then $5
         else coalesce($3, least(gone.amount, ${UNKNOWN_PRICE})) end as amount
       from gone join ralph.budget b on b.id = gone.budget)
     update ralph.budget b set reserved = b.reserved - used.held, spent = b.spent + used.amount,
       dearest = case when $6 then greatest(b.dearest, used.amount) else b.dearest end
     from used where b.id = used.id`,
    [id, fence, isPriced ? cost : null, tokens, turns, showsPrice(used)],
  );
}

/** Each is part of the one before it: the last is the first that a turn asks. */
const FLAGS = [
  ['turns', '--max-iterations'],
  ['tokens', '--max-tokens'],
  ['cost', '--max-cost'],
] as const;

/** What the stories of a list may spend together. */
export function listBudget(
  database: Querying,
  { id, owner, budget }: Pick<Unit, 'id' | 'owner' | 'budget'>,
  limits: Limits,
) {
  const caps = capsOf(limits);
  let room: Paid = 'yes';
  return {
    /** Asks the database; answers the budget that its stories spend. null: there is no limit. */
    async look(): Promise<string | null> {
      let within = budget;
      for (const [currency, flag] of FLAGS) {
        const cap = caps[currency];
        if (cap === undefined) continue;
        const name = `${id} ${flag}`;
        await database.query(
          `insert into ralph.budget (id, owner, currency, cap, within, unit) values ($1, $2, $3, $4, $5, $6)
           on conflict (id) do update set cap = $4`,
          [name, owner, currency, cap, within, id],
        );
        within = name;
      }
      // For what its own is part of its stories wait, since somebody may raise it.
      const all = within === null ? [] : await withWhole(database, within);
      const spent = all.find(each => each.unit !== null && each.spent >= each.cap);
      room = spent ? capWords(spent.currency, spent.spent, spent.cap) : 'yes';
      return within;
    },
    /** As it was at the last look. Where others hold what is left, a unit waits by itself. */
    room: () => room,
  };
}

export interface UnitWorld {
  readonly database: Database;
  readonly unit: Pick<Unit, 'id' | 'fence' | 'budget' | 'account'>;
  now(): number;
  /** The unit is somebody else's, or given up: nothing more is written. */
  readonly cut: AbortSignal;
}

/** So many times what was reserved: a turn that costs more is ended, so that a cap is a cap. */
const OVERDRAFT = 4;

/** The budget of one unit. What it answers at once it has asked for before. */
export function unitBudget({ database, unit, now, cut }: UnitWorld): Budget & {
  /** When what was spent is on record. Must not throw. */
  flushed(): Promise<void>;
} {
  const accounts = accountsOf(database, unit, now);
  const { budget } = unit;
  let spending: Promise<void> = Promise.resolve();
  let asked = false;
  let answer: Awaited<ReturnType<typeof reserve>> = 'wait';
  if (budget === null)
    return {
      ...{ accounts, reserve: () => 'yes', overdrawn: () => undefined },
      ...{ charge() {}, flushed: async () => {} },
    };
  const record = (turn: PaidTurn) =>
    untilDone(() => spend(database, unit, turn), { troubled() {}, abort: cut });
  return {
    accounts,
    reserve(turns) {
      if (answer !== 'wait') return 'held' in answer ? 'yes' : answer;
      if (asked) return 'wait';
      asked = true;
      void spending
        .then(() => reserve(database, budget, unit, turns))
        .then(got => {
          answer = got;
        })
        .catch(() => {}) // the database is away: asked again
        .finally(() => {
          asked = false;
        });
      return 'wait';
    },
    overdrawn({ cost = 0, tokens }) {
      if (answer === 'wait' || !('held' in answer)) return undefined;
      const { held, most } = answer;
      // Where turns were free so far, nothing is held for one.
      const limit = (each: 'cost' | 'tokens') => Math.min(held[each] * OVERDRAFT || most[each], most[each]);
      if (cost > limit('cost')) return 'max-cost';
      return (totalTokens(tokens) ?? 0) > limit('tokens') ? 'max-tokens' : undefined;
    },
    charge(turn) {
      answer = 'wait';
      spending = spending.then(() => record(turn));
    },
    flushed: () => spending,
  };
}

/** Milliseconds between two looks at the account. */
const LOOK_EVERY = 500;
/** Seconds after which a unit that tries first and says nothing no longer holds up the others. */
const LONGEST_PROBE = 120;

/** The account of a unit's agents, shared with all others: after a limit one unit tries alone, and the others follow when it works. */
function accountsOf(
  { query }: Querying,
  { id, account }: Pick<Unit, 'id' | 'account'>,
  now: () => number,
): Accounts {
  let until = 0;
  const may = async () => {
    const { rows } = await query(
      `update ralph.account set probe = $2, probe_since = now() where id = $1 and limited_until <= now()
         and (probe is null or probe = $2 or probe_since < now() - $3 * interval '1 second') returning id`,
      [account, id, LONGEST_PROBE],
    );
    if (rows.length > 0) return true;
    // By the clock of the database: that of another machine may be an hour off.
    const { rows: found } = await query(
      'select extract(epoch from limited_until - now()) * 1000 as ms from ralph.account where id = $1',
      [account],
    );
    const left = found[0]?.ms ?? null;
    until = left === null ? 0 : now() + Number(left);
    return left === null;
  };
  const clear = (limit: string) =>
    void query(`update ralph.account set probe = null${limit} where id = $1 and probe = $2`, [
      account,
      id,
    ]).catch(() => {});
  return {
    until: () => until,
    limited(_agent, when) {
      until = Math.max(until, when);
      void query(
        "update ralph.account set limited_until = greatest(limited_until, now() + $2 * interval '1 millisecond'), probe = null where id = $1",
        [account, Math.max(0, when - now())],
      ).catch(() => {});
    },
    async enter(_agent, stopping, longest) {
      const latest = now() + longest;
      while (!stopping.aborted && now() < latest && !(await may().catch(() => false)))
        await pause(LOOK_EVERY, stopping);
      return { works: () => clear(', limited_until = null'), leave: () => clear('') };
    },
  };
}
