/** The units in the database. Whoever works on one writes under its fence, and no longer when somebody else has claimed it. */
import type { RunEvent } from '../domain/run/event.ts';
import type { LoopResult } from '../domain/run/result.ts';
import type { StopReason } from '../domain/run/stop-reason.ts';
import { isCommit } from '../domain/text/commit.ts';
import { parseObject } from '../domain/text/json.ts';
import type { Problem } from '../domain/text/problem.ts';
import type { LedgerLine } from '../store/journal.ts';
import type { Database, Querying } from './database.ts';
import { flawOf, heldRef, OVER, type Unit, type UnitConfig, type UnitState } from './unit.ts';

/** The same for pg-boss: what it does is done in the transaction. */
export function executing({ query }: Querying) {
  return {
    executeSql: async (text: string, values: unknown[] = []) => ({
      rows: [...(await query(text, values)).rows],
    }),
  };
}

const COLUMNS = `id, kind, parent, title, owner, repo_url as "repoUrl", base, config, needs, account, budget, priority, depends,
  min_version as "minVersion", state, fence::int as fence, worker, takeovers, cancel, reopened, carry, carry_fence::int as "carryFence", head_sha as "headSha",
  stop_reason as "stopReason", detail, cost::float8 as cost, iterations, ready_at as "readyAt", submitted_at as "submittedAt",
  started_at as "startedAt", ended_at as "endedAt"`;

export type NewUnit = Pick<Unit, 'id' | 'kind' | 'parent' | 'title' | 'owner' | 'repoUrl' | 'base'> &
  Pick<Unit, 'needs' | 'account' | 'budget' | 'priority' | 'depends' | 'minVersion'> & {
    readonly config: UnitConfig;
    /** No other with the same one is there, but for those that were stopped, cancelled or lost. */
    readonly likeness?: string;
  };

/** False: there is one with this id, or one like it, already. */
export async function addUnit(database: Querying, unit: NewUnit): Promise<boolean> {
  await database.query('insert into ralph.account (id) values ($1) on conflict do nothing', [unit.account]);
  const { id, kind, parent, title, owner, repoUrl, base, config, needs } = unit;
  const { account, budget, priority, depends, minVersion } = unit;
  const state: UnitState = depends.length === 0 ? 'ready' : 'waiting';
  const { rowCount } = await database.query(
    `insert into ralph.unit (id, kind, parent, title, owner, repo_url, base, config, needs, account, budget, priority, depends, min_version, state, likeness)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) on conflict do nothing`,
    [
      ...[id, kind, parent, title, owner, repoUrl, base, JSON.stringify(config), needs],
      ...[account, budget, priority, depends, minVersion, state, unit.likeness ?? null],
    ],
  );
  return rowCount === 1;
}

export async function unitOf(database: Querying, id: string): Promise<Unit | undefined> {
  const { rows } = await database.query(`select ${COLUMNS} from ralph.unit where id = $1`, [id]);
  return rows[0] as Unit | undefined;
}

/** The one that keeps another like it from being added. */
export async function findLike(
  database: Querying,
  likeness: string | undefined,
): Promise<Pick<Unit, 'id' | 'state'> | undefined> {
  const { rows } = await database.query<Pick<Unit, 'id' | 'state'>>(
    "select id, state from ralph.unit where likeness = $1 and state not in ('stopped', 'cancelled', 'lost')",
    [likeness ?? null],
  );
  return rows[0];
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
    const giveUp = async (state: UnitState, detail: string | null) => {
      await freeReservation(tx, id, now.fence + 1);
      await tx.query(
        'update ralph.unit set state = $2, fence = fence + 1, detail = $3, stop_reason = $4, ended_at = now() where id = $1',
        [id, state, detail, state === 'cancelled' ? 'cancelled' : null],
      );
    };
    if (now.cancel !== null) {
      await giveUp('cancelled', now.detail);
      await cancelUnits(tx, id, 'now', id);
      return undefined;
    }
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
  /** Commands whose effect is in these lines. */
  readonly heard?: readonly string[] | undefined;
}

/** What brings a unit nearer to its end: what is only begun, resumed or left again is none. */
const PROGRESS: ReadonlySet<string> = new Set<RunEvent['type']>([
  'turn-ended',
  'judged',
  'scm',
  'iteration-ended',
  'story-ended',
  'queued',
  'landed',
  'sent-back',
  'lane-kept',
]);

