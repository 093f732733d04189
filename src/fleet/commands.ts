/** The commands to units: by whom, and whether their worker has heard it. */
import { type Message, messageId, roundId } from '../store/inbox.ts';
import type { LedgerLine } from '../store/journal.ts';
import type { Sent } from '../store/send.ts';
import type { Database, Querying } from './database.ts';
import { LEASE_TIME } from './lease.ts';
import { OVER, type Unit, type UnitState } from './unit.ts';
import { cancelUnits, findUnits } from './units.ts';

export interface UnitCommand {
  readonly id: string;
  readonly unit: string;
  readonly body: Message;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface Standing {
  /** The fences of units as they are now. */
  readonly fences: ReadonlyMap<string, number>;
  /** Of those that were cancelled, and how. */
  readonly cancels: ReadonlyMap<string, 'now' | 'gently'>;
  /** Those whose effect is not on record yet, the oldest first. */
  readonly commands: readonly UnitCommand[];
  readonly isDraining: boolean;
  /** The schema was changed meanwhile so that a Ralph of this version cannot work with it. */
  readonly isOutdated: boolean;
  /** There are units that nobody has begun, for whomever; and lists of stories, which need no slot. */
  readonly mayBegin: boolean;
  readonly mayBeginList: boolean;
  /** There are leases, whoever has them. */
  readonly hasJobs: boolean;
  /** Nobody has looked for workers that died, in the last second, and those that live had time to show it since the server has started. */
  readonly isUnwatched: boolean;
}

/** One look for all that a worker holds, in one statement: a worker that has nothing to do costs no more than that. */
export async function standingOf(
  database: Querying,
  { worker, version }: { readonly worker: string; readonly version: number },
  units: readonly string[],
): Promise<Standing> {
  const { rows } = await database.query<Row>(
    `select coalesce((select draining from ralph.worker where id = $1), false) as "isDraining",
       (select max(min_version) from ralph.migration) > $2 as "isOutdated",
       exists (select from ralph.unit where ${BEGINS} and kind <> 'prd') as "mayBegin",
       exists (select from ralph.unit where ${BEGINS} and kind = 'prd') as "mayBeginList",
       exists (select from ralph.unit where job is not null) as "hasJobs",
       exists (select from ralph_jobs.queue where coalesce(monitor_on, 'epoch') < now() - interval '1 second')
         and pg_postmaster_start_time() < now() - $4 * interval '1 millisecond' as "isUnwatched",
       coalesce((select json_object_agg(id, fence) from ralph.unit where id = any($3)), '{}') as fences,
       coalesce((select json_object_agg(id, cancel) from ralph.unit where id = any($3) and cancel is not null), '{}') as cancels,
       ${openIn('$3')} as commands`,
    [worker, version, units, LEASE_TIME],
  );
  const [row] = rows;
  if (!row) throw new Error('no answer');
  return {
    ...row,
    fences: new Map(Object.entries(row.fences)),
    cancels: new Map(Object.entries(row.cancels)),
  };
}

/** `units`: the place of the parameter. */
const openIn = (
  units: '$1' | '$3',
) => `coalesce((select json_agg(json_build_object('id', id::text, 'unit', unit, 'body', body,
    'at', floor(extract(epoch from given_at) * 1000)) order by id) from ralph.command where unit = any(${units}) and done_at is null), '[]')`;

interface Row extends Omit<Standing, 'fences' | 'cancels'> {
  readonly fences: Record<string, number>;
  readonly cancels: Record<string, 'now' | 'gently'>;
}

const BEGINS = "state in ('ready', 'waiting', 'parked') and coalesce(ready_at, 'epoch') <= now()";

/** The commands that a unit has not heard: whoever begins with it hears it before the first turn. */
export async function openCommands(database: Querying, unit: string): Promise<readonly UnitCommand[]> {
  const { rows } = await database.query<{ commands: readonly UnitCommand[] }>(
    `select ${openIn('$1')} as commands`,
    [[unit]],
  );
  return rows[0]?.commands ?? [];
}

/** What units are sent over the database; their workers look every second. One that nobody has is cancelled at once. */
export async function sendToUnit(
  database: Database,
  { id, state, worker }: Pick<Unit, 'id' | 'state' | 'worker'>,
  order: Message,
  givenBy: string,
): Promise<SentToUnit> {
  if (OVER.includes(state)) return isOver(id, state);
  const reply = (words: string) => ({ message: `${id}: ${words}`, done: true, runId: id });
  if (order.kind !== 'cancel') {
    await tellUnit(database, id, order, givenBy);
    return reply(CONFIRMED[order.kind]);
  }
  const now = await cancelUnit(database, id, givenBy, order.gently);
  if (now === 'cancelled') return { ...reply('cancelled'), isCancelled: true };
  // It has ended while it was asked.
  if (now === undefined) return isOver(id, await stateOf(database, id));
  return reply(
    order.gently
      ? 'it stops after this step; its work is kept.'
      : `its worker ${worker} stops it within two seconds; its work is kept`,
  );
}

interface SentToUnit extends Sent {
  readonly isCancelled?: boolean;
  /** How a unit that is over has ended. */
  readonly state?: string;
}

async function stateOf(database: Querying, id: string): Promise<string> {
  const units = await findUnits(database, id);
  return units.find(unit => unit.id === id)?.state ?? 'gone';
}

function isOver(id: string, state: string): SentToUnit {
  return { message: `${id} is over: ${state}.`, done: false, runId: id, state };
}

const CONFIRMED: Readonly<Record<Exclude<Message['kind'], 'cancel'>, string>> = {
  pause: 'it pauses after this step.',
  continue: 'it continues.',
  tell: 'the agent reads it at the beginning of its next iteration.',
  answer: 'the answer is in the next prompt of that story.',
};

/** Who pauses a list pauses its stories. */
async function tellUnit(database: Database, unit: string, body: Message, givenBy: string): Promise<void> {
  const isForAll = body.kind === 'pause' || body.kind === 'continue';
  await database.transaction(({ query }) =>
    query(
      `insert into ralph.command (unit, body, given_by)
       select id, $2, $3 from ralph.unit where id = $1 or ($4 and parent = $1 and ended_at is null) order by number`,
      [unit, JSON.stringify(body), givenBy, isForAll],
    ),
  );
}

/** With its stories, where it has some. Returns how it stands; undefined: it was over before. */
export async function cancelUnit(
  database: Querying,
  id: string,
  givenBy: string,
  gently = false,
): Promise<UnitState | undefined> {
  const units = await cancelUnits(database, id, gently ? 'gently' : 'now', givenBy);
  return units.find(each => each.id === id)?.state;
}

/** The name under which a command lies in the inbox of its run: the same for every worker that gets it. */
export function messageName({ id, at, body }: Pick<UnitCommand, 'id' | 'at' | 'body'>): string {
  const round = roundOf(body);
  return round === undefined
    ? messageId(at, Number(id).toString(16).padStart(8, '0').slice(-8))
    : roundId(round);
}

/** A row may hold anything: only what is a name becomes part of a path. */
function roundOf(body: Message): string | undefined {
  const { round } = body as { readonly round?: unknown };
  return typeof round === 'string' && /^[0-9a-f]{8}$/.test(round) ? round : undefined;
}

/** Commands whose effect is in these lines: a pause has had its effect when the run continues, and not before. A round has it at its end. */
export function heardIn(lines: readonly LedgerLine[], commands: readonly UnitCommand[]): readonly string[] {
  const named = new Map(
    commands.filter(({ body }) => roundOf(body) === undefined).map(each => [messageName(each), each]),
  );
  return lines.flatMap(({ type, text }) => {
    if (type === 'hint-delivered') return named.get(JSON.parse(text).hint)?.id ?? [];
    if (type === 'question-answered') return named.get(JSON.parse(text).message)?.id ?? [];
    if (type !== 'continued') return [];
    const last = commands.findLastIndex(({ body }) => body.kind === 'continue');
    return commands
      .slice(0, last + 1)
      .filter(({ body: { kind } }) => kind === 'pause' || kind === 'continue')
      .map(({ id }) => id);
  });
}
