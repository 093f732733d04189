/** What units are told: by whom, and whether their worker has heard it. */
import type { Message } from '../store/inbox.ts';
import type { Database } from './database.ts';
import type { Querying } from './units.ts';

export interface Told {
  readonly id: string;
  readonly unit: string;
  readonly body: Message;
}

export interface Standing {
  /** The fences of units as they are now. */
  readonly fences: ReadonlyMap<string, number>;
  readonly commands: readonly Told[];
  readonly isDraining: boolean;
  /** The schema was changed meanwhile so that a Ralph of this version cannot work with it. */
  readonly isOutdated: boolean;
}

/** One look for all that a worker holds. */
export async function standingOf(
  database: Querying,
  { worker, version }: { readonly worker: string; readonly version: number },
  units: readonly string[],
  busy: number,
): Promise<Standing> {
  const seen = await database.query(
    `update ralph.worker set seen_at = now(), busy = $2 where id = $1
     returning draining, (select max(min_version) from ralph.migration) > $3 as outdated`,
    [worker, busy, version],
  );
  const held =
    units.length === 0
      ? []
      : (await database.query('select id, fence::int as fence from ralph.unit where id = any($1)', [units]))
          .rows;
  const told =
    units.length === 0
      ? []
      : (
          await database.query(
            'select id::text, unit, body from ralph.command where unit = any($1) and done_at is null order by ralph.command.id',
            [units],
          )
        ).rows;
  return {
    fences: new Map(held.map(({ id, fence }) => [id as string, fence as number])),
    commands: told as unknown as readonly Told[],
    isDraining: seen.rows[0]?.draining === true,
    isOutdated: seen.rows[0]?.outdated === true,
  };
}

export async function tellUnit(
  database: Querying,
  unit: string,
  body: Message,
  givenBy: string,
): Promise<void> {
  await database.query('insert into ralph.command (unit, body, given_by) values ($1, $2, $3)', [
    unit,
    JSON.stringify(body),
    givenBy,
  ]);
}

export async function commandDone(database: Querying, id: string): Promise<void> {
  await database.query('update ralph.command set done_at = now() where id = $1', [id]);
}

/** With its stories, where it has some. One that nobody works on is over at once; of another its worker hears. Answers whether it is over. */
export async function cancelUnit(database: Database, id: string, givenBy: string): Promise<boolean> {
  return database.transaction(async query => {
    const { rows } = await query<{ id: string }>(
      'select id from ralph.unit where parent = $1 and ended_at is null order by number',
      [id],
    );
    for (const story of rows) await cancelOne({ query }, story.id, givenBy);
    return cancelOne({ query }, id, givenBy);
  });
}

async function cancelOne(tx: Querying, id: string, givenBy: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update ralph.unit set state = 'cancelled', fence = fence + 1, stop_reason = 'cancelled', ended_at = now()
     where id = $1 and state in ('waiting', 'ready', 'admitted', 'parked')`,
    [id],
  );
  if (rowCount === 1) return true;
  await tellUnit(tx, id, { kind: 'cancel', gently: false }, givenBy);
  return false;
}
