/** The fleet's database, ready to use: reached, migrated, with its queue. */
import { isProblem, type Problem } from '../domain/problem.ts';
import type { Env } from '../store/state.ts';
import { type Database, type DatabaseOptions, openDatabase } from './database.ts';
import { databaseUrl } from './database-url.ts';
import { MIGRATIONS } from './migrations.ts';
import { migrate } from './schema.ts';

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
