/**
 * The one door to PostgreSQL: a pool of connections, and the queue of pg-boss with the same settings. Both packages are optional peers,
 * loaded when a command of the fleet needs them and not before.
 */
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient, PoolConfig } from 'pg';
import type { ConstructorOptions, PgBoss } from 'pg-boss';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { errorCode, errorWords } from '../platform/error-words.ts';
import type { Env } from '../store/state.ts';
import { checkUrl, parseUrl, passwordsOf, showUrl } from './database-url.ts';

export interface Answer<Row> {
  readonly rows: readonly Row[];
  /** How many rows a statement that returns none has changed. */
  readonly rowCount: number;
}

/** Values only as parameters: no value ever stands in the text of a statement. */
type Query = <Row = Record<string, unknown>>(
  text: string,
  params?: readonly unknown[],
) => Promise<Answer<Row>>;

/** The database, or a transaction in it. */
export type Querying = Pick<Database, 'query'>;

export interface Database {
  /** Its URL, without the password. */
  readonly shown: string;
  /** Rejects with the error of the server or of the network; `problemOf` has the words for it. */
  readonly query: Query;
  /** The same on a connection of its own that gives up soon: signs of life wait for nobody, and a dead connection is replaced in time. */
  readonly ask: Query;
  /** All of it or nothing. What holds a transaction open is a function of ours, never an agent. */
  transaction<Value>(work: (tx: Querying) => Promise<Value>): Promise<Value>;
  /** The queue; not started. Its tables are in the schema `ralph_jobs`. */
  readonly boss: PgBoss;
  problemOf(error: unknown): Problem | undefined;
  /** What happened and what to do, of whatever may fail here. */
  words(error: unknown): string;
  /** Stops the queue if it was started, and closes every connection. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Milliseconds that a statement or a new connection may take; long by default. */
  readonly patience?: number;
  /** More settings of the queue. */
  readonly jobs?: Omit<ConstructorOptions, 'connectionString' | 'schema'>;
  /** Called for every connection that was lost meanwhile; the next statement opens another. */
  readonly onTrouble?: (what: string) => void;
}

export async function openDatabase(
  url: string,
  env: Env,
  { jobs = {}, patience, onTrouble = () => {} }: DatabaseOptions = {},
): Promise<Database | Problem> {
  const checked = checkUrl('database', url);
  if (isProblem(checked)) return checked;
  const packages = loadPackages();
  if (isProblem(packages)) return packages;
  const config: PoolConfig = { connectionString: withTls(url, env), ...settings(patience), max: CONNECTIONS };
  const trouble = (error: unknown) => onTrouble(withoutPasswords(errorWords(error), url));
  const problemOf = (error: unknown) => databaseProblem(error, url);
  const pool = new packages.Pool(config);
  pool.on('error', trouble);
  // To connect takes several answers: one that is slow is still in time.
  const quick = new packages.Pool({
    ...{ ...config, ...settings(QUICK), max: 1 },
    connectionTimeoutMillis: QUICK_CONNECT,
  });
  quick.on('error', trouble);
  const refused = await probe(pool, url).catch(error => problemOf(error) ?? unreadable(error, url));
  if (refused) {
    await within(CLOSE_TIME, pool.end());
    return refused;
  }
  const boss = new packages.PgBoss({
    schedule: false,
    ...jobs,
    ...config,
    max: JOB_CONNECTIONS,
    schema: JOBS_SCHEMA,
  } as ConstructorOptions);
  boss.on('error', trouble);
  return {
    shown: showUrl(url),
    query: (text, params = []) => ask(pool, text, params),
    ask: (text, params = []) => ask(quick, text, params),
    transaction: work => inTransaction(pool, work, trouble),
    boss,
    problemOf,
    words(error) {
      const problem = problemOf(error);
      return problem ? formatProblem(problem) : withoutPasswords(errorWords(error), url);
    },
    async close() {
      await within(CLOSE_TIME, boss.stop({ graceful: false }));
      await within(CLOSE_TIME, Promise.all([pool.end(), quick.end()]));
    },
  };
}

const JOBS_SCHEMA = 'ralph_jobs';

/** At most, of one process: a server has a hundred for all of them, unless somebody has raised that. */
const CONNECTIONS = 4;
const JOB_CONNECTIONS = 3;

/** Milliseconds. */
const PATIENCE = 30_000;
const QUICK = 2_000;
const QUICK_CONNECT = 5_000;

