/** `ralph fleet up` and `down`, with the real program and a real PostgreSQL, as a user whom it does not refuse. */
import { spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { describeWithPostgres, startPostgres, unprivileged } from '../rig/postgres.ts';
import { BIN, testEnv } from '../rig/ralph.ts';

// Each starts the program and the server many times: on a busy machine that adds up.
vi.setConfig({ testTimeout: 90_000 });

const isRoot = process.getuid?.() === 0;

/** A home of a user whom PostgreSQL does not refuse; a server in it ends with the test. */
function home() {
  const { prefix, owner } = unprivileged();
  const dir = mkdtempSync(join(tmpdir(), 'ralph-fleet-'));
  if (owner) chownSync(dir, owner.uid, owner.gid);
  const path = (name: string) => join(dir, '.local/state/ralph/fleet', name);
  const base = testEnv({ env: { HOME: dir, RALPH_CACHE_DIR: join(dir, 'cache') } });
  const run = (args: readonly string[], env = {}, as: readonly string[] = prefix) =>
    finish([...as, process.execPath, BIN, 'fleet', ...args], { ...base, ...env }, dir);
  onTestFinished(async () => {
    // With whatever user it was started, also where the test has failed.
    const kept = existsSync(path('server.json')) && JSON.parse(readFileSync(path('server.json'), 'utf8'));
    if (kept) await run(['down', '--remove', '--yes'], {}, kept.as ? [] : prefix);
    rmSync(dir, { recursive: true, force: true });
  });
  return { dir, path, run, prefix, owner };
}

async function finish([program = '', ...args]: readonly string[], env: Record<string, string>, cwd: string) {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => (said += text));
  const code = await new Promise<number | null>(resolve => child.on('close', resolve));
  return { code, said };
}

/** One that somebody works on. */
const UNIT = `insert into ralph.unit (id, kind, title, owner, repo_url, base, config, account, min_version, state)
  values ('u-1', 'loop', 'x', 'ada', 'x', 'x', '{}', 'x', 1, 'running')`;

async function ask(url: string, text: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Starts `ralph fleet up`, and kills it as soon as data is being made. */
async function killInTheMiddle({ dir, path, prefix, owner }: ReturnType<typeof home>): Promise<void> {
  mkdirSync(path('pg'), { recursive: true });
  if (owner)
    for (const at of ['.local', '.local/state', '.local/state/ralph'])
      chownSync(join(dir, at), owner.uid, owner.gid);
  if (owner) for (const at of ['.', 'pg']) chownSync(path(at), owner.uid, owner.gid);
  const began = new Promise<void>(resolve => {
    const watcher = watch(path('pg'), (_, name) => {
      if (!name?.startsWith('data.')) return;
      watcher.close();
      resolve();
    });
  });
  const env = testEnv({ env: { HOME: dir, RALPH_CACHE_DIR: join(dir, 'cache') } });
  const [program = '', ...args] = [...prefix, process.execPath, BIN, 'fleet', 'up'];
  const first = spawn(program, args, { cwd: dir, env, stdio: 'ignore' });
  await began;
  first.kill('SIGKILL');
}

const pidOf = (data: string) => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);

