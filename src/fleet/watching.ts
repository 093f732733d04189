/** Of those who watch the issues of a repository for one fleet one works; another takes over when that one is gone. */
import { hostname } from 'node:os';
import type { Querying } from './database.ts';

/** Seconds without a sign of life. */
const LEASE = 60;

/** Takes it, or shows that it is still held. Returns the machine of whoever else has it. */
export async function holdWatch(
  database: Querying,
  id: string,
  watcher: string,
): Promise<string | undefined> {
  const { rowCount } = await database.query(
    `insert into ralph.watch as w (id, watcher, host) values ($1, $2, $3) on conflict (id) do update set watcher = $2, host = $3, seen_at = now()
     where w.watcher = $2 or w.seen_at < now() - $4 * interval '1 second'`,
    [id, watcher, hostname(), LEASE],
  );
  if (rowCount === 1) return undefined;
  const { rows } = await database.query<{ host: string }>('select host from ralph.watch where id = $1', [id]);
  return rows[0]?.host ?? 'another machine';
}

export async function releaseWatch(database: Querying, id: string, watcher: string): Promise<void> {
  await database.query('delete from ralph.watch where id = $1 and watcher = $2', [id, watcher]);
}