/** The server ends what takes too long; `query_timeout` is for a network that takes the answer away and says nothing. */
function settings(patience = PATIENCE) {
  return {
    application_name: 'ralph',
    connectionTimeoutMillis: Math.min(10_000, patience),
    statement_timeout: patience,
    // Longer than a worker that was stopped keeps its locks.
    lock_timeout: patience / 2,
    query_timeout: patience * 1.2,
    // A worker that was stopped, or whose network was cut, must not keep its locks.
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

const OLDEST_SERVER = 13;
/** What a connection that answers nobody may cost at the end. */
const CLOSE_TIME = 3_000;

/** Exactly these: test/fleet/database.test.ts compares them with package.json. */
export const PACKAGES = ['pg-boss@12.35.0', 'pg@8.23.1'] as const;

/** Why nothing of a fleet would work; undefined: they are installed. */
export function missingPackages(): Problem | undefined {
  const found = loadPackages();
  return isProblem(found) ? found : undefined;
}

/** Not literals: a bundler must leave them alone. Required, not imported: a bundle that comes from a code cache cannot import. */
function loadPackages():
  | (Pick<typeof import('pg'), 'Pool'> & Pick<typeof import('pg-boss'), 'PgBoss'>)
  | Problem {
  const load = createRequire(import.meta.url);
  const [boss, pg] = PACKAGES.map(each => each.replace(/@[^@]+$/, ''));
  try {
    const { Pool } = load(pg ?? '') as typeof import('pg');
    const { PgBoss } = load(boss ?? '') as typeof import('pg-boss');
    return { Pool, PgBoss };
  } catch (error) {
    if (errorCode(error) === 'ERR_REQUIRE_ESM')
      return {
        where: 'node',
        what: `${process.version} is too old for the fleet`,
        fix: 'install Node 20.19 or later',
      };
    if (errorCode(error) !== 'MODULE_NOT_FOUND') throw error;
    const install = `npm install ${PACKAGES.join(' ')}`;
    const what = 'the fleet needs the packages pg-boss and pg, and they are not installed beside Ralph';
    return { where: 'fleet', what, fix: `${install}, with -g where Ralph was installed with -g` };
  }
}

/**
 * `require` and `prefer` verify the certificate, as the package has it today and will not for ever; `verify-ca` does what it says. What
 * stands in the URL counts before the environment.
 */
function withTls(url: string, env: Env): string {
  const query = new URLSearchParams(parseUrl(url)?.search);
  for (const name of ['sslmode', 'sslrootcert', 'sslcert', 'sslkey']) {
    const value = env[`PG${name.toUpperCase()}`];
    if (value && !query.has(name)) query.set(name, value);
  }
  const mode = query.get('sslmode') ?? '';
  if (!query.has('uselibpqcompat')) {
    if (mode === 'require' || mode === 'prefer') query.set('sslmode', 'verify-full');
    if (mode === 'verify-ca') query.set('uselibpqcompat', 'true');
  }
  const [base = url] = url.split('?');
  return query.size === 0 ? base : `${base}?${query}`;
}

async function probe(pool: Pool, url: string): Promise<Problem | undefined> {
  const { rows } = await pool.query<{ version: string; recovery: boolean }>(
    "select current_setting('server_version') as version, pg_is_in_recovery() as recovery",
  );
  const { version = '', recovery = false } = rows[0] ?? {};
  if (recovery) return databaseProblem(Object.assign(new Error('it is a standby'), { code: '25006' }), url);
  if (Number.parseInt(version, 10) >= OLDEST_SERVER) return undefined;
  const what = `the server is PostgreSQL ${version}, and the fleet needs ${OLDEST_SERVER} or later`;
  return { where: showUrl(url), what };
}

function unreadable(error: unknown, url: string): Problem {
  return { where: showUrl(url), what: `cannot be used: ${withoutPasswords(errorWords(error), url)}` };
}

async function ask<Row>(
  client: Pool | PoolClient,
  text: string,
  params: readonly unknown[],
): Promise<Answer<Row>> {
  const { rows, rowCount } = await client.query(text, [...params]);
  return { rows: rows as readonly Row[], rowCount: rowCount ?? 0 };
}

async function inTransaction<Value>(
  pool: Pool,
  work: (tx: Querying) => Promise<Value>,
  onLost: (error: Error) => void,
): Promise<Value> {
  const client = await pool.connect();
  let lost: Error | undefined;
  // The pool does not listen while somebody has the connection, and an error that nobody hears ends the process.
  const onError = (error: Error) => {
    lost = error;
    onLost(error);
  };
  client.on('error', onError);
  try {
    const number = await begin(client);
    const value = await work({ query: (text, params = []) => ask(client, text, params) });
    const ended = await client.query('commit').catch(async error => {
      lost = error;
      const isThere = await hasHappened(pool, number).catch(() => undefined);
      if (isThere === undefined)
        error.message += '; nobody knows whether it was done: look before you do it again';
      if (!isThere) throw error;
    });
    // Of a transaction in which a statement has failed the server says this, and no more.
    if (ended?.command === 'ROLLBACK') throw new Error('the transaction was rolled back');
    return value;
  } catch (error) {
    lost ??= await rollBack(client, error);
    throw error;
  } finally {
    client.off('error', onError);
    client.release(lost);
  }
}

/** Returns its number on the server. */
async function begin(client: PoolClient): Promise<string> {
  // One question, and an answer for each of its statements, which the types do not know.
  const answers: unknown = await client.query('begin; select txid_current()::text as number');
  return (
    (answers as readonly { readonly rows: readonly { readonly number: string }[] }[])[1]?.rows[0]?.number ??
    ''
  );
}

/** The answer to a commit was lost: the server still knows what came of it, at the latest when it has noticed that nobody is there. */
async function hasHappened(pool: Pool, number: string): Promise<boolean> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const { rows } = await pool.query('select txid_status($1::bigint) as status', [number]);
    if (rows[0]?.status !== 'in progress') return rows[0]?.status === 'committed';
    await pause(LOOK_EVERY);
  }
  return false;
}

