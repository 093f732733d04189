/** Units that are over, out of the database and out of the remote: what came of them stays on its branch. */
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { complaint, type Env } from '../platform/git.ts';
import { reachingGit } from '../workspace/remote.ts';
import type { Database, Querying } from './database.ts';
import { mirrorOf } from './place.ts';
import { flawOf, OVER, type Unit } from './unit.ts';
import { childrenOf, unitOf } from './units.ts';

/** Those that ended so many seconds ago or earlier, by the clock of the database. */
export async function oldUnits(database: Querying, seconds: number): Promise<readonly string[]> {
  const { rows } = await database.query<{ id: string }>(
    `select id from ralph.unit where parent is null and job is null and ended_at <= now() - $1 * interval '1 second' order by number`,
    [seconds],
  );
  return rows.map(({ id }) => id);
}

/** With its stories. Returns why not. */
export async function removeUnit(database: Database, env: Env, id: string): Promise<Problem | undefined> {
  const unit = await unitOf(database, id);
  if (!unit) return { where: id, what: 'there is no such unit' };
  if (unit.parent !== null)
    return { where: id, what: 'it is a story of a list', fix: `ralph fleet remove ${unit.parent}` };
  const all = [unit, ...(await childrenOf(database, id))];
  const open = all.find(({ state }) => !OVER.includes(state));
  if (open) return { where: open.id, what: `it is not over: ${open.state}`, fix: `ralph fleet cancel ${id}` };
  // The names first: without the unit nobody would know which are ours. What nobody can have submitted has none.
  const sound = all.filter(each => flawOf(each) === undefined);
  const problem = sound.includes(unit) ? await removeRefs(env, unit.repoUrl, sound) : undefined;
  return problem ?? removeRows(database, all);
}

async function removeRefs(env: Env, url: string, units: readonly Unit[]): Promise<Problem | undefined> {
  const mirror = await mirrorOf(env, url);
  if (isProblem(mirror)) return mirror;
  const git = reachingGit(mirror, env);
  const found = await git.run([
    'ls-remote',
    '--quiet',
    '--',
    url,
    ...units.map(({ id }) => `refs/ralph/${id}/*`),
  ]);
  if (found.code !== 0)
    return { where: url, what: `it cannot be reached: ${complaint(found.output, found.code)}` };
  const names = found.stdout.split('\n').flatMap(line => line.split('\t')[1] ?? []);
  if (names.length === 0) return undefined;
  return git.order(['push', '--quiet', '--no-verify', '--', url, ...names.map(name => `:${name}`)], url);
}

/** Nothing is left of it, or all of it: somebody may have removed it meanwhile, or wait for it. */
async function removeRows(database: Database, units: readonly Unit[]): Promise<Problem | undefined> {
  const ids = units.map(({ id }) => id);
  return database.transaction(async ({ query }) => {
    const { rows } = await query<{ id: string }>(
      "select id from ralph.unit where state = 'waiting' and depends && $1 and not id = any($1) limit 1",
      [ids],
    );
    if (rows[0]) return { where: ids[0] ?? '', what: `${rows[0].id} waits for it` };
    for (const table of ['event', 'artifact', 'command', 'reservation'])
      await query(`delete from ralph.${table} where unit = any($1)`, [ids]);
    await query('delete from ralph.unit where id = any($1)', [ids]);
    await query('delete from ralph.budget where unit = any($1)', [ids]);
    return undefined;
  });
}
