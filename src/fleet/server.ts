/** `ralph fleet up` and `down`: a PostgreSQL of the user's own, or one that exists; ready for work. */
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { isIP } from 'node:net';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { ensureFolder, readIfThere, writeAtomic } from '../platform/files.ts';
import { type Env, statePaths } from '../store/state.ts';
import { withLock } from '../workspace/lock.ts';
import {
  ADMIN,
  type Cluster,
  checkAddresses,
  createData,
  dataVersion,
  freePort,
  hasData,
  isRunning,
  removeData,
  type ServerRecord,
  startServer,
  stopServer,
  WILDCARDS,
  writeSettings,
} from './cluster.ts';
import { type Database, missingPackages, openDatabase } from './database.ts';
import { rememberUrl } from './database-url.ts';
import { MIGRATIONS } from './migrations.ts';
import { type Migrated, migrate } from './open.ts';
import { findPostgresFor } from './programs.ts';
import { findServerUser, serverFolderOf } from './server-user.ts';

export interface Wishes {
  readonly port?: number | undefined;
  readonly listen?: string | undefined;
  readonly data?: string | undefined;
  readonly as?: string | undefined;
}

export interface Ready {
  /** Without its password. */
  readonly database: string;
  readonly schema: Migrated;
}

export interface Up extends Ready {
  readonly did: 'created' | 'started' | 'restarted' | 'nothing';
  readonly record: ServerRecord;
}

/** Can be repeated: what is there is kept, what runs keeps running unless its settings change. */
export async function bringUp(wishes: Wishes, env: Env, cwd: string): Promise<Up | Problem> {
  const missing = missingPackages();
  if (missing) return missing; // before there is a server that nobody could use
  const { fleet } = statePaths(env);
  ensureFolder(fleet.folder);
  return withLock(fleet.lock, async () => {
    const kept = readRecord(env);
    if (kept?.isMade && dataVersion(kept.folder) === undefined) return goneProblem(kept);
    const cluster = await planCluster(wishes, kept, env, cwd);
    if (isProblem(cluster)) return cluster;
    const { record } = cluster;
    const taken = await checkAddresses(record, isRunning(record.folder) ? kept : undefined);
    if (taken) return taken;
    const keep = (each: ServerRecord) => writeAtomic(fleet.record, `${JSON.stringify(each, null, 2)}\n`);
    keep(record); // before the data: without the passwords it is lost
    const did = ensureRunning(cluster);
    if (isProblem(did)) return did;
    if (!record.isMade) keep({ ...record, isMade: true });
    const url = urlOf(record);
    const ready = (await ensureOwner(record, env)) ?? (await prepare(url, env));
    if (isProblem(ready)) return ready;
    rememberUrl(url, env);
    return { ...ready, did, record };
  });
}

/** For a server that somebody else runs: only its schema is ours. */
export async function prepare(url: string, env: Env): Promise<Ready | Problem> {
  const database = await openDatabase(url, env);
  if (isProblem(database)) return database;
  try {
    const schema = await migrate(database, MIGRATIONS);
    if (isProblem(schema)) return schema;
    await database.boss.start(); // it makes its own tables
    return { database: database.shown, schema };
  } catch (error) {
    return orBug(database, error);
  } finally {
    await database.close();
  }
}

function orBug(database: Database, error: unknown): Problem {
  const problem = database.problemOf(error);
  if (!problem) throw error;
  return problem;
}

/** The units that somebody works on, where the server of one's own runs: they would lose it. */
export async function unitsInWork(env: Env): Promise<readonly string[]> {
  const record = readRecord(env);
  if (!record || !isRunning(record.folder)) return [];
  const database = await openDatabase(urlOf(record), env);
  if (isProblem(database)) return [];
  try {
    const { rows } = await database.query<{ id: string }>(
      "select id from ralph.unit where state = 'running' order by id",
    );
    return rows.map(({ id }) => id);
  } catch {
    return []; // what has no units yet has none of them
  } finally {
    await database.close();
  }
}

export interface Down {
  readonly did: 'stopped' | 'nothing';
  readonly removed: boolean;
  readonly folder: string;
}

export async function takeDown(
  { remove }: { readonly remove: boolean },
  env: Env,
  cwd: string,
): Promise<Down | Problem> {
  const { fleet } = statePaths(env);
  const record = readRecord(env);
  if (!record) return { did: 'nothing', removed: forget(remove, env), folder: fleet.server };
  return withLock(fleet.lock, async (): Promise<Down | Problem> => {
    const { folder } = record;
    const wasRunning = isRunning(folder);
    if (wasRunning) {
      const cluster = findCluster(record, env, cwd);
      const problem = isProblem(cluster) ? cluster : stopServer(cluster);
      if (problem) return problem;
    }
    if (remove) {
      removeData(folder);
      rmSync(fleet.record);
      forget(true, env);
    }
    return { did: wasRunning ? 'stopped' : 'nothing', removed: remove, folder };
  });
}

