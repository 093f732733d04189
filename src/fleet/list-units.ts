/** The units of a fleet as a list of runs: those that are not over first, then the latest. */

import type { Unit } from './unit.ts';
import type { Querying } from './units.ts';
import type { Waiting } from './view.ts';

export type ListedUnit = Waiting &
  Pick<Unit, 'id' | 'kind' | 'title' | 'worker' | 'stopReason' | 'cost' | 'iterations' | 'startedAt'>;

/** With those that belong to them. */
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