describeWithPostgres('a PostgreSQL of one’s own', () => {
  test('is there once however often it is asked for, keeps its data, opens and closes to the network, and goes when it is told to', async () => {
    const { path, run } = home();
    const both = await Promise.all([run(['up', '--json']), run(['up', '--json'])]);
    expect(both.map(each => JSON.parse(each.said).did).sort()).toEqual(['created', 'nothing']);
    const url = readFileSync(path('database'), 'utf8').trim();
    const { password, adminPassword, port } = JSON.parse(readFileSync(path('server.json'), 'utf8'));
    for (const file of ['database', 'server.json']) expect(statSync(path(file)).mode & 0o777).toBe(0o600);
    expect(statSync(path('pg')).mode & 0o777).toBe(0o700);
    expect(
      await ask(url, 'select rolsuper, rolcreaterole from pg_roles where rolname = current_user'),
    ).toEqual([{ rolsuper: false, rolcreaterole: false }]);
    expect(
      await ask(url, "select count(*)::int > 0 as made from pg_tables where schemaname = 'ralph_jobs'"),
    ).toEqual([{ made: true }]);
    await ask(url, 'create table kept as select 7 as value');

    const again = await run(['up']);
    expect(again.said).toContain('The PostgreSQL is running in');
    expect(again.said).toContain(`postgres://ralph:***@127.0.0.1:${port}/ralph`);
    const opened = await run(['up', '--listen', '0.0.0.0']);
    expect(opened).toMatchObject({ code: 0, said: expect.stringContaining('Restarted the PostgreSQL') });
    expect(opened.said).toContain(
      'Whoever there has the password can submit work, and so run\ncommands on every worker.',
    );
    expect(readFileSync(path('pg/data/ralph.conf'), 'utf8')).toContain("listen_addresses = '0.0.0.0'");
    expect(readFileSync(path('pg/data/pg_hba.conf'), 'utf8').split('\n')).toEqual([
      'host all ralph_admin 127.0.0.1/32 scram-sha-256',
      'host ralph ralph 127.0.0.1/32 scram-sha-256',
      'host ralph ralph samenet scram-sha-256',
      '',
    ]);
    const down = await run(['down']);
    expect(down).toMatchObject({
      code: 0,
      said: expect.stringContaining('Stopped the PostgreSQL. Its data stays'),
    });
    expect(await run(['up', '--listen', '127.0.0.1'])).toMatchObject({
      code: 0,
      said: expect.stringContaining('Started the PostgreSQL'),
    });
    expect(readFileSync(path('pg/data/pg_hba.conf'), 'utf8')).not.toContain('samenet');
    expect(readFileSync(path('database'), 'utf8').trim()).toBe(url);
    expect(await ask(url, 'select value from kept')).toEqual([{ value: 7 }]);
    for (const { said } of [...both, again, down, opened]) {
      expect(said).not.toContain(password);
      expect(said).not.toContain(adminPassword);
    }

    // Whoever works would lose the database in the middle of it.
    await ask(url, UNIT);
    expect(await run(['down'])).toMatchObject({
      code: 2,
      said: expect.stringMatching(/1 unit is being worked on: u-1.*add --yes/s),
    });
    expect(await ask(url, 'select value from kept')).toEqual([{ value: 7 }]);
    await ask(url, "update ralph.unit set state = 'ready'");
    expect(await run(['down'])).toMatchObject({ code: 0 });
    await run(['up']);

    expect(await run(['down', '--remove'])).toMatchObject({
      code: 2,
      said: expect.stringContaining('add --yes'),
    });
    expect(await ask(url, 'select value from kept')).toEqual([{ value: 7 }]);
    expect(await run(['down', '--remove', '--yes'])).toMatchObject({
      code: 0,
      said: expect.stringContaining('Deleted'),
    });
    for (const file of ['pg', 'database', 'server.json']) expect(existsSync(path(file))).toBe(false);
    expect(await run(['down'])).toMatchObject({ said: expect.stringContaining('nothing to stop') });
  });

  test('is made whole after a kill in the middle of it, and stays as it was when it cannot be what is asked for', async () => {
    const made = home();
    const { dir, path, run, prefix } = made;
    await killInTheMiddle(made);
    expect(JSON.parse((await run(['up', '--json'])).said)).toMatchObject({ did: 'created' });
    const url = readFileSync(path('database'), 'utf8').trim();
    const data = path('pg/data');
    const before = pidOf(data);
    const taken = createServer();
    await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void taken.close());
    const port = (taken.address() as { port: number }).port;
    for (const [flags, words] of [
      [['--port', String(port)], `port ${port}: another program listens on it (choose another with`],
      [['--port', '0'], 'must be a number from 1 to 65535'],
      [['--listen', '192.0.2.1/24'], 'is no address of this machine'],
      [['--listen', 'example.com'], 'must be an address of this machine'],
      [['--listen', '10.0.0.1/99'], 'must be an address of this machine'],
      [['--data', join(dir, 'elsewhere')], 'has its data in'],
      [['--database', url, '--port', '5'], 'is for a server that Ralph starts'],
    ] as const)
      expect(await run(['up', ...flags])).toMatchObject({ code: 2, said: expect.stringContaining(words) });
    expect(pidOf(data)).toBe(before);

    // A pid file with the number of another live process, as after a crash of the machine.
    expect(await run(['down'])).toMatchObject({ code: 0 });
    const [program = 'sleep', ...args] = [...prefix, 'sleep', '60'];
    const stranger = spawn(program, args, { stdio: 'ignore' });
    onTestFinished(() => void stranger.kill('SIGKILL'));
    writeFileSync(join(data, 'postmaster.pid'), `${stranger.pid}\n${data}\n`);
    expect(await run(['up'])).toMatchObject({
      code: 0,
      said: expect.stringContaining('Started the PostgreSQL'),
    });
    expect(stranger.exitCode).toBeNull();

    expect(await run(['down'])).toMatchObject({ code: 0 });
    writeFileSync(join(data, 'PG_VERSION'), '9\n');
    expect(await run(['up'])).toMatchObject({
      code: 2,
      said: expect.stringContaining('was made by version 9'),
    });
    rmSync(data, { recursive: true });
    expect(await run(['up'])).toMatchObject({
      code: 2,
      said: expect.stringContaining('was here, and it is gone'),
    });
  });

  test('is not started by an agent or a check', async () => {
    const { run, path } = home();
    for (const action of ['up', 'down'])
      expect(await run([action], { RALPH_OWNER_0123456789ab: '1' })).toMatchObject({ code: 2 });
    expect(existsSync(path('server.json'))).toBe(false);
  });
});