/** Also the URL of a server that is not ours: then nothing is known here any more. */
function forget(isWanted: boolean, env: Env): boolean {
  const { database } = statePaths(env).fleet;
  if (!isWanted || !existsSync(database)) return false;
  rmSync(database);
  return true;
}

export function readRecord(env: Env): ServerRecord | undefined {
  const text = readIfThere(statePaths(env).fleet.record);
  return text === undefined ? undefined : (JSON.parse(text) as ServerRecord);
}

/** The URL of the server of one's own: by an address that others know as well, where there is one. */
export function urlOf({ port, listen, password }: ServerRecord): string {
  const [address = '127.0.0.1'] = listen?.split('/') ?? [];
  const host = WILDCARDS.includes(address) ? '127.0.0.1' : isIP(address) === 6 ? `[${address}]` : address;
  return `postgres://ralph:${password}@${host}:${port}/ralph?${NO_TLS}`;
}

function goneProblem({ folder }: ServerRecord): Problem {
  return {
    where: folder,
    what: 'the data of the fleet was here, and it is gone',
    fix: 'mount the disk that it is on, or restore it; `ralph fleet down --remove` forgets it, to begin anew',
  };
}

/** It has no certificate; what PGSSLMODE asks for is meant for other servers. */
const NO_TLS = 'sslmode=disable';

/** What was kept, changed by what is wanted now. */
async function planCluster(
  wishes: Wishes,
  known: ServerRecord | undefined,
  env: Env,
  cwd: string,
): Promise<Cluster | Problem> {
  // One whose data could not be made binds nobody.
  const kept = known && dataVersion(known.folder) !== undefined ? known : undefined;
  const moved = (['data', 'as'] as const).find(
    each => wishes[each] && kept && wishes[each] !== kept[each === 'data' ? 'folder' : each],
  );
  if (moved)
    return {
      where: `--${moved}`,
      what: `the server of the fleet has its data in ${kept?.folder} already`,
      fix: 'leave the flag away, or remove the data first: `ralph fleet down --remove`',
    };
  const as = wishes.as ?? kept?.as;
  const user = findServerUser(as, env, cwd);
  if (isProblem(user)) return user;
  const folder = kept?.folder ?? wishes.data ?? serverFolderOf(user, statePaths(env).fleet.server);
  if (isProblem(folder)) return folder;
  const listen = wishes.listen ?? kept?.listen;
  const record: ServerRecord = {
    folder,
    port: wishes.port ?? kept?.port ?? (await freePort()),
    ...(listen !== undefined && listen !== '127.0.0.1' && { listen }),
    ...(as !== undefined && { as }),
    password: kept?.password ?? randomBytes(24).toString('hex'),
    adminPassword: kept?.adminPassword ?? randomBytes(24).toString('hex'),
    ...(kept?.isMade && { isMade: true }),
  };
  if (!kept && hasData(folder))
    return {
      where: folder,
      what: 'there is data in this folder already, and its password is not known here',
      fix: 'name another folder with --data FOLDER',
    };
  return findCluster(record, env, cwd);
}

function findCluster(record: ServerRecord, env: Env, cwd: string): Cluster | Problem {
  const user = findServerUser(record.as, env, cwd);
  if (isProblem(user)) return user;
  const bin = findPostgresFor(dataVersion(record.folder), env, cwd);
  return typeof bin === 'string' ? { record, user, bin, env } : bin;
}

function ensureRunning(cluster: Cluster): Up['did'] | Problem {
  const { folder } = cluster.record;
  const isNew = dataVersion(folder) === undefined;
  const failed = isNew ? createData(cluster) : undefined;
  if (failed) return failed;
  const wasRunning = isRunning(folder);
  const hasChanged = writeSettings(cluster);
  if (wasRunning && !hasChanged) return 'nothing';
  const problem = (wasRunning ? stopServer(cluster) : undefined) ?? startServer(cluster);
  return problem ?? (isNew ? 'created' : wasRunning ? 'restarted' : 'started');
}

/** A role for the fleet that owns its database and can do nothing else on this machine. */
async function ensureOwner(
  { port, password, adminPassword }: ServerRecord,
  env: Env,
): Promise<Problem | undefined> {
  const url = `postgres://${ADMIN}:${adminPassword}@127.0.0.1:${port}/postgres?${NO_TLS}`;
  const database = await openDatabase(url, env);
  if (isProblem(database)) return database;
  const { query } = database;
  try {
    const { rows: roles } = await query("select 1 from pg_roles where rolname = 'ralph'");
    // Neither takes parameters, so that the server itself quotes the password.
    const { rows } = await query<{ text: string }>(
      "select format('create role ralph login password %L', $1::text) as text",
      [password],
    );
    if (roles.length === 0) await query(rows[0]?.text ?? '');
    const { rows: databases } = await query("select 1 from pg_database where datname = 'ralph'");
    if (databases.length === 0) await query('create database ralph owner ralph');
    return undefined;
  } catch (error) {
    return orBug(database, error);
  } finally {
    await database.close();
  }
}
