// A PostgreSQL of the bench's own, with the settings of its package, and the CPU that it has used.
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';

/** undefined: none is installed. */
export async function startPostgres(folder) {
  const bin = programs();
  if (bin === undefined) return undefined;
  const owner = process.getuid() === 0 ? somebody() : undefined;
  const prefix = owner
    ? ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--']
    : [];
  const data = join(folder, 'pg');
  mkdirSync(data, { recursive: true });
  if (owner) {
    execFileSync('chmod', ['755', folder]);
    chownSync(data, owner.uid, owner.gid);
  }
  const run = (name, ...args) => [...prefix, join(bin, name), ...args];
  const [first, ...rest] = run(
    'initdb',
    '--username=ralph',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    '-D',
    data,
  );
  execFileSync(first, rest, { cwd: data, stdio: 'pipe' });
  const port = await freePort();
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
  ];
  const [program, ...args] = run('postgres', '-D', data, ...settings.flatMap(each => ['-c', each]));
  const server = spawn(program, args, { cwd: data, stdio: ['ignore', 'ignore', 'pipe'] });
  await new Promise((resolve, reject) => {
    let log = '';
    server.stderr.on('data', chunk => {
      log += chunk;
      if (log.includes('ready to accept connections')) resolve();
    });
    server.once('exit', () => reject(new Error(`PostgreSQL ended:\n${log}`)));
  });
  const url = `postgres://ralph@127.0.0.1:${port}/postgres`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    url,
    version: (await client.query('show server_version')).rows[0].server_version,
    sql: async (text, ...params) => (await client.query(text, params)).rows,
    cpu: () => cpuOf(server.pid),
    async close() {
      await client.end();
      server.kill('SIGINT');
      await new Promise(resolve => server.once('close', resolve));
    },
  };
}

function programs() {
  const installed = '/usr/lib/postgresql';
  const versions = existsSync(installed) ? readdirSync(installed).sort((a, b) => b - a) : [];
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    ...versions.map(each => join(installed, each, 'bin')),
  ];
  return folders.find(each => existsSync(join(each, 'initdb')) && existsSync(join(each, 'postgres')));
}

/** PostgreSQL refuses root. */
function somebody() {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const [, , uid, gid] = ['postgres', 'nobody']
    .map(name => users.find(line => line.startsWith(`${name}:`)))
    .find(Boolean)
    .split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

function freePort() {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const TICKS = 100;

/** Seconds, of the server and all its processes, those that have ended too. */
function cpuOf(pid) {
  const sum = (fields, from, to) => fields.slice(from, to).reduce((total, each) => total + Number(each), 0);
  let ticks = sum(statOf(pid), 11, 15);
  for (const name of readdirSync('/proc')) {
    const fields = /^\d+$/.test(name) ? statOf(name) : undefined;
    if (fields && Number(fields[1]) === pid) ticks += sum(fields, 11, 13);
  }
  return ticks / TICKS;
}

/** The fields from the third on: what is before may hold blanks. */
function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return undefined; // it has ended
  }
}
