/** The fleet's database, ready to use: reached, migrated, with its queue. */
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Env } from '../store/state.ts';
import { type Database, type DatabaseOptions, openDatabase, type Querying } from './database.ts';
import { databaseUrl } from './database-url.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';

/** Who looks for jobs of dead workers is decided by the workers, look by look. Seconds. */
const JOBS = { supervise: false, monitorIntervalSeconds: 1 };

/** Milliseconds: a worker that waits longer than a lease for one answer has lost its units meanwhile. */
const WORKER_PATIENCE = 5_000;

export async function openFleet(
  options: Readonly<Record<string, unknown>>,
  env: Env,
  { isWorker = false, ...more }: Pick<DatabaseOptions, 'onTrouble'> & { readonly isWorker?: boolean } = {},
): Promise<Database | Problem> {
  const url = databaseUrl(options, env);
  if (isProblem(url)) return url;
  const patience = isWorker ? { patience: WORKER_PATIENCE } : {};
  const database = await openDatabase(url, env, { ...more, ...patience, jobs: JOBS });
  if (isProblem(database)) return database;
  try {
    const migrated = await migrate(database, MIGRATIONS);
    if (!isProblem(migrated)) await database.boss.start();
    if (!isProblem(migrated)) return database;
    await database.close();
    return migrated;
  } catch (error) {
    await database.close();
    const problem = database.problemOf(error);
    if (problem) return problem;
    throw error;
  }
}

/** The schema is brought up to date forward only, in one transaction, by one process at a time. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/** A database that is up to date is only read: that needs no more rights than a worker has. */
export async function migrate(
  database: Pick<Database, 'shown' | 'query' | 'transaction'>,
  migrations: readonly Migration[],
): Promise<Migrated | Problem> {
  const standing = compare(await readApplied(database.query), migrations, database.shown);
  if (!('missing' in standing)) return standing;
  if (standing.missing.length === 0) return { from: standing.version, to: standing.version };
  return database.transaction(async ({ query }) => {
    // In a statement of its own: the next one sees what the process has done that had the lock before.
    await query('select pg_advisory_xact_lock($1)', [LOCK]);
    const now = compare(await readApplied(query), migrations, database.shown);
    if (!('missing' in now)) return now;
    await apply(query, now.missing);
    return { from: now.version, to: migrations.at(-1)?.version ?? 0 };
  });
}

/** Why this Ralph cannot work with the database as it is; undefined where it can. */
export async function checkSchema(
  { shown, query }: Pick<Database, 'shown' | 'query'>,
  migrations: readonly Migration[],
): Promise<Problem | undefined> {
  const standing = compare(await readApplied(query), migrations, shown);
  if (!('missing' in standing)) return standing;
  if (standing.missing.length === 0) return undefined;
  const needed = migrations.at(-1)?.version;
  const what = `the schema of the database is version ${standing.version}, and this Ralph needs ${needed}`;
  return { where: shown, what, fix: 'bring it up to date with `ralph fleet up`' };
}

/** Any number will do that nothing else in the database uses. */
const LOCK = 7_250_401;

type Applied = Pick<Migration, 'version' | 'name' | 'minVersion'>;

interface Standing {
  readonly version: number;
  readonly missing: readonly Migration[];
}

function compare(
  applied: readonly Applied[],
  migrations: readonly Migration[],
  where: string,
): Standing | Problem {
  const version = Math.max(0, ...applied.map(each => each.version));
  const known = Math.max(0, ...migrations.map(each => each.version));
  const oldest = Math.max(0, ...applied.map(each => each.minVersion));
  if (oldest > known) {
    const what = `the schema of the database is version ${version}, and this Ralph knows ${known}; it needs one that knows ${oldest}`;
    return { where, what, fix: 'install the Ralph that the other machines have' };
  }
  const names = new Map(migrations.map(each => [each.version, each.name]));
  const other = applied.find(each => each.version <= known && names.get(each.version) !== each.name);
  if (other) {
    const what = `version ${other.version} of its schema is "${other.name}", which no release of Ralph has made`;
    return { where, what, fix: 'use another database' };
  }
  return { version, missing: migrations.filter(each => each.version > version) };
}

async function readApplied(query: Querying['query']): Promise<readonly Applied[]> {
  // Not to_regclass: it answers from memory, and after a wait for the lock that is old.
  const { rows } = await query(
    "select 1 from pg_tables where schemaname = 'ralph' and tablename = 'migration'",
  );
  if (rows.length === 0) return [];
  return (
    await query<Applied>(
      'select version, name, min_version as "minVersion" from ralph.migration order by version',
    )
  ).rows;
}

async function apply(query: Querying['query'], missing: readonly Migration[]): Promise<void> {
  await query('create schema if not exists ralph');
  await query(`create table if not exists ralph.migration (
    version int primary key,
    name text not null,
    min_version int not null,
    applied_at timestamptz not null default now()
  )`);
  for (const { version, name, minVersion, sql } of missing) {
    await query(sql);
    await query('insert into ralph.migration (version, name, min_version) values ($1, $2, $3)', [
      version,
      name,
      minVersion,
    ]);
  }
}
