/** Another connection holds what a statement needs, and does not let it go: whoever waits says so, nobody else waits with it, and nothing is done twice. */
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { ADMISSION_LOCK, admit } from '../../src/fleet/admission.ts';
import { FLEET_VERSION } from '../../src/fleet/migrations.ts';
import { openFleet } from '../../src/fleet/open.ts';
import { type FleetRig, fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { ralph } from '../rig/ralph.ts';
import { CHECKED, expectEnded } from './ended.ts';

const SAID = 'another connection holds a lock that this waits for';

describeWithPostgres('a lock that somebody holds', () => {
  const postgres = sharedPostgres();
  const start = async () => fleetRig(await postgres().createDatabase());
  /** Its worker is in a turn that waits at the gate. */
  const inTurn = async (...worker: readonly string[]) => {
    const rig = await start();
    const gate = rig.gate('gate');
    const waits = `touch "$FLEET_AGENT/turn"; read x < "${gate.path}"`;
    rig.does(
      `echo 1 > first.txt; ${waits}; echo done > work.txt`,
      'echo 1 > first.txt; echo done > work.txt',
    );
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one', ...worker);
    await rig.until('the turn', () => rig.reached('turn'));
    return { rig, gate, unit, one };
  };
  const isWaited = async (rig: FleetRig) =>
    (
      await rig.sql(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      )
    ).length > 0;

  test('in a claim: the other units of the worker still hear what they are told', async () => {
    const { rig, unit, one } = await inTurn('--slots', '11', '--label', 'x');
    let said = '';
    one.process.stdout?.on('data', chunk => {
      said += chunk;
    });
    one.process.kill('SIGSTOP');
    const others: string[] = [];
    for (let at = 0; at < 10; at++) others.push(await rig.submit(...CHECKED, '--need', 'x'));
    await admitAll(rig, others.length);
    const open = await hold(rig, 'select 1 from ralph.unit where id = any($1) for update', others);
    one.process.kill('SIGCONT');
    await rig.until('a claim', () => isWaited(rig));
    await rig.fleet('cancel', unit);
    await rig.untilState(unit, 'cancelled');
    expect(said.split('not-taken').length - 1, 'between two claims').toBeLessThan(others.length);
    await one.until(SAID);
    await open();
    const [first = '', ...rest] = others;
    for (const other of rest) await rig.fleet('cancel', other);
    await rig.untilState(first, 'done');
    await expectEnded(rig, first, { turns: 1 });
  });

  test('in a claim: a worker that is told to end has not begun it', async () => {
    const rig = await start();
    rig.does('echo 1 > first.txt; echo done > work.txt');
    const unit = await rig.submit(...CHECKED);
    await admitAll(rig);
    const open = await hold(rig, 'select 1 from ralph.unit where id = $1 for update', unit);
    const one = rig.worker('one');
    await rig.until('the claim', () => isWaited(rig));
    one.process.kill('SIGTERM');
    await one.until('draining');
    await open();
    expect((await one.finished).code).toBe(0);
    expect(rig.turns()).toEqual([]);
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 1 });
  });

  test('at a sign of life and when a unit is given back', async () => {
    const { rig, unit, one, gate } = await inTurn();
    const open = await hold(rig, 'select 1 from ralph_jobs.job for update');
    await one.until(new RegExp(`no-sign-of-life .*${SAID}`));
    gate.open();
    await one.until(new RegExp(`waits .*${SAID}`));
    await open();
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 1, turns: 1 });
  });

  test('when units are admitted', async () => {
    const rig = await start();
    rig.does('echo 1 > first.txt; echo done > work.txt');
    const unit = await rig.submit(...CHECKED);
    const open = await hold(rig, 'select pg_advisory_xact_lock($1)', ADMISSION_LOCK);
    const one = rig.worker('one');
    await one.until(SAID);
    await open();
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 1, turns: 1 });
  });

  test('of a command: it ends, says why, and has done nothing', async () => {
    const rig = await start();
    const unit = await rig.submit(...CHECKED);
    const open = await hold(rig, 'lock table ralph.unit, ralph.command in exclusive mode');
    const commands = [
      ['cancel', unit],
      ['tell', unit, 'Mind the semicolons'],
      ['submit', 'loop', ...CHECKED, '--agent', 'claude'],
    ];
    const ended = await Promise.all(commands.map(args => ralph(['fleet', ...args], rig.options)));
    for (const [at, { code, stdout, stderr }] of ended.entries())
      expect([commands[at]?.[0], code, stdout, stderr]).toEqual([
        ...[commands[at]?.[0], 2, ''],
        expect.stringContaining(SAID),
      ]);
    await open();
    expect(await rig.sql('select state from ralph.unit')).toEqual([{ state: 'ready' }]);
    expect(await rig.sql('select 1 from ralph.command')).toEqual([]);
    await rig.fleet('cancel', unit);
    expect(await rig.sql('select state from ralph.unit')).toEqual([{ state: 'cancelled' }]);
  });
});

/** Each has a job before any worker looks. */
async function admitAll(rig: FleetRig, count = 1): Promise<void> {
  const fleet = await openFleet({ database: rig.env.RALPH_DATABASE_URL }, {});
  if (isProblem(fleet)) throw new Error(fleet.what);
  expect(await admit(fleet, { free: 99, labels: ['claude', 'x'], version: FLEET_VERSION, repos: [] })).toBe(
    count,
  );
  await fleet.close();
}

/** Until it is opened. */
async function hold(rig: FleetRig, text: string, ...params: readonly unknown[]) {
  const client = new Client({ connectionString: rig.env.RALPH_DATABASE_URL });
  onTestFinished(() => client.end());
  await client.connect();
  await client.query('begin');
  await client.query(text, [...params]);
  return async () => void (await client.query('commit'));
}
