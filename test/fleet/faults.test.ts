/** Workers that lose the database, are told to end, or hear of a cancel: every unit ends once, with the work of one undisturbed machine. */
import { expect, test } from 'vitest';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { CHECKED, expectEnded, untilShown } from './ended.ts';

describeWithPostgres('a unit whose worker', () => {
  const postgres = sharedPostgres();
  /** Its worker is in a turn that waits at the gate. */
  const inTurn = async (first: string, ...then: readonly string[]) => {
    const rig = fleetRig(await postgres().createDatabase());
    const gate = rig.gate('gate');
    rig.does(`echo 1 > first.txt; touch "$FLEET_AGENT/turn"; read x < "${gate.path}"; ${first}`, ...then);
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one');
    await rig.until('the turn', () => rig.reached('turn'));
    return { rig, gate, unit, one };
  };

  test('loses the database for a while continues, and nothing is done twice', async () => {
    const { rig, gate, unit, one } = await inTurn('echo no > work.txt', 'echo done > work.txt');
    await postgres().stop('immediate');
    gate.open();
    await one.until('waits');
    await postgres().start();
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 2 });
  });

  test('is told to end gives it back with its work, and another continues', async () => {
    const { rig, gate, unit, one } = await inTurn('echo no > work.txt', 'echo done > work.txt');
    one.process.kill('SIGTERM');
    await one.until('draining');
    gate.open();
    expect((await one.finished).code).toBe(0);
    await rig.untilState(unit, 'ready');
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 2, turns: 2 });
  });

  test('hears that it was cancelled ends its agent, and the work is kept', async () => {
    const { rig, unit } = await inTurn(':');
    await rig.fleet('cancel', unit);
    await rig.untilState(unit, 'cancelled');
    await untilShown(rig, unit);
    expect(rig.remote.git('show', `ralph/${unit}:first.txt`)).toBe('1\n');
  });
});
