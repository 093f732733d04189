/** The fleet as people see it. */

import type { Currency } from '../domain/run/budget.ts';
import { allowsRepo } from './admission.ts';
import type { Querying } from './database.ts';
import { OVER, type Unit } from './unit.ts';

import { findUnits } from './units.ts';

export interface WorkerRow {
  readonly id: string;
  readonly labels: readonly string[];
  /** Patterns of the repositories that it works on; none: on all. */
  readonly repos: readonly string[];
  readonly version: number;
  readonly slots: number;
  readonly busy: number;
  readonly draining: boolean;
  /** Seconds since it was last seen, by the clock of the database. */
  readonly silence: number;
}

/** `pullRequest`: its address. */
type ShownUnit = Unit & { readonly pullRequest?: string };

export interface FleetView {
  readonly units: readonly ShownUnit[];
  readonly workers: readonly WorkerRow[];
  readonly budgets: readonly {
    readonly id: string;
    readonly owner: string;
    readonly currency: Currency;
    readonly cap: number;
    readonly reserved: number;
    readonly spent: number;
    /** The list of stories whose own it is; null: somebody made it. */
    readonly unit: string | null;
    /** Of itself and those that it is part of: those that have nothing left at the moment. */
    readonly empty: readonly string[];
  }[];
  /** `limited`: seconds. */
  readonly accounts: readonly {
    readonly id: string;
    readonly slots: number | null;
    readonly limited: number;
  }[];
}

export async function readFleet(
  database: Querying,
  { words, all }: { readonly words: string; readonly all: boolean },
): Promise<FleetView> {
  const units = await withPullRequests(database, await findUnits(database, words, all || words !== ''));
  return { units, ...(await readSurroundings(database)) };
}

async function withPullRequests(database: Querying, units: readonly Unit[]): Promise<readonly ShownUnit[]> {
  const { rows } = await database.query<{ readonly unit: string; readonly address: string }>(
    `select unit, line::jsonb->>'address' as address from ralph.event
     where type = 'forge' and unit = any($1) and line::jsonb->>'address' is not null order by seq`,
    [units.map(({ id }) => id)],
  );
  const addresses = new Map(rows.map(({ unit, address }) => [unit, address]));
  return units.map(unit => {
    const pullRequest = addresses.get(unit.id);
    return pullRequest === undefined ? unit : { ...unit, pullRequest };
  });
}

/** What decides whether a unit begins. */
export type Surroundings = Omit<FleetView, 'units'>;

export async function readSurroundings(database: Querying): Promise<Surroundings> {
  const workers = await database.query(
    'select id, labels, repos, version, slots, busy, draining, extract(epoch from now() - seen_at)::float8 as silence from ralph.worker order by id',
  );
  const budgets = await database.query(
    `select id, owner, currency, cap::float8 as cap, reserved::float8 as reserved, spent::float8 as spent, unit,
       array(select w.id from ralph.whole_of(b.id) w where w.spent + w.reserved >= w.cap) as empty
     from ralph.budget b where unit is null or exists (select from ralph.unit u where u.id = b.unit and u.ended_at is null) order by id`,
  );
  const accounts = await database.query(
    'select id, slots, greatest(0, coalesce(extract(epoch from limited_until - now()), 0))::float8 as limited from ralph.account order by id',
  );
  return {
    workers: workers.rows as unknown as FleetView['workers'],
    budgets: budgets.rows as unknown as FleetView['budgets'],
    accounts: accounts.rows as unknown as FleetView['accounts'],
  };
}

export type Waiting = Pick<Unit, 'state' | 'depends' | 'needs' | 'minVersion' | 'repoUrl'> &
  Pick<Unit, 'parent' | 'account' | 'budget' | 'detail'>;

/** Why nobody works on it; undefined where somebody does, or it is over. */
export function waitsFor(unit: Waiting, { workers, accounts, budgets }: Surroundings): string | undefined {
  if (OVER.includes(unit.state) || unit.state === 'running') return undefined;
  if (unit.state === 'waiting') return `waits for ${unit.depends.join(', ')}`;
  const alive = workers.filter(({ silence, draining }) => silence < 15 && !draining);
  if (alive.length === 0) return 'waits for a worker: none is running';
  const able = alive.filter(({ labels }) => unit.needs.every(need => labels.includes(need)));
  if (able.length === 0) {
    const missing = unit.needs.filter(need => !alive.some(({ labels }) => labels.includes(need)));
    return `waits for a worker with ${(missing.length > 0 ? missing : unit.needs).join(', ')}: none has ${missing.length > 1 || missing.length === 0 ? 'them all' : 'it'}`;
  }
  if (able.every(({ version }) => version < unit.minVersion)) return 'waits for a worker with a newer Ralph';
  if (!able.some(worker => allowsRepo(worker, unit.repoUrl))) {
    const those = alive.some(worker => allowsRepo(worker, unit.repoUrl))
      ? ` with ${unit.needs.join(', ')}`
      : '';
    return `waits for a worker${those} that allows ${unit.repoUrl}: none does. Start one without --allow-repo, or with one that fits`;
  }
  const account = accounts.find(({ id }) => id === unit.account);
  if (account && account.limited > 0)
    return `waits for the account ${unit.account}, which is limited for another ${Math.ceil(account.limited)} s`;
  const empty = budgets.find(({ id }) => id === unit.budget)?.empty.at(-1);
  if (empty !== undefined) return emptyWords(empty, unit);
  if (unit.state === 'parked') return unit.detail ?? 'waits for a while';
  if (able.every(({ busy, slots }) => busy >= slots)) return 'waits for a free slot';
  return undefined;
}

function emptyWords(budget: string, { parent }: Waiting): string {
  const own = parent !== null && budget.startsWith(`${parent} `) && budget.slice(parent.length + 1);
  return own
    ? `waits for others of its list: they hold what is left of ${own}`
    : `waits for money: the budget ${budget} has none left`;
}

export type ListedUnit = Waiting &
  Pick<Unit, 'id' | 'kind' | 'title' | 'worker' | 'stopReason' | 'cost' | 'iterations' | 'startedAt'>;

/** The units of a fleet as a list of runs: those that are not over first, then the latest; with those that belong to them. */
export async function listUnits(database: Querying, most: number): Promise<readonly ListedUnit[]> {
  const { rows } = await database.query<ListedUnit>(
    `with whole as (select id from ralph.unit where parent is null order by ended_at is not null, number desc limit $1)
     select id, kind, title, state, worker, stop_reason as "stopReason", detail, cost::float8 as cost, iterations, started_at as "startedAt",
       depends, needs, min_version as "minVersion", repo_url as "repoUrl", parent, account, budget
     from ralph.unit where id in (select id from whole) or parent in (select id from whole)
     order by ended_at is not null, number desc`,
    [most],
  );
  return rows;
}
