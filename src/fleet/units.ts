/** The units in the database. Whoever works on one writes under its fence, and no longer when somebody else has claimed it. */
import type { LoopResult } from '../domain/run/result.ts';
import type { Problem } from '../domain/text/problem.ts';
import type { LedgerLine } from '../store/journal.ts';
import type { Database, Querying } from './database.ts';
import { flawOf, OVER, type Unit, type UnitConfig, type UnitState } from './unit.ts';

/** The same for pg-boss: what it does is done in the transaction. */
export function executing({ query }: Querying) {
  return {
    executeSql: async (text: string, values: unknown[] = []) => ({
      rows: [...(await query(text, values)).rows],
    }),
  };
}

const COLUMNS = `id, kind, parent, title, owner, repo_url as "repoUrl", base, config, needs, account, budget, priority, depends,
  min_version as "minVersion", state, fence::int as fence, worker, takeovers, carry, carry_fence::int as "carryFence", head_sha as "headSha",
  stop_reason as "stopReason", detail, cost::float8 as cost, iterations, ready_at as "readyAt", submitted_at as "submittedAt",
  started_at as "startedAt", ended_at as "endedAt"`;

export type NewUnit = Pick<Unit, 'id' | 'kind' | 'parent' | 'title' | 'owner' | 'repoUrl' | 'base'> &
  Pick<Unit, 'needs' | 'account' | 'budget' | 'priority' | 'depends' | 'minVersion'> & {
    readonly config: UnitConfig;
  };

/** False: there is one with this id already. */
export async function addUnit(database: Querying, unit: NewUnit): Promise<boolean> {
  await database.query('insert into ralph.account (id) values ($1) on conflict do nothing', [unit.account]);
  const { id, kind, parent, title, owner, repoUrl, base, config, needs } = unit;
  const { account, budget, priority, depends, minVersion } = unit;
  const state: UnitState = depends.length === 0 ? 'ready' : 'waiting';
  const { rowCount } = await database.query(
    `insert into ralph.unit (id, kind, parent, title, owner, repo_url, base, config, needs, account, budget, priority, depends, min_version, state)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) on conflict do nothing`,
    [
      ...[id, kind, parent, title, owner, repoUrl, base, JSON.stringify(config), needs],
      ...[account, budget, priority, depends, minVersion, state],
    ],
  );
  return rowCount === 1;
}

export async function unitOf(database: Querying, id: string): Promise<Unit | undefined> {
  const { rows } = await database.query(`select ${COLUMNS} from ralph.unit where id = $1`, [id]);
  return rows[0] as Unit | undefined;
}

/** Those whose id holds these words; `all`: also those that ended more than a day ago, by the clock of the database. */
export async function findUnits(database: Querying, words = '', all = true): Promise<readonly Unit[]> {
  const { rows } = await database.query(
    `select ${COLUMNS} from ralph.unit where strpos(id, $1) > 0 and ($2 or ended_at is null or ended_at > now() - interval '1 day')
     order by number`,
    [words, all],
  );
  return rows as unknown as readonly Unit[];
}

/** The unit that a user means: its whole id, a part of it that fits no other, or nothing for the latest one. */
export async function findUnit(database: Querying, words: string | undefined): Promise<Unit | Problem> {
  const found = await findUnits(database, words);
  const whole = found.filter(({ parent }) => parent === null);
  const fits = words === undefined ? whole.slice(-1) : found.filter(({ id }) => id === words);
  // Part of the id of a list of stories is in those of all its stories.
  const [only, ...more] = fits.length > 0 ? fits : whole.length > 0 ? whole : found;
  const where = words ?? 'unit';
  if (!only) return { where, what: 'there is no such unit', fix: '`ralph fleet status --all` lists them' };
  if (more.length === 0) return only;
  const some = [only, ...more].slice(0, 5).map(({ id }) => id);
  return { where, what: `fits ${more.length + 1} units: ${some.join(', ')}` };
}

export async function childrenOf(database: Querying, parent: string): Promise<readonly Unit[]> {
  const { rows } = await database.query<Unit>(
    `select ${COLUMNS} from ralph.unit where parent = $1 order by number`,
    [parent],
  );
  return rows;
}

/** After so many workers that died with it somebody has to look at it. */
export const MOST_TAKEOVERS = 8;

export interface Claim {
  readonly unit: Unit;
  /** Who held it before. */
  readonly before: string | null;
}

/** Makes the worker its holder: from now on nobody else writes. undefined: it is over, or too many workers died with it. */
export async function claimUnit(
  database: Database,
  id: string,
  worker: string,
  version: number,
): Promise<Claim | undefined> {
  return database.transaction(async tx => {
    const { rows } = await tx.query<Unit>(`select ${COLUMNS} from ralph.unit where id = $1 for update`, [id]);
    const [now] = rows;
    if (!now || OVER.includes(now.state) || now.minVersion > version) return undefined;
    const giveUp = async (state: UnitState, detail: string) => {
      await freeReservation(tx, id, now.fence + 1);
      await tx.query(
        'update ralph.unit set state = $2, fence = fence + 1, detail = $3, ended_at = now() where id = $1',
        [id, state, detail],
      );
    };
    const flaw = flawOf(now);
    if (flaw !== undefined) {
      await giveUp('stopped', flaw);
      return undefined;
    }
    const isTakeover = now.state === 'running';
    // Before the first carry there is nothing but how it was opened: it begins anew.
    await tx.query(
      'delete from ralph.event e using ralph.unit u where u.id = $1 and e.unit = u.id and u.carry is null',
      [id],
    );
    if (isTakeover && now.takeovers >= MOST_TAKEOVERS) {
      await giveUp('lost', `${now.takeovers} workers in a row ended while they worked on it`);
      return undefined;
    }
    const claimed = await tx.query(
      `update ralph.unit set state = 'running', fence = fence + 1, worker = $2, ready_at = null,
         takeovers = takeovers + $3, started_at = coalesce(started_at, now()) where id = $1 returning ${COLUMNS}`,
      [id, worker, isTakeover ? 1 : 0],
    );
    return { unit: claimed.rows[0] as unknown as Unit, before: now.worker };
  });
}