describeWithPostgres('a PostgreSQL that somebody else runs', () => {
  test('is prepared and remembered, never stopped, and forgotten on request', async () => {
    const postgres = await startPostgres();
    const { run, path } = home();
    const wrong = postgres.url.replace(/:[^:]*@/, ':s3cret@');
    const refused = await run(['up', '--database', wrong]);
    expect(refused).toMatchObject({ code: 2, said: expect.stringContaining('refuses the password') });
    expect(refused.said).not.toContain('s3cret');
    expect(existsSync(path('database'))).toBe(false);

    expect(await run(['up', '--database', postgres.url])).toMatchObject({ code: 0 });
    expect(readFileSync(path('database'), 'utf8').trim()).toBe(postgres.url);
    // Again without the flag: the same one, no other is started.
    expect(JSON.parse((await run(['up', '--json'])).said).database).toContain(`:${postgres.port}/`);
    expect(await run(['down'])).toMatchObject({ said: expect.stringContaining('nothing to stop') });
    expect(await run(['down', '--remove', '--yes'])).toMatchObject({
      said: expect.stringContaining('not touched'),
    });
    expect(existsSync(path('database'))).toBe(false);
    expect(await postgres.sql('select 1 as one')).toEqual([{ one: 1 }]);
  });
});

const canMount = isRoot && spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0;

describeWithPostgres('as root', () => {
  test.skipIf(!isRoot)('needs another user for the server, who owns what it writes', async () => {
    const { dir, run, owner } = home();
    const root: readonly string[] = [];
    expect(await run(['up'], {}, root)).toMatchObject({
      code: 2,
      said: expect.stringContaining('refuses to run as root'),
    });
    for (const [user, words] of [
      ['root', 'refuses to run as root'],
      ['nosuch', 'no such user'],
      ['nobody:x', 'no such user'],
    ] as const)
      expect(await run(['up', '--as', user], {}, root)).toMatchObject({
        code: 2,
        said: expect.stringContaining(words),
      });
    const as =
      readFileSync('/etc/passwd', 'utf8').match(new RegExp(`^([^:\n]+):[^:]*:${owner?.uid}:`, 'm'))?.[1] ??
      '';
    const data = join(dir, 'a place', 'pg');
    expect(await run(['up', '--as', as, '--data', data], {}, root)).toMatchObject({ code: 0 });
    expect(statSync(data).uid).toBe(owner?.uid);
    expect(await run(['up'], {}, root)).toMatchObject({
      code: 0,
      said: expect.stringContaining('is running'),
    });
    expect(await run(['down'], {}, root)).toMatchObject({
      code: 0,
      said: expect.stringContaining('Stopped'),
    });
  });

  describe.skipIf(!canMount)('in a mount namespace', () => {
    test('a full disk and a missing PostgreSQL are named, and nothing half made stays', async () => {
      const { dir, prefix } = home();
      mkdirSync(join(dir, 'disk'));
      const ralph = [...prefix, process.execPath, BIN, 'fleet', 'up'].map(word => `'${word}'`).join(' ');
      const script = `mount -t tmpfs -o size=8m,mode=777 none disk
${ralph} --data "$PWD/disk/pg"; echo "full: $? [$(ls disk/pg)]"
mount -t tmpfs none /usr/lib/postgresql 2>/dev/null
${ralph}; echo "none: $?"`;
      const env = testEnv({ env: { HOME: dir, RALPH_CACHE_DIR: join(dir, 'cache') } });
      const { said } = await finish(['unshare', '-m', 'sh', '-c', script], env, dir);
      expect(said).toContain(`${dir}/disk/pg: the disk is full (free some space`);
      expect(said).toContain('full: 2 []');
      expect(said).toContain('no server is installed here (`apt install postgresql`');
      expect(said).toContain('none: 2');
    });
  });
});
