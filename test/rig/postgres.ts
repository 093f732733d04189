/** A real PostgreSQL of the test's own: in a temporary folder, on a free port, ended and removed with the test. */
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { freePort } from '../../src/fleet/cluster.ts';
import { type Database, openDatabase } from '../../src/fleet/database.ts';
import { findPostgres } from '../../src/fleet/programs.ts';
import { sha256 } from '../../src/platform/hash.ts';
import { type OwnedProcess, startProcess } from '../../src/platform/process.ts';

export interface Postgres {
  /** With the password; its user may do everything. */
  readonly url: string;
  readonly port: number;
  /** The process id of the server while it runs. */
  pid(): number | undefined;
  /** `immediate`: as a crash does, without a word to anybody. Resolves when it has ended. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  /** Again on the same port, with the same data. */
  start(): Promise<void>;
  /** Ends it and removes everything. */
  close(): Promise<void>;
  /** The rows of a statement, by a connection of its own. */
  sql(text: string, params?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  /** The URL of a new, empty database on the same server. */
  createDatabase(): Promise<string>;
}

/** Why no server can be started here, in a word; undefined where one can. Where RALPH_REQUIRE_POSTGRES=1 that is a failure. */
export function postgresMissing(): string | undefined {
  const why = missing();
  if (why !== undefined && process.env.RALPH_REQUIRE_POSTGRES === '1')
    throw new Error(`RALPH_REQUIRE_POSTGRES=1, and ${why}`);
  return why;
}

/** A `describe` for tests that need a server; skipped where there is none, and its name says why. */
export function describeWithPostgres(name: string, body: () => void): void {
  const why = postgresMissing();
  if (why === undefined) describe(name, body);
  else describe.skip(`${name} (skipped: ${why})`, body);
}

/** One server for all tests of a `describe`; give each a database of its own with `createDatabase`. */
export function sharedPostgres(): () => Postgres {
  let postgres: Postgres | undefined;
  beforeAll(async () => {
    postgres = await startPostgres({ finish: () => {} });
  });
  afterAll(() => postgres?.close());
  return () => {
    if (!postgres) throw new Error('no server yet: ask for it in a test');
    return postgres;
  };
}

/** Closed with the test. */
export async function openedDatabase(url: string): Promise<Database> {
  const opened = await openDatabase(url, {});
  if (isProblem(opened)) throw new Error(opened.what);
  onTestFinished(() => opened.close());
  return opened;
}

export interface PostgresOptions {
  /** Addresses to listen on: `*` for hosts in namespaces of the test's own. */
  readonly listen?: string;
  /** The folder that its data is in: another disk. */
  readonly where?: string;
  /** When to close it; with the test, unless told. */
  readonly finish?: (close: () => Promise<void>) => void;
}

export async function startPostgres({
  listen = '127.0.0.1',
  where = tmpdir(),
  finish = onTestFinished,
}: PostgresOptions = {}): Promise<Postgres> {
  const how = setting();
  const { bin, prefix } = how;
  const folder = mkdtempSync(join(where, 'ralph-postgres-'));
  const port = await freePort();
  const url = `postgres://ralph:${PASSWORD}@127.0.0.1:${port}/postgres`;
  let server: OwnedProcess<'close'> | undefined;
  const start = async () => {
    if (server) throw new Error('the server is running');
    const started = await startServer(
      [...prefix, join(bin, 'postgres'), ...settings(folder, port, listen)],
      folder,
    );
    server = started;
    // It may end by itself.
    void started.done.then(() => {
      if (server === started) server = undefined;
    });
  };
  const stop = async (mode: 'fast' | 'immediate') => {
    if (server?.pid !== undefined) process.kill(server.pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await server?.done;
  };
  const close = async () => {
    server?.stop('close', 'at-once');
    await server?.done;
    server = undefined;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    createCluster(how, folder);
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  finish(close);
  let databases = 0;
  const sql = (text: string, params: readonly unknown[] = []) => query(url, text, params);
  return {
    url,
    port,
    pid: () => server?.pid,
    stop,
    start,
    close,
    sql,
    async createDatabase() {
      const name = `test_${++databases}`;
      await sql(`create database ${name}`);
      return url.replace(/postgres$/, name);
    },
  };
}

const PASSWORD = 'a-password-of-the-test';

interface Setting {
  /** The folder with the server's programs. */
  readonly bin: string;
  /** What to start them with, where they would refuse the user. */
  readonly prefix: readonly string[];
  readonly owner?: { readonly uid: number; readonly gid: number };
}

function missing(): string | undefined {
  if (findPostgres(process.env, tmpdir()) === undefined) return 'no PostgreSQL is installed';
  if (process.getuid?.() !== 0) return undefined;
  if (!existsSync('/usr/bin/setpriv')) return 'PostgreSQL refuses root, and there is no setpriv';
  return somebody() ? undefined : 'PostgreSQL refuses root, and there is no user postgres or nobody';
}

function setting(): Setting {
  const bin = findPostgres(process.env, tmpdir());
  if (bin === undefined) throw new Error(missing());
  return { bin, ...unprivileged() };
}

/** How to start a program as a user whom PostgreSQL does not refuse. */
export function unprivileged(): Pick<Setting, 'prefix' | 'owner'> {
  const owner = process.getuid?.() === 0 ? somebody() : undefined;
  if (!owner) return { prefix: [] };
  const prefix = ['/usr/bin/setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--'];
  return { prefix, owner };
}

/** PostgreSQL refuses root: then it runs as a user who may do nothing. */
function somebody(): Setting['owner'] {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find(line => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/** Made once and copied: that takes a tenth of the time. The copy that is kept belongs to whoever made it. */
function createCluster({ bin, prefix, owner }: Setting, folder: string): void {
  const data = join(folder, 'data');
  const uid = owner?.uid ?? process.getuid?.() ?? 0;
  const template = join(tmpdir(), `ralph-test-postgres-${uid}-${sha256(bin).slice(0, 8)}`);
  if (owner) chownSync(folder, owner.uid, owner.gid);
  if (lstatSync(template, { throwIfNoEntry: false })?.uid === uid) {
    execFileSync('cp', ['-a', template, data]);
    return;
  }
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  if (owner) chownSync(passwordFile, owner.uid, owner.gid);
  const [program = '', ...args] = [...prefix, join(bin, 'initdb')];
  const options = ['--username=ralph', '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-sync'];
  const paths = [`--pwfile=${passwordFile}`, `--pgdata=${data}`];
  execFileSync(program, [...args, ...options, ...paths], { cwd: folder, env: serverEnv(), stdio: 'pipe' });
  // Whoever reaches it says the password: hosts in namespaces of a test have addresses of their own.
  writeFileSync(join(data, 'pg_hba.conf'), 'host all all all scram-sha-256\n');
  execFileSync('cp', ['-a', data, join(folder, 'template')]);
  try {
    renameSync(join(folder, 'template'), template);
  } catch {
    // another test was faster, or the name is somebody else's
  }
}

/** What happens to a process is no power cut: without fsync it is as safe, and faster. */
function settings(folder: string, port: number, listen: string): readonly string[] {
  const values = {
    port,
    listen_addresses: listen,
    unix_socket_directories: '',
    fsync: 'off',
    max_connections: 200,
    shared_buffers: '32MB',
    log_min_messages: 'warning',
  };
  return [
    '-D',
    join(folder, 'data'),
    ...Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

async function startServer(argv: readonly string[], cwd: string): Promise<OwnedProcess<'close'>> {
  let log = '';
  let ready = () => {};
  const isReady = new Promise<'ready'>(resolve => {
    ready = () => resolve('ready');
  });
  const read = (chunk: Buffer) => {
    log += chunk;
    if (log.includes('ready to accept connections')) ready();
  };
  const server = startProcess<'close'>({
    argv: argv as readonly [string, ...string[]],
    cwd,
    env: serverEnv(),
    stdout: read,
    stderr: read,
  });
  if ((await Promise.race([isReady, server.done])) !== 'ready') throw new Error(`PostgreSQL ended:\n${log}`);
  return server;
}

function serverEnv(): Record<string, string> {
  return { PATH: process.env.PATH ?? '', LANG: 'C', LC_ALL: 'C' };
}

async function query(url: string, text: string, params: readonly unknown[]) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, [...params])).rows as readonly Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
