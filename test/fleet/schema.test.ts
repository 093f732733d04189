/** The schema of a fleet's database: its steps, and what is in it while they are taken. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import type { Database } from '../../src/fleet/database.ts';
import { FLEET_VERSION, MIGRATIONS, type Migration } from '../../src/fleet/migrations.ts';
import { checkSchema, migrate, openFleet } from '../../src/fleet/open.ts';
import { reopenUnit } from '../../src/fleet/reopen.ts';
import { OVER, type UnitState } from '../../src/fleet/unit.ts';
import { claimUnit, unitOf } from '../../src/fleet/units.ts';
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
  const page = readFileSync(join(import.meta.dirname, '../../docs/reference/stability.md'), 'utf8');
  expect(page).toContain(`| database of a fleet | the table \`ralph.migration\` | ${FLEET_VERSION} |`);
});

const STATES: readonly UnitState[] = [
  ...(['waiting', 'ready', 'admitted', 'running', 'parked'] as const),
  ...OVER,
];

/** As version 2 had them: one in each state, with all that belongs to it. */
async function addUnits({ query }: Database): Promise<void> {
  await query("insert into ralph.account (id) values ('a')");
  await query("insert into ralph.budget (id, owner, cap, reserved) values ('b', 'me', 20, 9)");
  for (const state of STATES) {
    const isOver = OVER.includes(state);
    await query(
      `insert into ralph.unit (id, kind, title, owner, repo_url, base, config, account, budget, min_version, state, fence, takeovers, waits,
         cancel, likeness, carry, carry_fence, head_sha, stop_reason, ended_at)
       values ($1, 'loop', 'It', 'me', '/tmp/x', $2, '{"flags":{}}', 'a', 'b', 2, $3, 3, 2, 1, $4, $1, $2, 3, $2, $5, $6)`,
      [
        `u-${state}`,
        COMMIT,
        state,
        state === 'parked' ? 'gently' : null,
        isOver ? 'done' : null,
        isOver ? NOW : null,
      ],
    );
    await query("insert into ralph.event (unit, seq, fence, type, line) values ($1, 1, 3, 'notice', '{}')", [
      `u-${state}`,
    ]);
    await query("insert into ralph.command (unit, body, given_by) values ($1, '{}', 'me')", [`u-${state}`]);
    await query("insert into ralph.reservation (unit, budget, amount, fence) values ($1, 'b', 1, 3)", [
      `u-${state}`,
    ]);
  }
}

const COMMIT = '1'.repeat(40);
const NOW = new Date('2026-11-18T00:00:00Z');

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

  test('of version 2 keeps its units, in every state', async () => {
    const database = await openedDatabase(await postgres().createDatabase());
    const [first = FIRST, ...more] = MIGRATIONS;
    const second = [first, ...more.slice(0, 1)];
    await migrate(database, second);
    await addUnits(database);
    const tables = ['unit', 'event', 'command', 'reservation', 'budget', 'account'];
    const read = async () =>
      Promise.all(tables.map(async name => (await database.query(`select * from ralph.${name}`)).rows));
    const [units = [], ...others] = await read();
    expect(units).toHaveLength(STATES.length);
    expect(await migrate(database, MIGRATIONS)).toEqual({ from: 2, to: FLEET_VERSION });
    expect(await read()).toEqual([units.map(unit => ({ ...unit, reopened: false })), ...others]);
    // A Ralph of version 2 works with it, one of version 1 does not.
    expect(await migrate(database, second)).toEqual({ from: FLEET_VERSION, to: FLEET_VERSION });
    expect(await migrate(database, [first])).toMatchObject({
      what: expect.stringContaining('it needs one that knows 2'),
    });
  });

  test('that was of version 2: its units are worked on by an older worker, and a unit that was reopened is not', async () => {
    const url = await postgres().createDatabase();
    const old = await openedDatabase(url);
    await migrate(old, MIGRATIONS.slice(0, 2));
    await addUnits(old);
    const database = await openFleet({ database: url }, {});
    if (isProblem(database)) throw new Error(database.what);
    onTestFinished(() => database.close());
    for (const state of STATES) {
      const id = `u-${state}`;
      const before = await unitOf(database, id);
      expect(
        await reopenUnit(database, id, [{ kind: 'tell', text: 'More', carry: '--all' }]),
        id,
      ).toBeUndefined();
      const now = await unitOf(database, id);
      if (!OVER.includes(state)) expect(now).toEqual(before);
      else
        expect(now, id).toMatchObject({
          ...{
            state: 'ready',
            reopened: true,
            minVersion: FLEET_VERSION,
            fence: 4,
            carry: COMMIT,
            stopReason: null,
          },
        });
    }
    const claims = async (worker: number) => {
      const taken = await Promise.all(STATES.map(state => claimUnit(database, `u-${state}`, 'w', worker)));
      return STATES.filter((_, at) => taken[at] !== undefined);
    };
    expect(await claims(2)).toEqual(['waiting', 'ready', 'admitted', 'running']);
    expect(await claims(FLEET_VERSION)).toEqual(['waiting', 'ready', 'admitted', 'running', ...OVER]);
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