/** All of it or nothing. False: somebody else holds the unit by now. */
export async function writeProgress(
  database: Database,
  { id, fence }: Pick<Unit, 'id' | 'fence'>,
  { lines, carry, cost, iterations, heard = [] }: Progress,
): Promise<boolean> {
  return database.transaction(async tx => {
    if (!(await holds(tx, id, fence))) return false;
    if (lines.length > 0) await insertLines(tx, { id, fence }, lines);
    await tx.query(
      `update ralph.unit set carry = coalesce($3, carry), carry_fence = case when $3::text is null then carry_fence else $2 end,
         takeovers = case when $6 then 0 else takeovers end, waits = case when $6 then 0 else waits end, reopened = reopened and not $7,
         cost = coalesce($4, cost), iterations = coalesce($5, iterations) where id = $1`,
      [
        id,
        fence,
        carry ?? null,
        cost ?? null,
        iterations ?? null,
        lines.some(({ type }) => PROGRESS.has(type)),
        lines.some(({ type }) => type === 'run-started' || type === 'run-resumed'),
      ],
    );
    if (heard.length > 0)
      await tx.query(
        'update ralph.command set done_at = now() where unit = $1 and id = any($2) and done_at is null',
        [id, heard],
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
  | { readonly state: 'stopped'; readonly detail: string; readonly reason?: StopReason }
  /** Somebody takes it at once. */
  | { readonly state: 'ready' }
  /** Somebody takes it later, not before so many seconds have passed. */
  | { readonly state: 'parked'; readonly seconds: number; readonly detail: string }
  /** Something is away: it is tried again, each time later, and `most` times in a row. */
  | { readonly state: 'parked'; readonly trouble: string; readonly most: number };

/** How often in a row a unit is given up because something is away: for almost a day. */
export const MOST_WAITS = 50;
/** And because this worker is not let in: another may be. */
export const MOST_REFUSALS = 4;

/** Seconds. */
const FIRST_PAUSE = 15;
const LONGEST_PAUSE = 1_800;

interface Row {
  readonly state: UnitState;
  readonly seconds: number | null;
  readonly reason: StopReason | null;
  readonly detail: string | null;
  readonly waits: number;
}

/** What becomes of a unit: whoever gives it up for now gives it up for good where it was cancelled, or was tried often enough. */
function rowAfter(
  ending: Ending,
  { cancel, waits }: { readonly cancel: string | null; readonly waits: number },
): Row {
  const { state } = ending;
  const detail = 'detail' in ending ? ending.detail : 'trouble' in ending ? ending.trouble : null;
  const row = { state, seconds: null, reason: null, detail, waits };
  if ('result' in ending)
    return { ...row, reason: ending.result.stopReason, detail: ending.result.detail ?? null };
  if (cancel !== null) return { ...row, state: 'cancelled', reason: 'cancelled' };
  if ('trouble' in ending)
    return waits + 1 >= ending.most
      ? { ...row, state: 'stopped', detail: `it was tried ${waits + 1} times: ${ending.trouble}` }
      : { ...row, waits: waits + 1, seconds: Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** waits) };
  if (state === 'stopped') return { ...row, reason: ending.reason ?? null };
  return state === 'parked' ? { ...row, seconds: ending.seconds } : row;
}

/** Gives it up, for good or for now; `more` is done with it, or not at all. False: somebody else holds it by now. */
export async function releaseUnit(
  database: Database,
  { id, fence }: Pick<Unit, 'id' | 'fence'>,
  ending: Ending,
  more: (tx: Querying) => Promise<unknown>,
): Promise<boolean> {
  return database.transaction(async tx => {
    if (!(await holds(tx, id, fence))) return false;
    const { rows } = await tx.query<Pick<Unit, 'cancel'> & { readonly waits: number }>(
      'select cancel, waits from ralph.unit where id = $1',
      [id],
    );
    const { state, seconds, reason, detail, waits } = rowAfter(ending, rows[0] ?? { cancel: null, waits: 0 });
    const isOver = OVER.includes(state);
    await tx.query(
      `update ralph.unit set state = $3, worker = case when $4 then worker else null end, ready_at = now() + $5 * interval '1 second',
         stop_reason = $6, detail = $7, head_sha = coalesce($8, head_sha), cost = coalesce($9, cost), waits = $10,
         ended_at = case when $4 then now() end where id = $1 and fence = $2`,
      [
        ...[id, fence, state, isOver, seconds, reason, detail],
        ...[
          'head' in ending ? (ending.head ?? null) : null,
          'result' in ending ? ending.result.totalCost : null,
        ],
        waits,
      ],
    );
    await freeReservation(tx, id, fence);
    await more(tx);
    return true;
  });
}

/** What is on the branch of a pull request is put there by whoever follows that, and by nobody else: never by force, and proven. */
export async function hasPullRequest(database: Querying, id: string): Promise<boolean> {
  const sql = "select 1 from ralph.event where unit = $1 and type = 'forge' limit 1";
  return (await database.query(sql, [id])).rowCount === 1;
}

/** What came of a unit is on record, and its branch cannot be had: whoever looks at the unit sees it, and where the work is. */
export async function noteNotShown(
  database: Querying,
  unit: Pick<Unit, 'id' | 'fence' | 'repoUrl'>,
  why: string,
) {
  const ref = heldRef(unit, 'work');
  const words = `its branch does not have its work: ${why}. To get the work: git fetch ${unit.repoUrl} ${ref}`;
  await database.query(
    `update ralph.unit set detail = concat_ws('; ', detail, $3::text) where id = $1 and fence = $2 and ended_at is not null`,
    [unit.id, unit.fence, words],
  );
}

/** The units of which it is the parent, and itself. One that nobody works on is over at once; of another its worker reads it. */
export async function cancelUnits(
  tx: Querying,
  id: string,
  how: 'now' | 'gently',
  givenBy: string,
): Promise<readonly Pick<Unit, 'id' | 'state'>[]> {
  const { rows } = await tx.query<Pick<Unit, 'id' | 'state'>>(
    `update ralph.unit set cancel = case cancel when 'now' then 'now' else $2 end, cancelled_by = coalesce(cancelled_by, $3),
       state = case state when 'running' then state else 'cancelled' end,
       fence = fence + case state when 'running' then 0 else 1 end,
       stop_reason = case state when 'running' then stop_reason else 'cancelled' end,
       ended_at = case state when 'running' then null else now() end
     where (id = $1 or parent = $1) and ended_at is null returning id, state`,
    [id, how, givenBy],
  );
  return rows;
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

/** What is done for a unit that is over: the next lines of its ledger. False: somebody else has written there meanwhile. */
export async function extendLedger(
  database: Database,
  { id, fence }: Pick<Unit, 'id' | 'fence'>,
  lines: readonly LedgerLine[],
): Promise<boolean> {
  return database.transaction(async tx => {
    const over = await tx.query(
      'select 1 from ralph.unit where id = $1 and fence = $2 and state = any($3) for update',
      [id, fence, [...OVER]],
    );
    if (over.rowCount !== 1) return false;
    await insertLines(tx, { id, fence }, lines);
    const { rows } = await tx.query('select line from ralph.event where unit = $1 and seq = any($2)', [
      id,
      lines.map(({ seq }) => seq),
    ]);
    const there = new Set(rows.map(({ line }) => line));
    return lines.every(({ text }) => there.has(text));
  });
}

async function insertLines(
  tx: Querying,
  { id, fence }: Pick<Unit, 'id' | 'fence'>,
  lines: readonly LedgerLine[],
): Promise<void> {
  await tx.query(
    `insert into ralph.event (unit, seq, fence, type, line)
     select $1, s, $2, t, l from unnest($3::bigint[], $4::text[], $5::text[]) as new (s, t, l)
     -- Sent before, by this holder, and only the answer was lost.
     on conflict do nothing`,
    [id, fence, lines.map(line => line.seq), lines.map(line => line.type), lines.map(line => line.text)],
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

/** The commit that a list has landed last, as its ledger says. */
export async function lastLanded(database: Querying, id: string): Promise<string | undefined> {
  const { rows } = await database.query<{ line: string }>(
    "select line from ralph.event where unit = $1 and type = 'landed' order by seq desc limit 1",
    [id],
  );
  const commit = rows[0] && parseObject(rows[0].line)?.commit;
  return isCommit(commit) ? commit : undefined;
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
