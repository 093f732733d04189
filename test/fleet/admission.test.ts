/** Who may begin, who may spend and who may write, on a real PostgreSQL. */
import { afterEach, expect, test, vi } from 'vitest';
import type { EndedTurn } from '../../src/domain/run/event.ts';
import type { Usage } from '../../src/domain/turn/usage.ts';
import { admit } from '../../src/fleet/admission.ts';
import { listBudget, reserve, spend, unitBudget } from '../../src/fleet/budget.ts';
import { cancelUnit, standingOf } from '../../src/fleet/commands.ts';
import { type Database, openDatabase } from '../../src/fleet/database.ts';
import { openQueues } from '../../src/fleet/lease.ts';
import { MIGRATIONS } from '../../src/fleet/migrations.ts';
import { migrate } from '../../src/fleet/open.ts';
import { queueOf } from '../../src/fleet/unit.ts';
import {
  addUnit,
  claimUnit,
  type NewUnit,
  readLines,
  releaseUnit,
  unitOf,
  writeProgress,
} from '../../src/fleet/units.ts';
import { readFleet, waitsFor } from '../../src/fleet/view.ts';
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
vi.setConfig({ testTimeout: 60_000 });

const LIMITS = { maxIterations: 0, maxFailures: 3, stuckAfter: 0 };
const dollars = (cost: number) => ({ usage: { cost, costSource: 'agent' } }) as const;
const yes = (held: number, most: number) => ({
  held: expect.objectContaining({ cost: held }),
  most: expect.objectContaining({ cost: most }),
});

