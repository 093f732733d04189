/** Money that units spend together. A budget may be part of another one: then both hold. */
import type { Database } from './database.ts';
import type { Unit } from './unit.ts';
import { freeReservation, holds, type Querying } from './units.ts';

type Holder = Pick<Unit, 'id' | 'fence'>;

export type Reserved =
  /** `held` for this turn; it may cost `most` before others lose what they have reserved. */
  | { readonly answer: 'yes'; readonly held: number; readonly most: number }
  | { readonly answer: 'wait' }
  | { readonly answer: 'spent'; readonly budget: string };

/** F7: what is reserved and spent together never exceeds a cap; each statement sees what the others have written. Only for the holder. */
export async function reserve(
  database: Database,
  budget: string,
  { id, fence }: Holder,
  amount: number,
): Promise<Reserved> {
  return database.transaction(async query => {
    const tx = { query };
    if (!(await holds(tx, id, fence))) return { answer: 'wait' };
    await freeReservation(tx, id, fence);
    let [held, most] = [amount, Number.POSITIVE_INFINITY];
    const all = await withWhole(tx, budget);
    // In a statement of its own: the next one sees what those have written who held it before.
    await tx.query('select 1 from ralph.budget where id = any($1) order by id for update', [all]);
    for (const each of all) {
      const got = await reserveIn(tx, each, amount);
      if (got.answer !== 'yes') {
        await freeReservation(tx, id, fence);
        return got;
      }
      await tx.query('insert into ralph.reservation (unit, budget, amount, fence) values ($1, $2, $3, $4)', [
        ...[id, each, got.held, fence],
      ]);
      [held, most] = [Math.min(held, got.held), Math.min(most, got.most)];
    }
    return { answer: 'yes', held, most };
  });
}

/** It, and those that it is part of. */
async function withWhole(tx: Querying, budget: string): Promise<readonly string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `with recursive whole as (select id, within, 1 as at from ralph.budget where id = $1
       union all select b.id, b.within, at + 1 from ralph.budget b join whole on b.id = whole.within)
     select id from whole order by at`,
    [budget],
  );
  return rows.map(({ id }) => id);
}

/** Alone, a turn may have all that is left: the limit still holds inside of it. */
async function reserveIn(tx: Querying, budget: string, amount: number): Promise<Reserved> {
  const { rows } = await tx.query<{ held: number; most: number }>(
    `with now as (select id, case when reserved = 0 then least($2, cap - spent) else $2 end as amount from ralph.budget where id = $1)
     update ralph.budget b set reserved = b.reserved + now.amount from now
     where b.id = now.id and now.amount > 0 and b.spent + b.reserved + now.amount <= b.cap
     returning now.amount::float8 as held, (b.cap - b.spent - b.reserved + now.amount)::float8 as most`,
    [budget, amount],
  );
  const [row] = rows;
  if (row) return { answer: 'yes', ...row };
  const { rows: now } = await tx.query('select reserved > 0 as waits from ralph.budget where id = $1', [
    budget,
  ]);
  return now[0]?.waits === true ? { answer: 'wait' } : { answer: 'spent', budget };
}

/** What a turn has really cost takes the place of what was reserved for it: once, however often it is said, and only by who reserved it. */
export async function spend(database: Querying, { id, fence }: Holder, cost: number): Promise<void> {
  await database.query(
    `with gone as (delete from ralph.reservation where unit = $1 and fence = $2 returning budget, amount)
     update ralph.budget b set reserved = b.reserved - gone.amount, spent = b.spent + $3 from gone where b.id = gone.budget`,
    [id, fence, cost],
  );
}

/** What the stories of a list may spend together; answers its name. */
export async function openPurse(
  database: Querying,
  { id, owner, budget }: Pick<Unit, 'id' | 'owner' | 'budget'>,
  cap: number,
): Promise<string> {
  const name = `${id} --max-cost`;
  await database.query(
    'insert into ralph.budget (id, owner, cap, within, unit) values ($1, $2, $3, $4, $5) on conflict (id) do update set cap = $3',
    [name, owner, cap, budget, id],
  );
  return name;
}
