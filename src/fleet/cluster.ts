/** The data folder of a server of the user's own: making it, starting and stopping the server on it. */
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import type { Env } from '../domain/text/secret-values.ts';
import { askProgram } from '../platform/ask.ts';
import { namesIn, readIfThere, readPart, tryTo, writeAtomic } from '../platform/files.ts';
import { nameOf } from '../platform/process-table.ts';
import { giveTo, makeFolderFor, type ServerUser } from './server-user.ts';

/** What is kept of it outside of the data, for the user alone. */
export interface ServerRecord {
  /** `data` and `log` are in it. */
  readonly folder: string;
  readonly port: number;
  /** An address of this machine, and how many bits of it are the network that may connect: `10.0.0.5/24`. */
  readonly listen?: string;
  /** Who runs it, where that is not the user. */
  readonly as?: string;
  /** Of the role `ralph`, which owns the database and nothing else. */
  readonly password: string;
  /** Of the role that may do everything, from this machine only. */
  readonly adminPassword: string;
  /** Its data was there once: if it is not any more, no other is made in its place without a word. */
  readonly isMade?: true;
}

export interface Cluster {
  readonly record: ServerRecord;
  readonly user: ServerUser;
  /** The folder of the programs. */
  readonly bin: string;
  readonly env: Env;
}

export const ADMIN = 'ralph_admin';

const dataOf = (folder: string) => join(folder, 'data');
const logOf = (folder: string) => join(folder, 'log');

/** The version that made the data; undefined where there is none. */
export function dataVersion(folder: string): string | undefined {
  return readIfThere(join(dataOf(folder), 'PG_VERSION'))?.trim();
}

/** Of whatever kind: what is there is not ours to replace. */
export function hasData(folder: string): boolean {
  return existsSync(dataOf(folder));
}

/** Whole or not at all. Under a name of its own: an initdb that outlived its Ralph may still write to another. */
export function createData(cluster: Cluster): Problem | undefined {
  const { folder, adminPassword } = cluster.record;
  const [made, password] = [join(folder, `data.${randomBytes(4).toString('hex')}`), join(folder, 'password')];
  makeFolderFor(cluster.user, folder);
  removeHalfMade(folder);
  writeAtomic(password, `${adminPassword}\n`);
  giveTo(cluster.user, password);
  const options = [`--username=${ADMIN}`, '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'];
  const { code, output } = run(cluster, 'initdb', [...options, `--pwfile=${password}`, `--pgdata=${made}`]);
  rmSync(password, { force: true });
  if (code !== 0) {
    removeHalfMade(folder);
    return serverProblem(cluster.record, output);
  }
  const settings = join(made, 'postgresql.conf');
  write(
    cluster,
    settings,
    `${readIfThere(settings)}\ninclude = 'ralph.conf' # written by \`ralph fleet up\`\n`,
  );
  renameSync(made, dataOf(folder));
  return undefined;
}

function removeHalfMade(folder: string): void {
  for (const name of namesIn(folder).filter(each => /^data\.[0-9a-f]{8}$/.test(each)))
    tryTo(() => rmSync(join(folder, name), { recursive: true, force: true })); // somebody may write to it
}

/** Whether the settings of the server had to change. */
export function writeSettings(cluster: Cluster): boolean {
  const { folder, port, listen } = cluster.record;
  const [address = '', bits] = listen?.split('/') ?? [];
  const network = bits === undefined ? 'samenet' : listen;
  const hosts = listenHosts(cluster.record).join(',');
  const files = {
    'ralph.conf': `port = ${port}\nlisten_addresses = '${hosts}'\nunix_socket_directories = ''\nmax_connections = 300\n`,
    'pg_hba.conf': [
      `host all ${ADMIN} 127.0.0.1/32 scram-sha-256`,
      'host ralph ralph 127.0.0.1/32 scram-sha-256',
      ...(address === '' ? [] : [`host ralph ralph ${network} scram-sha-256`]),
      '',
    ].join('\n'),
  };
  const changed = Object.entries(files).filter(
    ([name, text]) => readIfThere(join(dataOf(folder), name)) !== text,
  );
  for (const [name, text] of changed) write(cluster, join(dataOf(folder), name), text);
  return changed.length > 0;
}

function listenHosts({ listen }: ServerRecord): readonly string[] {
  const [address] = listen?.split('/') ?? [];
  if (address === undefined) return ['127.0.0.1'];
  return address === '0.0.0.0' ? [address] : ['127.0.0.1', address];
}

/** Every address of the machine. */
export const WILDCARDS: readonly string[] = ['0.0.0.0', '::'];

function write({ user }: Cluster, path: string, text: string): void {
  writeAtomic(path, text);
  giveTo(user, path);
}

/** By the process that its own file names: the number may be somebody else's by now, after a crash of the machine. */
export function isRunning(folder: string): boolean {
  return /^(postgres|postmaster)$/.test(nameOf(serverPid(folder)));
}

const pidFile = (folder: string) => join(dataOf(folder), 'postmaster.pid');

function serverPid(folder: string): number {
  return Number.parseInt(readIfThere(pidFile(folder)) ?? '', 10) || 0;
}