const ANYBODY = { free: 10, labels: ['claude'], version: 1, repos: [] };

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
    await openQueues(database, UNIT);
    return database;
  };
  afterEach(async () => {
    for (const database of opened.splice(0)) await database.close();
  });
  const add = async (database: Database, id: string, more: Partial<NewUnit> = {}) => {
    await openQueues(database, { ...UNIT, ...more });
    expect(await addUnit(database, { ...UNIT, id, ...more })).toBe(true);
  };
  /** When the dearest turn so far has cost so much. */
  const reserveAt = async (
    database: Database,
    price: number,
    budget: string,
    holder: Parameters<typeof reserve>[2],
  ) => {
    await database.query("update ralph.budget set dearest = $1 where currency = 'cost'", [price]);
    return reserve(database, budget, holder);
  };
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
       select o || n, 'loop', 't', o, '/tmp/none', 'b', '{}', 'claude', 1, 'ready' from (select 'ada' as o, n from generate_series(1, 1800) n union all select 'bob', n from generate_series(1, 200) n) x`,
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
      "insert into ralph.worker (id, labels, version, slots, host, repos) values ('w', '{claude}', 1, 4, 'h', '{/tmp/n*}')",
    );
    expect(await admit(database, { ...ANYBODY, repos: ['/tmp/n*'] })).toBe(0);
    const view = await readFleet(database, { words: '', all: true });
    expect(view.units.map(unit => waitsFor(unit, view))).toEqual([
      'waits for a worker with gpu: none has it',
      'waits for a worker with a newer Ralph',
      'waits for a worker that allows git@elsewhere:x: none does. Start one without --allow-repo, or with one that fits',
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
    expect((await database.query('select 1 from ralph_jobs.job')).rowCount).toBe(3);
    await database.query("update ralph.account set slots = null, limited_until = now() + interval '1 hour'");
    expect(await admit(database, { ...ANYBODY, free: 40 })).toBe(0);
  });

  test('never reserves more than there is, whoever asks at the same time', async () => {
    const database = await open();
    await database.query("insert into ralph.budget (id, owner, cap, dearest) values ('team', 'ada', 25, 1)");
    await add(database, 'u0', { budget: 'team' });
    await claimUnit(database, 'u0', 'w', 1);
    for (let at = 1; at < 100; at++)
      await database.query(
        "insert into ralph.unit (id, kind, title, owner, repo_url, base, config, account, min_version, state, fence) values ($1, 'loop', 't', 'ada', 'r', 'b', '{}', 'claude', 1, 'running', 1)",
        [`u${at}`],
      );
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) => reserve(database, 'team', { id: `u${at}`, fence: 1 })),
    );
    const isPaid = (answer: unknown) => typeof answer === 'object' && answer !== null && 'held' in answer;
    expect(answers.filter(isPaid)).toHaveLength(25);
    expect(answers.filter(answer => answer === 'wait')).toHaveLength(75);
    const [budget] = (
      await database.query('select reserved::int as reserved, spent::int as spent from ralph.budget')
    ).rows;
    expect(budget).toEqual({ reserved: 25, spent: 0 });
    const paid = answers.findIndex(isPaid);
    await spend(database, { id: `u${paid}`, fence: 1 }, dollars(0.25));
    await reserveAt(database, 0.5, 'team', { id: 'u0', fence: 1 });
    const [after] = (await database.query('select reserved + spent <= cap as holds from ralph.budget')).rows;
    expect(after).toEqual({ holds: true });
  });

  test('takes nothing from a worker whose unit was claimed by another', async () => {
    const database = await open();
    await add(database, 'u');
    await admit(database, ANYBODY);
    const one = await claimUnit(database, 'u', 'one', 1);
    const two = await claimUnit(database, 'u', 'two', 1);
    if (!one || !two) throw new Error('not claimed');
    expect([one.unit.fence, two.unit.fence, two.before]).toEqual([1, 2, 'one']);
    const line = { seq: 1, type: 'notice', text: '{}' } as const;
    expect(await writeProgress(database, one.unit, { lines: [line], carry: 'c1' })).toBe(false);
    expect(await releaseUnit(database, one.unit, { state: 'ready' }, async () => {})).toBe(false);
    expect((await database.query('select 1 from ralph.event')).rowCount).toBe(0);
    expect(await unitOf(database, 'u')).toMatchObject({ state: 'running', worker: 'two', carry: null });
    expect(await writeProgress(database, two.unit, { lines: [line], carry: 'c2' })).toBe(true);
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
    expect(await claimUnit(database, id, 'one', 1)).toBeUndefined();
    expect(await unitOf(database, id)).toMatchObject({
      state: 'stopped',
      detail: expect.stringMatching(/^it was not submitted with `ralph fleet submit`: /),
    });
  });

  test('lets nobody spend the money of a unit but who holds it, and counts what a dead worker had reserved', async () => {
    const database = await open();
    await database.query("insert into ralph.budget (id, owner, cap) values ('team', 'ada', 10)");
    const money = async () =>
      (await database.query('select reserved::int as reserved, spent::int as spent from ralph.budget'))
        .rows[0];
    await add(database, 'u', { budget: 'team' });
    const one = { id: 'u', fence: (await claimUnit(database, 'u', 'one', 1))?.unit.fence ?? 0 };
    expect(await reserveAt(database, 2, 'team', one)).toEqual(yes(2, 10));
    const two = { id: 'u', fence: (await claimUnit(database, 'u', 'two', 1))?.unit.fence ?? 0 };
    expect(await reserveAt(database, 3, 'team', two)).toEqual(yes(3, 8));
    expect(await money()).toEqual({ reserved: 3, spent: 2 });
    await spend(database, one, dollars(5));
    expect(await reserveAt(database, 5, 'team', one)).toEqual('wait');
    expect(await money()).toEqual({ reserved: 3, spent: 2 });
    // An answer that was lost: it is said twice.
    for (let time = 0; time < 2; time++) await spend(database, two, dollars(1));
    expect(await money()).toEqual({ reserved: 0, spent: 3 });
  });

  test('holds a list of stories to what it may spend, and to the budget that this is part of', async () => {
    const database = await open();
    await database.query("insert into ralph.budget (id, owner, cap) values ('team', 'ada', 10)");
    const list = { id: 'list', owner: 'ada', budget: 'team' };
    const purse = (await listBudget(database, list, { ...LIMITS, maxCost: 3 }).look()) ?? '';
    for (const id of ['list.A', 'list.B', 'list.C', 'else']) {
      await add(database, id, { budget: id === 'else' ? 'team' : purse });
      await claimUnit(database, id, 'w', 1);
    }
    const of = (id: string) => ({ id, fence: 1 });
    expect(await reserveAt(database, 2, purse, of('list.A'))).toEqual(yes(2, 3));
    expect(await reserveAt(database, 2, purse, of('list.B'))).toEqual('wait');
    const money = async () =>
      (
        await database.query(
          'select id, reserved::int as reserved, spent::int as spent from ralph.budget order by cap',
        )
      ).rows;
    expect(await money()).toEqual([
      { id: purse, reserved: 2, spent: 0 },
      { id: 'team', reserved: 2, spent: 0 },
    ]);
    await spend(database, of('list.A'), dollars(2));
    // Alone, it gets what is left.
    expect(await reserveAt(database, 2, purse, of('list.B'))).toEqual(yes(1, 1));
    await spend(database, of('list.B'), dollars(1));
    expect(await reserveAt(database, 2, purse, of('list.C'))).toEqual({
      reason: 'budget_exhausted',
      detail: '$3.00 of $3.00 spent by the whole list.',
    });
    expect(await reserveAt(database, 9, 'team', of('else'))).toEqual(yes(7, 7));
    expect(await money()).toEqual([
      { id: purse, reserved: 0, spent: 3 },
      { id: 'team', reserved: 7, spent: 3 },
    ]);
  });

  test('holds a list of stories to its tokens and turns, whatever money there is', async () => {
    const database = await open();
    const limits = { maxIterations: 3, maxTokens: 100, maxCost: 9, maxFailures: 3, stuckAfter: 0 };
    const purse = listBudget(database, { id: 'list', owner: 'ada', budget: null }, limits);
    const budget = (await purse.look()) ?? '';
    for (const id of ['list.A', 'list.B', 'list.C', 'list.D']) {
      await add(database, id, { budget, kind: 'story' });
      await claimUnit(database, id, 'w', 1);
    }
    const ask = async (id: string, tokens: number, fence = 1) => {
      await database.query(
        "update ralph.budget set dearest = case currency when 'cost' then 1 else $1::numeric end",
        [tokens],
      );
      return reserve(database, budget, { id, fence });
    };
    expect(await ask('list.A', 60)).toEqual({
      held: { cost: 1, tokens: 60, turns: 1 },
      most: { cost: 9, tokens: 100, turns: 3 },
    });
    expect(await ask('list.B', 60)).toEqual('wait');
    expect(await ask('list.B', 30)).toMatchObject({ most: { tokens: 40, turns: 2 } });
    expect(await ask('list.C', 10)).toMatchObject({ most: { tokens: 10, turns: 1 } });
    expect(await ask('list.D', 0.1)).toEqual('wait');
    const tokens = { input: 10, output: 0, cacheRead: 0, cacheWrite: 0 };
    const used = { usage: { cost: 0.1, tokens, costSource: 'agent' } } as const;
    for (const id of ['list.A', 'list.B']) await spend(database, { id, fence: 1 }, used);
    // A turn that was left is taken again: it counts when it is.
    await spend(
      database,
      { id: 'list.C', fence: 1 },
      {
        ...used,
        outcome: { kind: 'ended', by: 'interrupt' },
      },
    );
    expect([await purse.look(), purse.room()]).toEqual([budget, 'yes']);
    // So it is with one whose worker died; what it may have used is counted.
    await ask('list.C', 20);
    await claimUnit(database, 'list.C', 'other', 1);
    const again = { id: 'list.C', fence: 2 };
    expect(await ask('list.C', 20, 2)).toMatchObject({
      most: { tokens: 50, turns: 1 },
    });
    await spend(database, again, used);
    const spent = (by: string) => ({ reason: 'max_iterations', detail: `3 of 3 iterations used${by}.` });
    expect(await ask('list.A', 1)).toEqual(spent(' by the whole list'));
    await purse.look();
    expect(purse.room()).toEqual(spent(''));
  });

  test('holds all that is left for one turn while none has shown what it costs', async () => {
    const database = await open();
    await database.query("insert into ralph.budget (id, owner, cap) values ('team', 'ada', 10)");
    for (const id of ['a', 'b', 'c']) {
      await add(database, id, { budget: 'team' });
      await claimUnit(database, id, 'w', 1);
    }
    const ask = (id: string, fence = 1) => reserve(database, 'team', { id, fence });
    expect([await ask('a'), await ask('b')]).toEqual([yes(10, 10), 'wait']);
    await spend(database, { id: 'a', fence: 1 }, { usage: { costSource: 'unknown' }, idle: true });
    expect([await ask('b'), await ask('a')]).toEqual([yes(10, 10), 'wait']);
    // Nobody knows what the turn of a worker that died has cost: not nothing, and not all that there is.
    await claimUnit(database, 'b', 'other', 1);
    expect(await ask('b', 2)).toEqual(yes(9.5, 9.5));
    await spend(database, { id: 'b', fence: 2 }, dollars(3));
    expect([await ask('a'), await ask('b', 2), await ask('c')]).toEqual([yes(3, 6.5), yes(3, 3.5), 'wait']);
    // Nor is one free that does not say it.
    await spend(database, { id: 'a', fence: 1 }, { usage: { costSource: 'unknown' } });
    await spend(database, { id: 'b', fence: 2 }, dollars(1));
    const { rows } = await database.query('select spent::float8 as spent from ralph.budget');
    expect(rows).toEqual([{ spent: 7.5 }]);
  });

  test('counts a turn that was left when it is taken again, and ends one that uses more tokens than there are', async () => {
    const database = await open();
    const limits = { ...LIMITS, maxIterations: 3, maxTokens: 100 };
    const budget = await listBudget(database, { id: 'list', owner: 'ada', budget: null }, limits).look();
    await add(database, 'list.A', { kind: 'story', budget });
    await claimUnit(database, 'list.A', 'w', 1);
    const shared = unitBudget({
      database,
      unit: { id: 'list.A', fence: 1, budget, account: 'claude' },
      now: Date.now,
      cut: new AbortController().signal,
    });
    const used = (input: number): Usage => ({
      costSource: 'unknown',
      tokens: { input, output: 0, cacheRead: 0, cacheWrite: 0 },
    });
    const take = async (turn: Pick<EndedTurn, 'outcome' | 'idle'>) => {
      await expect.poll(() => shared.reserve()).toBe('yes');
      expect([100, 101].map(tokens => shared.overdrawn(used(tokens)))).toEqual([undefined, 'max-tokens']);
      shared.charge({ ...turn, usage: used(0) });
      await shared.flushed();
      const { rows } = await database.query(
        "select spent::int as n from ralph.budget where currency = 'turns'",
      );
      return rows[0]?.n;
    };
    expect(await take({ outcome: { kind: 'ended', by: 'interrupt' } })).toBe(0);
    expect(await take({ outcome: { kind: 'completed' }, idle: true })).toBe(0);
    expect(await take({ outcome: { kind: 'completed' } })).toBe(1);
    expect(await take({ outcome: { kind: 'ended', by: 'iteration-timeout' } })).toBe(2);
  });

  test('lets a story wait for the money of a budget that its list is part of, and says so; one whose list has spent its own may end', async () => {
    const database = await open();
    await database.query("insert into ralph.budget (id, owner, cap, spent) values ('team', 'ada', 5, 5)");
    await database.query(
      "insert into ralph.worker (id, labels, version, slots, host) values ('w', '{claude}', 1, 4, 'h')",
    );
    await add(database, 'list', { kind: 'prd', budget: 'team' });
    const list = { id: 'list', owner: 'ada', budget: 'team' };
    const budget = await listBudget(database, list, { ...LIMITS, maxIterations: 2 }).look();
    await add(database, 'list.A', { kind: 'story', parent: 'list', budget });
    const waits = async () => {
      const view = await readFleet(database, { words: 'list.A', all: true });
      return view.units.map(unit => waitsFor(unit, view));
    };
    expect(await admit(database, ANYBODY)).toBe(0);
    expect(await waits()).toEqual(['waits for money: the budget team has none left']);
    await database.query("update ralph.budget set cap = 50 where id = 'team'");
    await database.query('update ralph.budget set reserved = cap where unit is not null');
    expect(await admit(database, { ...ANYBODY, free: 1 })).toBe(1);
    expect(await inState(database, 'admitted')).toEqual(['list']);
    expect(await waits()).toEqual([
      'waits for others of its list: they hold what is left of --max-iterations',
    ]);
    await database.query('update ralph.budget set reserved = 0, spent = cap where unit is not null');
    await admit(database, ANYBODY);
    expect(await inState(database, 'admitted')).toEqual(['list', 'list.A']);
  });

  test('follows budgets that name each other in a circle once', async () => {
    const database = await open();
    await database.query(
      "insert into ralph.budget (id, owner, cap) values ('one', 'eve', 3), ('two', 'eve', 2), ('self', 'eve', 1)",
    );
    await database.query(
      "update ralph.budget set within = case id when 'one' then 'two' when 'two' then 'one' else 'self' end",
    );
    for (const [id, budget] of [
      ['u', 'one'],
      ['v', 'self'],
    ] as const)
      await add(database, id, { budget });
    expect(await admit(database, ANYBODY)).toBe(2);
    for (const id of ['u', 'v']) await claimUnit(database, id, 'w', 1);
    expect(await reserveAt(database, 1, 'one', { id: 'u', fence: 1 })).toEqual(yes(1, 2));
    expect(await reserveAt(database, 1, 'self', { id: 'v', fence: 1 })).toEqual(yes(1, 1));
    const { budgets } = await readFleet(database, { words: '', all: true });
    expect(budgets.map(({ id, empty }) => [id, empty])).toEqual([
      ['one', []],
      ['self', ['self']],
      ['two', []],
    ]);
  });

  test('does not call a budget spent when its money is given back at this moment', async () => {
    const database = await open();
    await database.query("insert into ralph.budget (id, owner, cap, reserved) values ('team', 'ada', 3, 2)");
    await add(database, 'u', { budget: 'team' });
    await claimUnit(database, 'u', 'w', 1);
    const waits = async () =>
      (await database.query("select 1 from pg_stat_activity where wait_event_type = 'Lock'")).rowCount;
    let asked: ReturnType<typeof reserve> | undefined;
    await database.transaction(async ({ query }) => {
      await query('update ralph.budget set reserved = 0');
      asked = reserveAt(database, 5, 'team', { id: 'u', fence: 1 });
      await expect.poll(waits, { timeout: 60_000 }).toBe(1);
    });
    expect(await asked).toEqual(yes(3, 3));
  });

  test('a restricted worker finds what it may take behind any number of others, and their jobs are not given to it', async () => {
    const database = await open();
    await database.query("insert into ralph.account (id) values ('claude')");
    await openQueues(database, { ...UNIT, repoUrl: 'theirs' });
    await database.query(
      `insert into ralph.unit (id, kind, title, owner, repo_url, base, config, account, min_version, state)
       select 'u' || n, 'loop', 't', 'ada', 'theirs', 'b', '{}', 'claude', 1, 'ready' from generate_series(1, 200) n`,
    );
    await add(database, 'ours');
    expect(await admit(database, { ...ANYBODY, free: 3 })).toBe(3);
    expect(await admit(database, { ...ANYBODY, free: 1, repos: ['/tmp/n*'] })).toBe(1);
    expect(await inState(database, 'admitted')).toContain('ours');
    const queues = ['theirs', '/tmp/none'].map(repoUrl => queueOf({ ...UNIT, repoUrl }));
    expect(new Set(queues).size).toBe(2);
    expect(new Set([1, 2].map(minVersion => queueOf({ ...UNIT, minVersion }))).size).toBe(2);
  });

  test('takes a line again whose answer was lost, once', async () => {
    const database = await open();
    await add(database, 'u');
    const claim = await claimUnit(database, 'u', 'one', 1);
    if (!claim) throw new Error('not claimed');
    const lines = [1, 2].map(seq => ({ seq, type: 'notice' as const, text: `{"seq":${seq}}` }));
    expect(await writeProgress(database, claim.unit, { lines: lines.slice(0, 1) })).toBe(true);
    expect(await writeProgress(database, claim.unit, { lines })).toBe(true);
    expect(await readLines(database, 'u')).toEqual(lines);
  });

  test('cancels a list of stories with its stories', async () => {
    const database = await open();
    await add(database, 'list', { kind: 'prd' });
    await add(database, 'list.A', { kind: 'story', parent: 'list' });
    await add(database, 'list.B', { kind: 'story', parent: 'list' });
    await claimUnit(database, 'list.B', 'one', 1);
    expect(await cancelUnit(database, 'list', 'ada')).toBe('cancelled');
    expect(await inState(database, 'cancelled')).toEqual(['list', 'list.A']);
    expect(await unitOf(database, 'list.B')).toMatchObject({ state: 'running', cancel: 'now' });
    // Its worker is dead: whoever takes it over ends it.
    expect(await claimUnit(database, 'list.B', 'two', 1)).toBeUndefined();
    expect(await unitOf(database, 'list.B')).toMatchObject({ state: 'cancelled', stopReason: 'cancelled' });
  });

  test.each([
    { state: 'ready' },
    { state: 'parked', seconds: 60, detail: 'its account is limited' },
    { state: 'parked', trouble: 'it is away', most: 50 },
    { state: 'stopped', detail: 'it was refused' },
  ] as const)('ends a unit that was cancelled when its worker gives it up as %s', async ending => {
    const database = await open();
    await add(database, 'u');
    const claim = await claimUnit(database, 'u', 'one', 1);
    if (!claim) throw new Error('not claimed');
    expect(await cancelUnit(database, 'u', 'ada', true)).toBe('running');
    expect(await releaseUnit(database, claim.unit, ending, async () => {})).toBe(true);
    expect(await unitOf(database, 'u')).toMatchObject({ state: 'cancelled', stopReason: 'cancelled' });
  });

  test('lets a unit that is ready not begin before its time', async () => {
    const database = await open();
    await add(database, 'u');
    await database.query("update ralph.unit set ready_at = now() + interval '1 hour'");
    const worker = { worker: 'w', version: 1 };
    expect((await standingOf(database, worker, [])).mayBegin).toBe(false);
    expect(await admit(database, ANYBODY)).toBe(0);
    await database.query('update ralph.unit set ready_at = now()');
    expect((await standingOf(database, worker, [])).mayBegin).toBe(true);
    expect(await admit(database, ANYBODY)).toBe(1);
  });

  test('forgets in vain tries of a unit with its first progress, and not with a line that only begins', async () => {
    const database = await open();
    await add(database, 'u');
    const tryOnce = async (type?: 'run-resumed' | 'turn-ended') => {
      const claim = await claimUnit(database, 'u', 'one', 1);
      if (!claim) throw new Error('not claimed');
      const { rows } = await database.query<{ seq: number }>(
        'select count(*)::int + 1 as seq from ralph.event',
      );
      const lines = type ? [{ seq: rows[0]?.seq ?? 1, type, text: '{}' }] : [];
      await writeProgress(database, claim.unit, { lines, carry: 'a'.repeat(40) });
      const ending = { state: 'parked', trouble: 'it is away', most: 4 } as const;
      await releaseUnit(database, claim.unit, ending, async () => {});
      const after = await database.query('select state, waits from ralph.unit');
      return after.rows[0];
    };
    expect(await tryOnce()).toEqual({ state: 'parked', waits: 1 });
    expect(await tryOnce('run-resumed')).toEqual({ state: 'parked', waits: 2 });
    expect(await tryOnce('turn-ended')).toEqual({ state: 'parked', waits: 1 });
    expect(await tryOnce('run-resumed')).toEqual({ state: 'parked', waits: 2 });
    expect(await tryOnce()).toEqual({ state: 'parked', waits: 3 });
    expect(await tryOnce()).toEqual({ state: 'stopped', waits: 3 });
    expect((await unitOf(database, 'u'))?.detail).toBe('it was tried 4 times: it is away');
  });

  test('gives a unit up that ends one worker after the other', async () => {
    const database = await open();
    await add(database, 'u');
    for (let at = 0; at <= 8; at++) expect(await claimUnit(database, 'u', `w${at}`, 1)).toBeDefined();
    expect(await claimUnit(database, 'u', 'w9', 1)).toBeUndefined();
    expect(await unitOf(database, 'u')).toMatchObject({
      state: 'lost',
      detail: '8 workers in a row ended while they worked on it',
    });
  });
});
