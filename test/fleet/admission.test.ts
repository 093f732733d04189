/** Who may begin, who may spend and who may write, on a real PostgreSQL. */
import { afterEach, expect, test } from 'vitest';
import { admit } from '../../src/fleet/admission.ts';
import { cancelUnit } from '../../src/fleet/commands.ts';
import { type Database, openDatabase } from '../../src/fleet/database.ts';
import { MIGRATIONS } from '../../src/fleet/migrations.ts';
import { migrate } from '../../src/fleet/schema.ts';
import { reserve, spend } from '../../src/fleet/shared.ts';
import {
  addUnit,
  type Claimant,
  claimUnit,
  type NewUnit,
  releaseUnit,
  unitOf,
  writeProgress,
} from '../../src/fleet/units.ts';
import { readFleet, waitsFor } from '../../src/fleet/view.ts';
import { openQueues } from '../../src/fleet/worker.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';

const UNIT: Omit<NewUnit, 'id'> = {
  ...{
    kind: 'loop',
    parent: null,
    title: 'A task',
    owner: 'ada',
    repoUrl: '/tmp/none',
    base: 'f'.repeat(40),
  },
  ...{ config: { flags: {}, task: 'A task' }, needs: [], account: 'claude', budget: null },
  ...{ priority: 0, depends: [], minVersion: 1 },
};
const ANYBODY = { free: 10, labels: ['claude'], version: 1, allows: () => true };

