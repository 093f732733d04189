/**
 * Which units may begin now. One transaction under a lock that is taken in a statement of its own before: what it then reads is what everybody
 * else who held the lock has written.
 */
import { matchesText } from '../domain/text/glob.ts';
import type { Database, Querying } from './database.ts';
import { sendJob } from './lease.ts';
import { isAddress, type Queued, type Unit } from './unit.ts';

export interface Applicant {
  /** How many more units the worker could take. */
  readonly free: number;
  readonly labels: readonly string[];
  readonly version: number;
  /** Patterns of the repositories that it works on; none: on all. */
  readonly repos: readonly string[];
}

/** Any number that nobody else uses. */
export const ADMISSION_LOCK = 7_261_001;

/** Candidates that are looked at for each place: some fall out because their account is full. */
const LOOK_AT = 4;

/** Returns how many were admitted. A job for each is in the queue of its needs: whoever fits takes it. */
export async function admit(database: Database, applicant: Applicant): Promise<number> {
  const { free } = applicant;
  return database.transaction(async tx => {
    await tx.query('select pg_advisory_xact_lock($1)', [ADMISSION_LOCK]);
    await wake(tx);
    const { labels, version } = applicant;
    const repos = await allowed(tx, applicant);
    const waiting = await tx.query(
      `select count(*)::int as there from ralph.unit where state = 'admitted' and kind <> 'prd' and needs <@ $1 and min_version <= $2
         and ($3::text[] is null or repo_url = any($3))`,
      [labels, version, repos],
    );
    let room = free - Number(waiting.rows[0]?.there ?? 0);
    const all = await candidates(tx, applicant, repos, Math.max(room, 1));
    // A list of stories only waits for others: it holds no slot.
    const chosen = all.filter(({ kind }) => kind === 'prd' || room-- > 0);
    for (const each of chosen) {
      const job = await sendJob(database, tx, each);
      await tx.query("update ralph.unit set state = 'admitted', job = $2 where id = $1", [each.id, job]);
    }
    return chosen.length;
  });
}

/** Those whose time has come, and those whose others are done; one whose others will never be is over, too. */
async function wake(tx: Querying): Promise<void> {
  await tx.query(
    `update ralph.unit set state = 'ready', ready_at = null where state = 'parked' and ready_at <= now()`,
    [],
  );
  await tx.query(
    `update ralph.unit u set state = 'ready' where state = 'waiting' and not exists
       (select from unnest(u.depends) as d (id) left join ralph.unit o on o.id = d.id where o.state is distinct from 'done')`,
    [],
  );
  await tx.query(
    `update ralph.unit u set state = 'stopped', ended_at = now(), detail = o.id || ' ended as ' || o.state
       from ralph.unit o where u.state = 'waiting' and o.id = any(u.depends) and o.state in ('stopped', 'cancelled', 'lost')`,
    [],
  );
}

/** Whether a worker may take units of this repository. */
export function allowsRepo({ repos }: { readonly repos: readonly string[] }, repoUrl: string): boolean {
  return repos.length === 0 || (isAddress(repoUrl) && repos.some(pattern => fits(repoUrl, pattern)));
}

/** `*.example.org` names hosts: what stands behind the host of another address is none. */
function fits(repoUrl: string, pattern: string): boolean {
  const [host, path] = hostAndPath(repoUrl);
  const [hosts, paths] = hostAndPath(pattern);
  if (hosts === '') return matchesText(repoUrl, pattern);
  const isAnyPath = paths === '' && hosts.endsWith('*');
  return matchesText(host, hosts) && (isAnyPath || matchesText(path, paths));
}

/** `https://host` and `/path`, `git@host:` and `path`; no host where there is only a path. */
function hostAndPath(address: string): readonly [host: string, path: string] {
  const host = /^(?:[a-z*][\w+.*-]*:\/\/[^/?#\\]*|[^/:]+:)/i.exec(address)?.[0] ?? '';
  return [host, address.slice(host.length)];
}

/** Of those that could begin; null: all. In the question itself: what a worker may not take must not hide what it may. */
async function allowed(tx: Querying, worker: Applicant): Promise<readonly string[] | null> {
  if (worker.repos.length === 0) return null;
  const { rows } = await tx.query<{ url: string }>(
    "select distinct repo_url as url from ralph.unit where state in ('ready', 'admitted')",
  );
  return rows.map(({ url }) => url).filter(url => allowsRepo(worker, url));
}

type Candidate = Queued & Pick<Unit, 'id' | 'priority' | 'account'> & { readonly left: number | null };

/**
 * By priority; among equals the owner with the fewest units in hand comes first, each unit that is admitted counting. An account takes
 * as many as it has slots, and none while it is limited; a budget without money lets nothing begin.
 */
async function candidates(
  tx: Querying,
  { labels, version }: Applicant,
  repos: readonly string[] | null,
  room: number,
): Promise<readonly Candidate[]> {
  const { rows } = await tx.query<Candidate>(
    `with busy as (select owner, count(*) as units from ralph.unit where state in ('admitted', 'running') group by owner),
       used as (select account, count(*) as units from ralph.unit where state in ('admitted', 'running') and kind <> 'prd' group by account),
       -- One that has spent what its list may is let in, to say so and end: nobody raises that limit.
       money as (
         select x.budget, bool_and(w.spent + w.reserved < w.cap) or bool_or(w.unit is not null and w.spent >= w.cap) as is_there
         from (select distinct budget from ralph.unit where state = 'ready') x cross join lateral ralph.whole_of(x.budget) w group by x.budget),
       fit as (
         select u.id, u.needs, u.priority, u.number, u.repo_url, u.min_version, u.account, u.kind,
           a.slots - coalesce(used.units, 0) as left_over, coalesce(busy.units, 0) as in_hand,
           row_number() over (partition by u.owner, u.priority order by u.number) as turn
         from ralph.unit u
         join ralph.account a on a.id = u.account
         left join used on used.account = u.account
         left join busy on busy.owner = u.owner
         left join money on money.budget = u.budget
         where u.state = 'ready' and coalesce(u.ready_at, 'epoch') <= now() and u.needs <@ $1 and u.min_version <= $2 and ($4::text[] is null or u.repo_url = any($4))
           and (u.kind = 'prd' or ((a.limited_until is null or a.limited_until <= now()) and (a.slots is null or a.slots > coalesce(used.units, 0))))
           and coalesce(money.is_there, true))
     select id, needs, priority, repo_url as "repoUrl", min_version as "minVersion", account, left_over::int as left, kind from fit
     where turn <= $3 order by priority desc, in_hand + turn, number limit $3`,
    [labels, version, room * LOOK_AT + 16, repos],
  );
  const taken = new Map<string, number>();
  return rows.filter(({ account, left, kind }) => {
    if (kind === 'prd') return true;
    const before = taken.get(account) ?? 0;
    if (left !== null && before >= left) return false;
    taken.set(account, before + 1);
    return true;
  });
}
