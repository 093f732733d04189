/** What units spend together: money, and of a list of stories also tokens and turns. A budget may be part of another one: then both hold. */
import type { Limits, Spending } from '../domain/limits.ts';
import { type Currency, capsOf, capWords, type Sum } from '../domain/purse.ts';
import type { Database } from './database.ts';
import type { Unit } from './unit.ts';
import { freeReservation, holds, type Querying } from './units.ts';

type Holder = Pick<Unit, 'id' | 'fence'>;

export type Reserved =
  /** `held` for this turn; it may use `most` before others lose what they have reserved. */
  | { readonly answer: 'yes'; readonly held: Sum; readonly most: Sum }
  | { readonly answer: 'wait' }
  | { readonly answer: 'spent'; readonly spending: Spending };

const NO_LIMIT: Sum = {
  cost: Number.POSITIVE_INFINITY,
  tokens: Number.POSITIVE_INFINITY,
  turns: Number.POSITIVE_INFINITY,
};

/** F7: what is reserved and spent together never exceeds a cap; each statement sees what the others have written. Only for the holder. */
export async function reserve(
  database: Database,
  budget: string,
  { id, fence }: Holder,
  wanted: Sum,
): Promise<Reserved> {
  return database.transaction(async query => {
    const tx = { query };
    if (!(await holds(tx, id, fence))) return { answer: 'wait' };
    await freeReservation(tx, id, fence);
    const [held, most] = [{ ...wanted }, { ...NO_LIMIT }];
    const all = await withWhole(tx, budget);
    // In a statement of its own: the next one sees what those have written who held it before.
    await tx.query('select 1 from ralph.budget where id = any($1) order by id for update', [
      all.map(each => each.id),
    ]);
    for (const { id: each, currency } of all) {
      const got = await reserveIn(tx, each, wanted[currency]);
      if (got === undefined) {
        await freeReservation(tx, id, fence);
        const spending = await spentIn(tx, budget);
        return spending ? { answer: 'spent', spending } : { answer: 'wait' };
      }
      await tx.query('insert into ralph.reservation (unit, budget, amount, fence) values ($1, $2, $3, $4)', [
        ...[id, each, got.held, fence],
      ]);
      held[currency] = Math.min(held[currency], got.held);
      most[currency] = Math.min(most[currency], got.most);
    }
    return { answer: 'yes', held, most };
  });
}

interface Budget {
  readonly id: string;
  readonly currency: Currency;
  readonly cap: number;
  readonly spent: number;
  /** The list of stories whose own it is. */
  readonly unit: string | null;
}

async function withWhole(tx: Querying, budget: string): Promise<readonly Budget[]> {
  const { rows } = await tx.query<Budget>(
    'select id, currency, cap::float8 as cap, spent::float8 as spent, unit from ralph.whole_of($1)',
    [budget],
  );
  return rows;
}

/** Alone, a turn may have all that is left: the limit still holds inside of it. */
async function reserveIn(
  tx: Querying,
  budget: string,
  amount: number,
): Promise<{ readonly held: number; readonly most: number } | undefined> {
  const { rows } = await tx.query<{ held: number; most: number }>(
    `with now as (select id, case when reserved = 0 then least($2, cap - spent) else $2 end as amount from ralph.budget where id = $1)
     update ralph.budget b set reserved = b.reserved + now.amount from now
     where b.id = now.id and now.amount > 0 and b.spent + b.reserved + now.amount <= b.cap
     returning now.amount::float8 as held, (b.cap - b.spent - b.reserved + now.amount)::float8 as most`,
    [budget, amount],
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

/** The same for a list of stories, of what is its own: for what that is part of its stories wait, since somebody may raise it. */
export async function spentByList(tx: Querying, budget: string): Promise<Spending | undefined> {
  const all = await withWhole(tx, budget);
  const spent = all.find(each => each.unit !== null && each.spent >= each.cap);
  return spent && capWords(spent.currency, spent.spent, spent.cap);
}

/** What a turn has really used takes the place of what was reserved for it: once, however often it is said, and only by who reserved it. */
export async function spend(
  database: Querying,
  { id, fence }: Holder,
  { cost, tokens, turns }: Sum,
): Promise<void> {
  await database.query(
    `with gone as (delete from ralph.reservation where unit = $1 and fence = $2 returning budget, amount)
     update ralph.budget b set reserved = b.reserved - gone.amount,
       spent = b.spent + case b.currency when 'cost' then $3::numeric when 'tokens' then $4::numeric else $5::numeric end
     from gone where b.id = gone.budget`,
    [id, fence, cost, tokens, turns],
  );
}

/** Each is part of the one before it: the last is the first that a turn asks. */
const FLAGS = [
  ['turns', '--max-iterations'],
  ['tokens', '--max-tokens'],
  ['cost', '--max-cost'],
] as const;

/** What the stories of a list may spend together. Answers the budget that they spend; null: there is no limit. */
export async function openPurse(
  database: Querying,
  { id, owner, budget }: Pick<Unit, 'id' | 'owner' | 'budget'>,
  limits: Limits,
): Promise<string | null> {
  const caps = capsOf(limits);
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
  return within;
}