describeWithPostgres('the database of a fleet', () => {
  const postgres = sharedPostgres();
  const opened: Database[] = [];
  const open = async () => {
    const database = await openDatabase(
      await postgres().createDatabase(),
      {},
      { jobs: { supervise: false } },
    );
    if ('what' in database) throw new Error(database.what);
    opened.push(database);
    await migrate(database, MIGRATIONS);
    await database.boss.start();
    await openQueues(database, []);
    return database;
  };
  afterEach(async () => {
    for (const database of opened.splice(0)) await database.close();
  });
  const add = async (database: Database, id: string, more: Partial<NewUnit> = {}) => {
    await openQueues(database, more.needs ?? []);
    expect(await addUnit(database, { ...UNIT, id, ...more })).toBe(true);
  };
  const claim = (database: Database, id: string, worker: string, more: Partial<Claimant> = {}) =>
    claimUnit(database, id, { worker, version: 1, allows: () => true, settleJob: async () => {}, ...more });
  const inState = async (database: Database, state: string) =>
    (
      await database.query<{ id: string }>('select id from ralph.unit where state = $1 order by number', [
        state,
      ])
    ).rows.map(({ id }) => id);

  test('shares slots between owners, however many units each has', async () => {
    const database = await open();
    await database.query(`insert into ralph.account (id) values ('claude');`);
    await database.query(
      `insert into ralph.unit (id, kind, title, owner, repo_url, base, config, account, min_version, state)
       select o || n, 'loop', 't', o, 'r', 'b', '{}', 'claude', 1, 'ready' from (select 'ada' as o, n from generate_series(1, 1800) n union all select 'bob', n from generate_series(1, 200) n) x`,
    );
    // As four workers with ten slots each would.
    for (let at = 1; at <= 4; at++) await admit(database, { ...ANYBODY, free: at * 10 });
    const { rows } = await database.query(
      "select owner, count(*)::int as units from ralph.unit where state = 'admitted' group by owner order by owner",
    );
    expect(rows).toEqual([
      { owner: 'ada', units: 20 },
      { owner: 'bob', units: 20 },
    ]);
  });

  test('lets units of a higher priority begin first, and those of one that is not done not at all', async () => {
    const database = await open();
    await add(database, 'low');
    await add(database, 'high', { priority: 5 });
    await add(database, 'later', { priority: 9, depends: ['low'] });
    await admit(database, { ...ANYBODY, free: 1 });
    expect(await inState(database, 'admitted')).toEqual(['high']);
    await cancelUnit(database, 'low', 'ada');
    await admit(database, { ...ANYBODY, free: 2 });
    expect(await inState(database, 'stopped')).toEqual(['later']);
    expect((await unitOf(database, 'later'))?.detail).toBe('low ended as cancelled');
  });

  test('gives a unit only to a worker that has what it needs, and says what it waits for', async () => {
    const database = await open();
    await add(database, 'gpu', { needs: ['claude', 'gpu'] });
    await add(database, 'newer', { minVersion: 2 });
    await add(database, 'foreign', { repoUrl: 'git@elsewhere:x' });
    await database.query(
      "insert into ralph.worker (id, labels, version, slots, host) values ('w', '{claude}', 1, 4, 'h')",
    );
    expect(await admit(database, { ...ANYBODY, allows: url => url === '/tmp/none' })).toBe(0);
    const view = await readFleet(database, { words: '', all: true });
    expect(view.units.map(unit => waitsFor(unit, view))).toEqual([
      'waits for a worker with gpu: none has it',
      'waits for a worker with a newer Ralph',
      undefined,
    ]);
    expect(await admit(database, { ...ANYBODY, labels: ['claude', 'gpu'], version: 2 })).toBe(3);
  });

  test('lets an account take as many units as it has slots, also when two workers ask at once', async () => {
    const database = await open();
    for (let at = 1; at <= 9; at++) await add(database, `u${at}`);
    await database.query("update ralph.account set slots = 3 where id = 'claude'");
    await Promise.all([
      admit(database, ANYBODY),
      admit(database, { ...ANYBODY, free: 20 }),
      admit(database, { ...ANYBODY, free: 30 }),
    ]);
    expect(await inState(database, 'admitted')).toHaveLength(3);
    await database.query("update ralph.account set slots = null, limited_until = now() + interval '1 hour'");
    expect(await admit(database, { ...ANYBODY, free: 40 })).toBe(0);
  });

  test('never reserves more than there is, whoever asks at the same time', async () => {
    const database = await open();
    await database.query("insert into ralph.budget (id, owner, cap) values ('team', 'ada', 100)");
    await add(database, 'u0', { budget: 'team' });
    for (let at = 1; at < 400; at++)
      await database.query(
        "insert into ralph.unit (id, kind, title, owner, repo_url, base, config, account, min_version, state) values ($1, 'loop', 't', 'ada', 'r', 'b', '{}', 'claude', 1, 'ready')",
        [`u${at}`],
      );
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, at) => reserve(database, 'team', { id: `u${at}`, fence: 1 }, 1)),
    );
    expect(answers.filter(answer => answer === 'yes')).toHaveLength(100);
    const [budget] = (
      await database.query('select reserved::int as reserved, spent::int as spent from ralph.budget')
    ).rows;
    expect(budget).toEqual({ reserved: 100, spent: 0 });
    const paid = answers.indexOf('yes');
    await spend(database, 'team', `u${paid}`, 0.25);
    expect(await reserve(database, 'team', { id: 'u0', fence: 1 }, 0.5)).toMatch(/yes|wait/);
    const [after] = (await database.query('select reserved + spent <= cap as holds from ralph.budget')).rows;
    expect(after).toEqual({ holds: true });
  });

  test('takes nothing from a worker whose unit was claimed by another', async () => {
    const database = await open();
    await add(database, 'u');
    await admit(database, ANYBODY);
    const one = await claim(database, 'u', 'one');
    const two = await claim(database, 'u', 'two');
    if (!one || !two || one === 'declined' || two === 'declined') throw new Error('not claimed');
    expect([one.unit.fence, two.unit.fence, two.before]).toEqual([1, 2, 'one']);
    const line = { seq: 1, type: 'notice', text: '{}' };
    expect(await writeProgress(database, one.unit, { lines: [line], carry: { commit: 'c1' } })).toBe(false);
    expect(await releaseUnit(database, one.unit, { state: 'ready' }, async () => {})).toBe(false);
    expect((await database.query('select 1 from ralph.event')).rowCount).toBe(0);
    expect(await unitOf(database, 'u')).toMatchObject({ state: 'running', worker: 'two', carry: null });
    expect(await writeProgress(database, two.unit, { lines: [line], carry: { commit: 'c2' } })).toBe(true);
  });

  test('takes a unit from a worker that is too old for it or may not have it, for those that may', async () => {
    const database = await open();
    await add(database, 'u');
    await admit(database, ANYBODY);
    const settled: string[] = [];
    const declines = (more: Partial<Claimant>) =>
      claim(database, 'u', 'not for me', { settleJob: async () => settled.push('job'), ...more });
    expect(await declines({ version: 0 })).toBe('declined');
    expect(await unitOf(database, 'u')).toMatchObject({
      state: 'ready',
      fence: 0,
      worker: null,
      takeovers: 0,
    });
    await claim(database, 'u', 'one');
    expect(await declines({ allows: () => false })).toBe('declined');
    // The one that died with it, if it did not, writes no more.
    expect(await unitOf(database, 'u')).toMatchObject({
      state: 'ready',
      fence: 2,
      worker: null,
      takeovers: 1,
    });
    expect(settled).toEqual(['job', 'job']);
    expect(await admit(database, ANYBODY)).toBe(1);
  });

  test.each<[string, Partial<NewUnit>]>([
    ['a/../../../out', {}],
    ['option', { base: '--upload-pack=touch /tmp/escaped' }],
    ['address', { repoUrl: '--upload-pack=touch /tmp/escaped' }],
    ['helper', { repoUrl: 'ext::sh -c "touch /tmp/escaped"' }],
  ])('gives no worker a unit that nobody can have submitted: %s', async (id, more) => {
    const database = await open();
    await add(database, id, more);
    await admit(database, ANYBODY);
    expect(await claim(database, id, 'one')).toBeUndefined();
    expect(await unitOf(database, id)).toMatchObject({
      state: 'stopped',
      detail: expect.stringMatching(/^its /),
    });
  });

  test('cancels a list of stories with its stories', async () => {
    const database = await open();
    await add(database, 'list', { kind: 'prd' });
    await add(database, 'list.A', { kind: 'story', parent: 'list' });
    await add(database, 'list.B', { kind: 'story', parent: 'list' });
    await claim(database, 'list.B', 'one');
    expect(await cancelUnit(database, 'list', 'ada')).toBe(true);
    expect(await inState(database, 'cancelled')).toEqual(['list', 'list.A']);
    const { rows } = await database.query('select unit, body from ralph.command');
    expect(rows).toEqual([{ unit: 'list.B', body: { kind: 'cancel', gently: false } }]);
  });

  test('gives a unit up that ends one worker after the other', async () => {
    const database = await open();
    await add(database, 'u');
    for (let at = 0; at <= 8; at++) expect(await claim(database, 'u', `w${at}`)).toBeDefined();
    expect(await claim(database, 'u', 'w9')).toBeUndefined();
    expect(await unitOf(database, 'u')).toMatchObject({
      state: 'lost',
      detail: '8 workers in a row ended while they worked on it',
    });
  });
});
