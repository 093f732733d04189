import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { type Database, openDatabase } from '../../src/fleet/database.ts';
import { createGate } from '../rig/gate.ts';
import { describeWithPostgres, sharedPostgres, startPostgres } from '../rig/postgres.ts';
import { folder } from '../rig/repo.ts';

async function open(url: string, env = {}, onTrouble?: (what: string) => void): Promise<Database> {
  const opened = await openDatabase(url, env, onTrouble ? { onTrouble } : {});
  if (isProblem(opened)) throw new Error(opened.what);
  onTestFinished(() => opened.close());
  return opened;
}

describeWithPostgres('the database of a fleet', () => {
  const postgres = sharedPostgres();

  test('a transaction happens whole or not at all', async () => {
    const database = await open(await postgres().createDatabase());
    await database.query('create table t (n int unique)');
    const added = await database.transaction(async ({ query }) => {
      await query('insert into t values ($1)', [1]);
      return (await query('insert into t values ($1), ($2)', [2, 3])).rowCount;
    });
    expect(added).toBe(2);
    const failing = database.transaction(async ({ query }) => {
      await query('insert into t values (4)');
      throw new Error('a reason of ours');
    });
    await expect(failing).rejects.toThrow('a reason of ours');
    const swallowing = database.transaction(async ({ query }) => {
      await query('insert into t values (5)');
      await query('insert into t values (1)').catch(() => {});
    });
    await expect(swallowing).rejects.toThrow('rolled back');
    expect((await database.query('select n from t order by n')).rows).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test('nothing holds a statement or a lock for long', async () => {
    const { query } = await open(await postgres().createDatabase());
    const show = async (name: string) => (await query(`select current_setting('${name}') as value`)).rows;
    expect(await show('statement_timeout')).toEqual([{ value: '30s' }]);
    expect(await show('idle_in_transaction_session_timeout')).toEqual([{ value: '10s' }]);
  });

  test('the queue has tables of its own, and takes and gives jobs', async () => {
    const database = await open(await postgres().createDatabase());
    await database.boss.start();
    await database.boss.createQueue('units');
    await database.boss.send('units', { unit: 'u1' });
    expect(await database.boss.fetch('units')).toMatchObject([{ data: { unit: 'u1' } }]);
    const { rows } = await database.query<{ schema: string }>(
      "select distinct table_schema as schema from information_schema.tables where table_name = 'job'",
    );
    expect(rows).toEqual([{ schema: 'ralph_jobs' }]);
  });

  test.each([
    ['a wrong password', (url: string) => url.replace(/:[^:]*@/, ':s3cret@'), 'refuses the password'],
    ['no password', (url: string) => url.replace(/:[^:]*@/, '@'), 'refuses the password'],
    ['no such role', (url: string) => url.replace('//ralph', '//nobody'), 'refuses the password'],
    ['no such database', (url: string) => url.replace(/\w+$/, 'missing'), 'no database of that name'],
    ['TLS that is not offered', (url: string) => `${url}?sslmode=require`, 'does not offer it'],
    [
      'a root certificate that is not there',
      (url: string) => `${url}?sslrootcert=/nowhere.pem`,
      "cannot be read: ENOENT: no such file or directory, open '/nowhere.pem'",
    ],
    ['a port without a server', (url: string) => url.replace(/:\d+\//, ':1/'), 'cannot be reached'],
    [
      'a host that is none',
      (url: string) => url.replace('127.0.0.1', 'nowhere.invalid'),
      'cannot be reached',
    ],
  ])('%s is a problem in words, without the password', async (_, change, words) => {
    const url = change(postgres().url);
    const problem = await openDatabase(url, {});
    expect(problem).toMatchObject({ what: expect.stringContaining(words) });
    const password = /:([^:/]*)@/.exec(url)?.[1];
    if (password) expect(JSON.stringify(problem)).not.toContain(password);
  });

  test('a read-only server and a role without rights are named', async () => {
    const url = await postgres().createDatabase();
    await postgres().sql("create role reader login password 'r'");
    const reader = await open(url.replace(/\/\/ralph:[^@]*/, '//reader:r'));
    const denied = await reader.query('create schema s').catch(error => reader.problemOf(error));
    expect(denied).toMatchObject({ what: expect.stringContaining('may not do this') });
    await postgres().sql('alter role reader set default_transaction_read_only = on');
    const again = await open(url.replace(/\/\/ralph:[^@]*/, '//reader:r'));
    const refused = await again.query('create schema s').catch(error => again.problemOf(error));
    expect(refused).toMatchObject({ what: expect.stringContaining('read-only') });
  });

  test('TLS is used and verified as the URL or the environment says', async () => {
    // The certificate names another host than the URL does, so that verify-ca and verify-full differ.
    const { url } = postgres();
    const make = `openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=db.example -keyout server.key -out server.crt 2>/dev/null && chmod 600 server.key`;
    await postgres().sql(`copy (select 1) to program '${make}'`);
    await postgres().sql('alter system set ssl = on');
    const [row] = await postgres().sql("select pg_reload_conf(), pg_read_file('server.crt') as pem");
    // The server reads its settings when it gets to it.
    while ((await postgres().sql('show ssl'))[0]?.ssl !== 'on');
    const root = join(folder('ralph-test-').dir, 'root.pem');
    writeFileSync(root, String(row?.pem));

    for (const mode of ['require', 'prefer', 'verify-full'])
      expect(await openDatabase(`${url}?sslmode=${mode}`, {})).toMatchObject({
        what: expect.stringContaining('certificate is not trusted'),
      });
    const wrongName = await openDatabase(`${url}?sslmode=verify-full&sslrootcert=${root}`, {});
    expect(wrongName).toMatchObject({ what: expect.stringContaining('certificate is not trusted') });
    const used = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
    for (const [query, env] of [
      [`?sslmode=verify-ca&sslrootcert=${root}`, {}],
      ['', { PGSSLMODE: 'verify-ca', PGSSLROOTCERT: root }],
      ['?sslmode=no-verify', {}],
    ] as const) {
      const database = await open(`${url}${query}`, env);
      expect((await database.query(used)).rows).toEqual([{ ssl: true }]);
    }
    expect((await (await open(url)).query(used)).rows).toEqual([{ ssl: false }]);
  });
});

describeWithPostgres('a server that is lost', () => {
  test('does not end the process, idle, in a transaction or in the queue; the next statement finds it again', async () => {
    const postgres = await startPostgres();
    const lost: string[] = [];
    const database = await open(postgres.url, {}, what => lost.push(what));
    await database.boss.start();
    await database.query('create table t (n int)');
    const { open: cut, opened: isCut } = createGate();
    const { open: inside, opened: isInside } = createGate();
    const pending = database
      .transaction(async ({ query }) => {
        await query('insert into t values (1)');
        inside();
        await isCut;
        await query('insert into t values (2)');
      })
      .catch(error => database.problemOf(error));
    await isInside;
    await postgres.stop('immediate');
    cut();
    expect(await pending).toMatchObject({ what: expect.stringContaining('cannot be reached') });
    const down = await database.query('select 1').catch(error => database.problemOf(error));
    expect(down).toMatchObject({ what: expect.stringContaining('cannot be reached') });
    await postgres.start();
    expect((await database.query('select n from t')).rows).toEqual([]);
    expect(lost.length).toBeGreaterThan(0);
  });
});
