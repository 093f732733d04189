/** What units are told: by whom, and whether their worker has heard it. */
import type { Message } from '../store/inbox.ts';
import type { Sent } from '../store/send.ts';
import type { Database, Querying } from './database.ts';
import { OVER, type Unit } from './unit.ts';

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
  /** There are units that nobody has begun, for whomever; and lists of stories, which need no slot. */
  readonly mayBegin: boolean;
  readonly mayBeginList: boolean;
  /** There are leases, whoever has them. */
  readonly hasJobs: boolean;
  /** Nobody has looked for workers that died, in the last second. */
  readonly isUnwatched: boolean;
}

/** One look for all that a worker holds, in one statement: a worker that has nothing to do costs no more than that. */
export async function standingOf(
  database: Querying,
  { worker, version }: { readonly worker: string; readonly version: number },
  units: readonly string[],
): Promise<Standing> {
  const { rows } = await database.query<Omit<Standing, 'fences'> & { fences: Record<string, number> }>(
    `select coalesce((select draining from ralph.worker where id = $1), false) as "isDraining",
       (select max(min_version) from ralph.migration) > $2 as "isOutdated",
       exists (select from ralph.unit where ${BEGINS} and kind <> 'prd') as "mayBegin",
       exists (select from ralph.unit where ${BEGINS} and kind = 'prd') as "mayBeginList",
       exists (select from ralph.unit where job is not null) as "hasJobs",
       exists (select from ralph_jobs.queue where coalesce(monitor_on, 'epoch') < now() - interval '1 second') as "isUnwatched",
       coalesce((select json_object_agg(id, fence) from ralph.unit where id = any($3)), '{}') as fences,
       coalesce((select json_agg(json_build_object('id', id::text, 'unit', unit, 'body', body) order by id)
         from ralph.command where unit = any($3) and done_at is null), '[]') as commands`,
    [worker, version, units],
  );
  const [row] = rows;
  if (!row) throw new Error('no answer');
  return { ...row, fences: new Map(Object.entries(row.fences)) };
}

const BEGINS = "(state in ('ready', 'waiting') or (state = 'parked' and ready_at <= now()))";

/** What units are sent over the database; their workers look every second. One that nobody has is cancelled at once. */
export async function sendToUnit(
  database: Database,
  { id, state, worker }: Pick<Unit, 'id' | 'state' | 'worker'>,
  order: Message,
  givenBy: string,
): Promise<Sent & { readonly isCancelled?: boolean }> {
  if (OVER.includes(state)) return { message: `${id} is over: ${state}.`, done: false, runId: id };
  const reply = (words: string) => ({ message: `${id}: ${words}`, done: true, runId: id });
  const isHeld = state === 'running';
  if (order.kind === 'cancel' && !(order.gently && isHeld))
    return (await cancelUnit(database, id, givenBy))
      ? { ...reply('cancelled'), isCancelled: true }
      : reply(`its worker ${worker} stops it within two seconds; its work is kept`);
  await tellUnit(database, id, order, givenBy);
  return reply(CONFIRMED[order.kind]);
}

const CONFIRMED: Readonly<Record<Message['kind'], string>> = {
  cancel: 'it stops after this step; its work is kept.',
  pause: 'it pauses after this step.',
  continue: 'it continues.',
  tell: 'the agent reads it at the beginning of its next iteration.',
  answer: 'the answer is in the next prompt of that story.',
};

async function tellUnit(database: Querying, unit: string, body: Message, givenBy: string): Promise<void> {
  await database.query('insert into ralph.command (unit, body, given_by) values ($1, $2, $3)', [
    unit,
    JSON.stringify(body),
    givenBy,
  ]);
}

/** With its stories, where it has some. One that nobody works on is over at once; of another its worker hears. Returns whether it is over. */
export async function cancelUnit(database: Database, id: string, givenBy: string): Promise<boolean> {
  return database.transaction(async tx => {
    const { rows } = await tx.query<{ id: string }>(
      'select id from ralph.unit where parent = $1 and ended_at is null order by number',
      [id],
    );
    for (const story of rows) await cancelOne(tx, story.id, givenBy);
    return cancelOne(tx, id, givenBy);
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
