/** A database whose answers are late or lost, or that is away for longer than a lease: nothing is lost, nothing is done twice, and everybody says what to do. */
import { expect, test } from 'vitest';
import { type FleetRig, fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { type ProxyServer, startProxy } from '../rig/proxy.ts';
import { type Finished, ralph } from '../rig/ralph.ts';
import { CHECKED, expectEnded } from './ended.ts';

describeWithPostgres('a database that answers late or not at all', () => {
  const postgres = sharedPostgres();
  /** Who goes this way, and who goes straight to the server. */
  const through = (rig: FleetRig, { port }: ProxyServer) => ({
    RALPH_DATABASE_URL: (rig.env.RALPH_DATABASE_URL ?? '').replace(/:\d+\//, `:${port}/`),
  });
  const begin = async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const proxy = await startProxy(postgres().port);
    const env = through(rig, proxy);
    const command = (...args: readonly string[]): Promise<Finished> =>
      ralph(['fleet', ...args], { ...rig.options, env: { ...rig.env, ...env } });
    return { rig, proxy, env, command };
  };

  test('a command whose connection is lost says what to do, and is no bug', async () => {
    const { rig, proxy, command } = await begin();
    rig.does('true');
    const unit = await rig.submit(...CHECKED);
    for (const [lost, ...args] of [
      ['from ralph.unit', 'status'],
      ['from ralph.unit', 'cancel', unit],
      ['from ralph.unit', 'logs', unit],
      ['insert into ralph.budget', 'budget', 'team', '5'],
      ['insert into ralph.account', 'account', 'team', '5'],
      ['update ralph.worker', 'drain', 'nobody'],
      ['from ralph.unit', 'remove', unit],
    ] as const) {
      const isLost = proxy.loseAnswerTo(lost);
      const { code, stderr, stdout } = await command(...args);
      await isLost;
      expect([args, code, stdout, stderr]).toEqual([
        args,
        2,
        '',
        expect.stringContaining('the server cannot be reached'),
      ]);
      expect(stderr).not.toContain('a bug in Ralph');
    }
  });

  test('what was sent and not answered is there once', async () => {
    const { rig, proxy, command } = await begin();
    rig.does('true');
    for (const args of [
      ['submit', 'loop', ...CHECKED, '--agent', 'claude', '--json'],
      ['tell', '', 'Dates are in UTC'],
    ]) {
      const [row] = await rig.sql('select id from ralph.unit').catch(() => []);
      const isLost = proxy.loseAnswerTo('commit\0');
      const { code, stderr } = await command(...args.map(each => each || String(row?.id)));
      await isLost;
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
    }
    expect(await rig.sql('select 1 as one from ralph.unit')).toEqual([{ one: 1 }]);
    expect(await rig.sql('select 1 as one from ralph.command')).toEqual([{ one: 1 }]);
  });

  test('workers show that they are there although each answer takes a second', async () => {
    const { rig, proxy, env } = await begin();
    const gate = rig.gate('gate');
    rig.does(`echo 1 > first.txt; touch "$FLEET_AGENT/turn"; read x < "${gate.path}"; echo done > work.txt`);
    const unit = await rig.submit(...CHECKED);
    const workers = ['one', 'two'].map(name => rig.workerOn({ env }, name));
    for (const each of workers) await each.until('started');
    proxy.delay(1_000);
    await rig.until('the turn', () => rig.reached('turn'));
    await rig.until('longer than a lease', async () => {
      const job = "state <> 'active' or heartbeat_on > started_on + interval '13 seconds'";
      return (await rig.sql(`select 1 from ralph_jobs.job where ${job}`)).length > 0;
    });
    gate.open();
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 1, turns: 1 });
  });

  test('a worker that loses it when it begins waits, and says when it is back', async () => {
    const { rig, proxy, env } = await begin();
    rig.does('echo 1 > first.txt; echo done > work.txt');
    const unit = await rig.submit(...CHECKED);
    const isLost = proxy.loseAnswerTo('insert into ralph.worker');
    const one = rig.workerOn({ env }, 'one');
    await isLost;
    await one.until(/the server cannot be reached.*check the host[\s\S]*it answers again/);
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 1, turns: 1 });
  });

  test('after it was away for longer than a lease each worker still has its units', async () => {
    const { rig, proxy, env } = await begin();
    const other = await startProxy(postgres().port);
    const gate = rig.gate('gate');
    rig.does(`echo 1 > first.txt; touch "$FLEET_AGENT/turn"; read x < "${gate.path}"; echo done > work.txt`);
    const unit = await rig.submit(...CHECKED);
    const one = rig.workerOn({ env }, 'one');
    await rig.until('the turn', () => rig.reached('turn'));
    const two = rig.workerOn({ env: through(rig, other) }, 'two');
    await rig.until('both', async () => (await rig.sql('select 1 from ralph.worker')).length === 2);
    for (const each of [proxy, other]) each.close();
    for (const each of [one, two]) await each.until('the server cannot be reached');
    await rig.until('longer than a lease', async () => {
      const job = "heartbeat_on < now() - interval '11 seconds'";
      return (await rig.sql(`select 1 from ralph_jobs.job where ${job}`)).length > 0;
    });
    // The one who has the unit is the last to notice.
    await other.open();
    const isBack = "seen_at > now() - interval '10 seconds'";
    await rig.until('the other worker', async () => {
      return (await rig.sql(`select 1 from ralph.worker where ${isBack}`)).length > 0;
    });
    await proxy.open();
    await rig.until('a sign of life', async () => {
      const isThere = "heartbeat_on > now() - interval '11 seconds'";
      return (await rig.sql(`select 1 from ralph_jobs.job where ${isThere}`)).length > 0;
    });
    gate.open();
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 1, turns: 1 });
  });
});