const MOST_LOOKS = 20;
/** Milliseconds. */
const LOOK_EVERY = 100;

/** Why the connection cannot be used again; undefined where it can. */
async function rollBack(client: PoolClient, error: unknown): Promise<Error | undefined> {
  // One that has not answered for so long is asked nothing more: the server rolls back when it is closed.
  if (error instanceof Error && error.message === 'Query read timeout') return error;
  try {
    await client.query('rollback');
    return undefined;
  } catch (failure) {
    return failure instanceof Error ? failure : new Error(String(failure));
  }
}

async function within(time: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise(resolve => {
    timer = setTimeout(resolve, time);
  });
  await Promise.race([work.catch(() => {}), over]);
  clearTimeout(timer);
}

interface Row {
  /** SQLSTATE, a code of Node's, or words of the message. */
  readonly sign: RegExp;
  readonly what: string;
  readonly fix: string;
}

const LOCKED = /^55P03$/;

/** Somebody else has what a statement needs; the database itself answers. */
export function isLocked(error: unknown): boolean {
  return LOCKED.test(errorCode(error) ?? '');
}

/** The first that fits counts: a refusal for want of TLS has the code of a wrong user. */
const ROWS: readonly Row[] = [
  {
    sign: /no encryption$/,
    what: 'the server accepts this user only over TLS',
    fix: 'add ?sslmode=verify-full to the URL',
  },
  {
    sign: /server does not support SSL/,
    what: 'the URL asks for TLS, and the server does not offer it',
    fix: 'turn TLS on in the server, or use ?sslmode=disable in a network that you trust',
  },
  {
    sign: /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|EPROTO)$|establishing an SSL connection/,
    what: "the server's TLS certificate is not trusted",
    fix: 'name the root certificate with ?sslrootcert=FILE or PGSSLROOTCERT, and the host as the certificate does',
  },
  {
    sign: /^(ENOENT|EACCES|EISDIR): .*(open|read)/,
    what: 'a certificate that the URL or the environment names cannot be read',
    fix: 'check sslrootcert, sslcert and sslkey',
  },
  {
    sign: /^28P01$|SASL|password must be a string|password authentication failed/,
    what: 'the server refuses the password, or none was given',
    fix: 'check the user and the password in the URL, or PGPASSWORD, or ~/.pgpass',
  },
  {
    sign: /^28000$/,
    what: 'the server refuses the user: there is no such role, or it may not connect from this machine',
    fix: 'check the user in the URL, and pg_hba.conf of the server',
  },
  {
    sign: /^3D000$/,
    what: 'the server has no database of that name',
    fix: 'create it with `createdb`, or check the end of the URL',
  },
  {
    sign: /^42501$/,
    what: 'the role may not do this in the database',
    fix: 'let the owner of the database run `ralph fleet up --database URL`, or grant the role CREATE on the database',
  },
  { sign: /^53100$/, what: "the server's disk is full", fix: 'free some space there, then try again' },
  {
    sign: /^25006$/,
    what: 'the server is read-only',
    fix: 'name the primary server, not a copy of it, and check default_transaction_read_only',
  },
  {
    sign: /^53300$/,
    what: 'the server has no connection left',
    fix: 'raise max_connections there, or start fewer workers',
  },
  {
    sign: LOCKED,
    what: 'another connection holds a lock that this waits for',
    fix: 'try again; `select pid, xact_start, query from pg_stat_activity order by xact_start` shows the oldest transaction first, and `select pg_terminate_backend(PID)` ends it',
  },
  {
    sign: /^57014$/,
    what: 'the server took too long for a statement, and was asked to stop',
    fix: 'look for what holds it up: pg_stat_activity shows who waits for whom',
  },
  {
    sign: /^(57P0[123]|08\w{3}|ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOENT)$|Connection terminated|connection timeout|timeout exceeded|Query read timeout|Client has encountered a connection error/,
    what: 'the server cannot be reached',
    fix: 'check the host and the port, and that it runs; the one of `ralph fleet up` is started by the same command',
  },
];

/** A sentence for a failure of the database that the user can fix; undefined for any other: that is a bug of ours. */
export function databaseProblem(error: unknown, url: string): Problem | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = errorCode(error) ?? '';
  const row = ROWS.find(({ sign }) => sign.test(code) || sign.test(error.message));
  if (!row) return undefined;
  const said = withoutPasswords(error.message || code, url);
  return { where: showUrl(url), what: `${row.what}: ${said}`, fix: row.fix };
}

function withoutPasswords(text: string, url: string): string {
  return passwordsOf(url).reduce((rest, password) => rest.replaceAll(password, '***'), text);
}
