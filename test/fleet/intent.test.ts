/** What a unit is told: it counts whatever becomes of the worker that has it, and whatever that worker does at the moment. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FleetRig, fleetRig } from '../rig/fleet.ts';
import { laneRig, plain } from '../rig/lanes.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { writeScript } from '../rig/repo.ts';
import { CHECKED, expectEnded } from './ended.ts';

describeWithPostgres('a unit that is told something', () => {
  const postgres = sharedPostgres();
  /** Its worker is in a turn that waits at the gate; the next turn does the work. */
  const inTurn = async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const gate = rig.gate('gate');
    const waits = `touch "$FLEET_AGENT/turn"; read x < "${gate.path}"`;
    rig.does(`echo 1 > first.txt; ${waits}; echo no > work.txt`, 'echo 1 > first.txt; echo done > work.txt');
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one');
    await rig.until('the turn', () => rig.reached('turn'));
    return { rig, gate, unit, one };
  };
  const seen = async (rig: FleetRig, unit: string, type: string) =>
    rig.sql('select fence::int as fence, line from ralph.event where unit = $1 and type = $2', unit, type);
  /** A worker looks every second, and a turn that ends before that has begun the next one. */
  const pause = async (rig: FleetRig, unit: string, of = unit) => {
    await rig.fleet('pause', unit);
    await rig.until('its worker to hear of it', async () =>
      (await seen(rig, of, 'notice')).some(({ line }) => String(line).includes('It will pause')),
    );
  };

  test('is cancelled although its worker died before it heard of it', async () => {
    const { rig, unit, one } = await inTurn();
    one.process.kill('SIGSTOP');
    await rig.fleet('cancel', unit);
    one.process.kill('SIGKILL');
    rig.worker('two');
    await rig.untilState(unit, 'cancelled');
    expect(rig.turns()).toHaveLength(1);
    expect((await rig.units())[0]).toMatchObject({ stopReason: 'cancelled' });
  });

  test('is cancelled while the remote is away', async () => {
    const { rig, unit, gate, one } = await inTurn();
    renameSync(join(rig.remote.dir, 'HEAD'), join(rig.remote.dir, 'HEAD.away'));
    gate.open();
    await one.until('waits');
    await rig.fleet('cancel', unit);
    await rig.untilState(unit, 'cancelled');
    expect(rig.turns()).toHaveLength(1);
  });

  test('is cancelled in a push that hangs, and in a clone that does', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const { FLEET_AGENT: orders = '' } = rig.env;
    rig.does('echo 1 > first.txt; echo done > work.txt');
    const [push, clone] = [rig.gate('push'), rig.gate('clone')];
    writeScript(
      join(rig.remote.dir, 'hooks/pre-receive'),
      `touch "${orders}/pushes"; read x < "${push.path}"`,
    );
    writeScript(join(orders, 'fetch'), `touch "${orders}/clones"; read x < "${clone.path}"; exec "$@"`);
    const [first, second] = [
      await rig.submit(...CHECKED, '--need', 'fast'),
      await rig.submit(...CHECKED, '--need', 'slow'),
    ];
    rig.worker('one', '--label', 'fast');
    const furnish = (home: string) => {
      const GIT_CONFIG_GLOBAL = join(home, 'settings-of-git');
      writeFileSync(GIT_CONFIG_GLOBAL, `[uploadpack]\n\tpackObjectsHook = ${orders}/fetch\n`);
      return { GIT_CONFIG_GLOBAL };
    };
    rig.workerOn({ furnish }, 'two', '--label', 'slow');
    await rig.until('both', () => rig.reached('pushes') && rig.reached('clones'));
    for (const unit of [first, second]) await rig.fleet('cancel', unit);
    for (const unit of [first, second]) await rig.untilState(unit, 'cancelled');
    expect(rig.turns()).toEqual([]);
  });

  test('hears from the next worker what the dead one had heard', async () => {
    const { rig, unit, one } = await inTurn();
    await rig.fleet('tell', unit, 'Mind the semicolons');
    await rig.until('it has arrived', async () =>
      (await seen(rig, unit, 'notice')).some(({ line }) => String(line).includes('A hint has arrived')),
    );
    const open = async () => rig.sql('select 1 from ralph.command where done_at is null');
    expect(await open(), 'it is in no prompt yet').toHaveLength(1);
    one.process.kill('SIGKILL');
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 2, turns: 2 });
    const hints = await seen(rig, unit, 'hint-delivered');
    expect(hints.map(({ fence, line }) => [fence, JSON.parse(String(line)).text])).toEqual([
      [2, 'Mind the semicolons'],
    ]);
    expect(await open()).toEqual([]);
  });

  test('stays paused with the next worker, until it is continued', async () => {
    const { rig, unit, gate, one } = await inTurn();
    await pause(rig, unit);
    gate.open();
    await rig.until('the first pause', async () => (await seen(rig, unit, 'paused')).length === 1);
    one.process.kill('SIGKILL');
    rig.worker('two');
    await rig.until('the second pause', async () => (await seen(rig, unit, 'paused')).length === 2);
    expect(rig.turns()).toHaveLength(1);
    await rig.fleet('continue', unit);
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 2, turns: 2 });
    expect(await rig.sql('select 1 from ralph.command where done_at is null')).toEqual([]);
  });

  test('pauses its stories, where it is a list', async () => {
    const lanes = laneRig([plain('US-001')]);
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const gate = rig.gate('gate');
    lanes.does(
      'US-001',
      'implement',
      `touch "$FLEET_AGENT/turn"; read x < "${gate.path}"; mkdir work; echo 1 > work/x`,
    );
    const unit = await rig.submit('--check', 'test -f README.md');
    rig.worker('one', '--slots', '1');
    await rig.until('the turn', () => rig.reached('turn'));
    await pause(rig, unit, `${unit}.US-001`);
    gate.open();
    await rig.until('the pause', async () => (await seen(rig, `${unit}.US-001`, 'paused')).length === 1);
    await rig.fleet('continue', unit);
    await rig.untilState(unit, 'done');
  });

  test('cancels its stories, also with the worker that begins anew', async () => {
    const lanes = laneRig([plain('US-001'), plain('US-002')]);
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const gate = rig.gate('gate');
    const waits = `touch "$FLEET_AGENT/turn"; read x < "${gate.path}"`;
    for (const id of ['US-001', 'US-002']) lanes.does(id, 'implement', waits);
    const unit = await rig.submit('--check', 'test -f README.md');
    const one = rig.worker('one', '--slots', '2');
    await rig.until('the turns', () => lanes.turns().length === 2);
    one.process.kill('SIGSTOP');
    await rig.fleet('cancel', unit);
    one.process.kill('SIGKILL');
    rig.worker('two', '--slots', '2');
    await rig.untilState(unit, 'cancelled');
    for (const id of ['US-001', 'US-002']) await rig.untilState(`${unit}.${id}`, 'cancelled');
    expect(lanes.turns()).toHaveLength(2);
  });
});
