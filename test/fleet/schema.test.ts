import { expect, test } from 'vitest';
import type { Database } from '../../src/fleet/database.ts';
import { MIGRATIONS, type Migration } from '../../src/fleet/migrations.ts';
import { checkSchema, migrate } from '../../src/fleet/open.ts';
import { describeWithPostgres, openedDatabase, sharedPostgres } from '../rig/postgres.ts';

const FIRST: Migration = {
  version: 1,
  name: 'things',
  minVersion: 1,
  sql: 'create table ralph.thing (id int primary key); insert into ralph.thing values (1)',
};
const SECOND: Migration = {
  ...FIRST,
  version: 2,
  name: 'notes',
  sql: 'alter table ralph.thing add note text',
};
/** Takes a while, and can be done only once. */
const SLOW: Migration = {
  ...FIRST,
  sql: 'select pg_sleep(0.3); create table ralph.thing (id int); insert into ralph.thing values (1)',
};

const applied = async (database: Database) =>
  (await database.query('select version, name from ralph.migration order by version')).rows;

test('the versions of the schema follow each other, and each works with itself', () => {
  expect(MIGRATIONS.map(each => each.version)).toEqual(MIGRATIONS.map((_, at) => at + 1));
  for (const { version, minVersion } of MIGRATIONS) expect(minVersion).toBeLessThanOrEqual(version);
});

describeWithPostgres('the schema of a database', () => {
  const postgres = sharedPostgres();

  test('is brought up to date step by step, and then left alone', async () => {
    const database = await openedDatabase(await postgres().createDatabase());
    expect(await checkSchema(database, [FIRST])).toMatchObject({
      what: expect.stringContaining('version 0'),
    });
    expect(await migrate(database, [FIRST])).toEqual({ from: 0, to: 1 });
    expect(await migrate(database, [FIRST, SECOND])).toEqual({ from: 1, to: 2 });
    expect(await migrate(database, [FIRST, SECOND])).toEqual({ from: 2, to: 2 });
    expect(await checkSchema(database, [FIRST, SECOND])).toBeUndefined();
    expect((await database.query('select id, note from ralph.thing')).rows).toEqual([{ id: 1, note: null }]);
    expect(await applied(database)).toEqual([
      { version: 1, name: 'things' },
      { version: 2, name: 'notes' },
    ]);
  });

  test('stays as it was when a later step fails', async () => {
    const database = await openedDatabase(await postgres().createDatabase());
    const broken = { ...SECOND, sql: 'alter table ralph.thing add note text; select 1 / 0' };
    await expect(migrate(database, [FIRST, broken])).rejects.toThrow('division by zero');
    expect((await database.query("select to_regclass('ralph.thing') as found")).rows).toEqual([
      { found: null },
    ]);
    expect(await migrate(database, [FIRST, SECOND])).toEqual({ from: 0, to: 2 });
  });

  test('is changed once by processes that come at the same time', async () => {
    const url = await postgres().createDatabase();
    const databases = await Promise.all([openedDatabase(url), openedDatabase(url), openedDatabase(url)]);
    const results = await Promise.all(databases.map(each => migrate(each, [SLOW])));
    expect(results.filter(each => 'from' in each && each.from === 0)).toHaveLength(1);
    expect(results.filter(each => 'from' in each && each.from === 1)).toHaveLength(2);
  });

  test('that is newer is refused, unless it still works with older programs', async () => {
    const database = await openedDatabase(await postgres().createDatabase());
    await migrate(database, [FIRST, SECOND]);
    expect(await migrate(database, [FIRST])).toEqual({ from: 2, to: 2 });
    expect(await checkSchema(database, [FIRST])).toBeUndefined();
    const third = { ...FIRST, version: 3, name: 'breaking', minVersion: 2, sql: 'select 1' };
    await migrate(database, [FIRST, SECOND, third]);
    expect(await migrate(database, [FIRST, SECOND])).toEqual({ from: 3, to: 3 });
    for (const refuse of [migrate, checkSchema])
      expect(await refuse(database, [FIRST])).toMatchObject({
        what: expect.stringContaining('is version 3, and this Ralph knows 1; it needs one that knows 2'),
      });
  });

  test('with a step that is not ours is refused', async () => {
    const database = await openedDatabase(await postgres().createDatabase());
    await migrate(database, [{ ...FIRST, name: 'other things' }]);
    expect(await migrate(database, [FIRST, SECOND])).toMatchObject({
      what: expect.stringContaining('"other things"'),
    });
  });

  test('that is up to date is read by a role that may only read', async () => {
    const url = await postgres().createDatabase();
    const owner = await openedDatabase(url);
    await migrate(owner, [FIRST]);
    await owner.query("create role looker login password 'l'");
    await owner.query('grant usage on schema ralph to looker');
    await owner.query('grant select on ralph.migration to looker');
    const looker = await openedDatabase(url.replace(/\/\/ralph:[^@]*/, '//looker:l'));
    expect(await migrate(looker, [FIRST])).toEqual({ from: 1, to: 1 });
    const denied = await migrate(looker, [FIRST, SECOND]).catch(error => looker.problemOf(error));
    expect(denied).toMatchObject({ what: expect.stringContaining('may not do this') });
  });
});