/** What a holder has to say of its unit: lines of the ledger, where the work is, and how far it is. */
export interface Progress {
  readonly lines: readonly LedgerLine[];
  /** The commit. */
  readonly carry?: string | undefined;
  readonly cost?: number | null | undefined;
  readonly iterations?: number | undefined;
}

/** All of it or nothing. False: somebody else holds the unit by now. */
export async function writeProgress(
  database: Database,
  { id, fence }: Pick<Unit, 'id' | 'fence'>,
  { lines, carry, cost, iterations }: Progress,
): Promise<boolean> {
  return database.transaction(async tx => {
    if (!(await holds(tx, id, fence))) return false;
    if (lines.length > 0)
      await tx.query(
        `insert into ralph.event (unit, seq, fence, type, line)
         select $1, s, $2, t, l from unnest($3::bigint[], $4::text[], $5::text[]) as new (s, t, l)
         -- Sent before, by this holder, and only the answer was lost.
         on conflict do nothing`,
        [id, fence, lines.map(line => line.seq), lines.map(line => line.type), lines.map(line => line.text)],
      );
    await tx.query(
      `update ralph.unit set carry = coalesce($3, carry), carry_fence = case when $3::text is null then carry_fence else $2 end,
         takeovers = case when $3::text is null then takeovers else 0 end,
         cost = coalesce($4, cost), iterations = coalesce($5, iterations) where id = $1`,
      [id, fence, carry ?? null, cost ?? null, iterations ?? null],
    );
    return true;
  });
}

/** Held until the end of the transaction: nobody claims the unit in between. */
export async function holds(tx: Querying, id: string, fence: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    "select 1 from ralph.unit where id = $1 and fence = $2 and state = 'running' for update",
    [id, fence],
  );
  return rowCount === 1;
}

export type Ending =
  | { readonly state: 'done' | 'stopped' | 'cancelled'; readonly result: LoopResult; readonly head?: string }
  /** It cannot be worked on here or at all. */
  | { readonly state: 'stopped'; readonly detail: string }
  /** Somebody takes it later, not before so many seconds have passed. */
  | { readonly state: 'ready' | 'parked'; readonly seconds?: number; readonly detail?: string };

/** Gives it up, for good or for now; `more` is done with it, or not at all. False: somebody else holds it by now. */
export async function releaseUnit(
  database: Database,
  { id, fence }: Pick<Unit, 'id' | 'fence'>,
  ending: Ending,
  more: (tx: Querying) => Promise<unknown>,
): Promise<boolean> {
  return database.transaction(async tx => {
    if (!(await holds(tx, id, fence))) return false;
    const result = 'result' in ending ? ending.result : undefined;
    const isOver = OVER.includes(ending.state);
    await tx.query(
      `update ralph.unit set state = $3, worker = case when $4 then worker else null end, ready_at = now() + $5 * interval '1 second',
         stop_reason = $6, detail = $7, head_sha = coalesce($8, head_sha), cost = coalesce($9, cost),
         ended_at = case when $4 then now() end where id = $1 and fence = $2`,
      [
        ...[id, fence, ending.state, isOver, 'seconds' in ending ? (ending.seconds ?? null) : null],
        result?.stopReason ?? null,
        result?.detail ?? ('detail' in ending ? (ending.detail ?? null) : null),
        ...['head' in ending ? (ending.head ?? null) : null, result?.totalCost ?? null],
      ],
    );
    await freeReservation(tx, id, fence);
    await more(tx);
    return true;
  });
}

/** Of a turn that nobody knows the price of: that of the dearest so far, or a guess. `b` is the budget. */
export const UNKNOWN_PRICE =
  "coalesce(b.dearest, case b.currency when 'cost' then 0.5 when 'tokens' then 1000000 else 0 end)";

/** A turn of a holder before was cut off, and nobody knows what it cost. The turn itself is taken again. */
export async function freeReservation(tx: Querying, unit: string, fence: number): Promise<void> {
  await tx.query(
    `with gone as (delete from ralph.reservation where unit = $1 returning budget, amount, fence)
     update ralph.budget b set reserved = b.reserved - gone.amount, 
       spent = b.spent + case when gone.fence < $2 and b.currency <> 'turns' then least(gone.amount, ${UNKNOWN_PRICE}) else 0 end
     from gone where b.id = gone.budget`,
    [unit, fence],
  );
}

/** The ledger of a unit, byte for byte. */
export async function readLines(
  database: Querying,
  id: string,
  after = 0,
  most = 5_000,
): Promise<readonly LedgerLine[]> {
  const { rows } = await database.query(
    'select seq::int as seq, type, line as text from ralph.event where unit = $1 and seq > $2 order by seq limit $3',
    [id, after, most],
  );
  return rows as unknown as readonly LedgerLine[];
}

/** All of it. */
export async function allLines(database: Querying, id: string): Promise<readonly LedgerLine[]> {
  const lines: LedgerLine[] = [];
  for (;;) {
    const more = await readLines(database, id, lines.at(-1)?.seq ?? 0);
    if (more.length === 0) return lines;
    lines.push(...more);
  }
}