/** A live stranger by that number is all that fools PostgreSQL. In any other case the file guards against what a killed server left behind. */
function clearStalePid(folder: string): void {
  if (nameOf(serverPid(folder)) !== '' && !isRunning(folder)) rmSync(pidFile(folder), { force: true });
}

/** Whether it could listen where it is to: said before anything is changed. What the server itself holds already is free to it. */
export async function checkAddresses(
  wanted: ServerRecord,
  held?: ServerRecord,
): Promise<Problem | undefined> {
  const isHeld = (host: string) =>
    held?.port === wanted.port &&
    // While it listens on one address, nobody can listen on all of them.
    [...listenHosts(held), ...WILDCARDS].some(
      each => each === host || (each === '0.0.0.0' && held.listen === each),
    );
  for (const host of listenHosts(wanted).filter(each => !isHeld(each))) {
    const trouble = await bindTrouble(wanted.port, host);
    if (trouble) return serverProblem(wanted, trouble);
  }
  return undefined;
}

export function startServer(cluster: Cluster): Problem | undefined {
  const { record } = cluster;
  const { folder } = record;
  clearStalePid(folder);
  if (existsSync(logOf(folder))) renameSync(logOf(folder), `${logOf(folder)}.1`);
  const { code, output } = control(cluster, 'start', '-l', logOf(folder));
  if (code === 0) return undefined;
  return serverProblem(record, `${output}\n${readPart(logOf(folder), 4_096, 'tail')?.text ?? ''}`);
}

export function stopServer(cluster: Cluster): Problem | undefined {
  const { folder } = cluster.record;
  const { code, output } = control(cluster, 'stop', '-m', 'fast');
  return code === 0 || !isRunning(folder) ? undefined : serverProblem(cluster.record, output);
}

/** The data and the log; the folder stays if anything else is in it. */
export function removeData(folder: string): void {
  removeHalfMade(folder);
  for (const name of ['data', 'log', 'log.1', 'password'])
    rmSync(join(folder, name), { recursive: true, force: true });
  if (namesIn(folder).length === 0) tryTo(() => rmdirSync(folder));
}

/** Until it is done, for at most 50 seconds. */
function control(cluster: Cluster, ...order: readonly string[]) {
  return run(cluster, 'pg_ctl', [...order, '-w', '-t', '50', '-D', dataOf(cluster.record.folder)]);
}

/** Nothing of the user's environment decides what it does, such as PGDATA or PGOPTIONS. */
function run(cluster: Cluster, program: 'initdb' | 'pg_ctl', args: readonly string[]) {
  const { prefix } = cluster.user;
  const command = [...prefix, join(cluster.bin, program), ...args] as const;
  const [first = program, ...rest] = command;
  const env = { PATH: cluster.env.PATH, LC_ALL: 'C' };
  const { code, stdout, errors } = askProgram({ argv: [first, ...rest], cwd: '/', env }, '');
  return { code, output: `${stdout}${errors}` };
}

/** Why a port cannot be listened on. PostgreSQL itself starts as long as one address of several is free. */
function bindTrouble(port: number, host: string): Promise<string | undefined> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', error => resolve(error.message));
    server.listen({ port, host, ipv6Only: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Below the ports that the system gives to outgoing connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if ((await bindTrouble(port, '127.0.0.1')) === undefined) return port;
  }
}

/** What the programs of PostgreSQL say, as a problem. */
function serverProblem({ folder, port, listen }: ServerRecord, output: string): Problem {
  const row = ROWS.find(({ sign }) => sign.test(output));
  const said = output.trim().split('\n').slice(-6).join('\n');
  if (!row)
    return {
      where: folder,
      what: `the server cannot be started:\n${said}`,
      fix: `its log: ${logOf(folder)}`,
    };
  const where =
    row.about === 'port' ? `port ${port}` : row.about === 'listen' ? `--listen ${listen}` : folder;
  return { where, what: row.what, fix: row.fix };
}

const ROWS: readonly {
  readonly sign: RegExp;
  readonly about: 'port' | 'listen' | 'folder';
  readonly what: string;
  readonly fix: string;
}[] = [
  {
    sign: /EADDRINUSE|Address already in use/,
    about: 'port',
    what: 'another program listens on it',
    fix: 'choose another with `ralph fleet up --port N`',
  },
  {
    sign: /EADDRNOTAVAIL|Cannot assign requested address|ENOTFOUND/,
    about: 'listen',
    what: 'is no address of this machine',
    fix: '`ip address` or `ifconfig` lists them',
  },
  {
    sign: /EACCES.*\d$/,
    about: 'port',
    what: 'only root can listen there',
    fix: 'choose one above 1023 with `ralph fleet up --port N`',
  },
  {
    sign: /No space left on device|Disk quota exceeded/,
    about: 'folder',
    what: 'the disk is full',
    fix: 'free some space, or put the data elsewhere with --data FOLDER',
  },
  {
    sign: /Read-only file system/,
    about: 'folder',
    what: 'the file system is read-only',
    fix: 'put the data elsewhere with --data FOLDER',
  },
  {
    sign: /Permission denied/,
    about: 'folder',
    what: 'the user that runs the server may not use this folder',
    fix: 'name one that it can reach with --data FOLDER',
  },
];
