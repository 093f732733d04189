/** Two builds of Ralph on one database: the one that was built last, and one that knows a step more. */
import { expect, test } from 'vitest';
import { FLEET_VERSION } from '../../src/fleet/migrations.ts';
import { fleetRig } from '../rig/fleet.ts';
import { laneRig, plain } from '../rig/lanes.ts';
import { LATER_FORMAT, otherRalph } from '../rig/other-ralph.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { ralph } from '../rig/ralph.ts';
import { CHECKED, expectEnded } from './ended.ts';

const NUMBER = 'FLEET_VERSION = MIGRATIONS.at(-1)?.version ?? 0;';
const NUMBER_PLACE = /FLEET_VERSION = MIGRATIONS\.at\(-1\)\?\.version \?\? 0;/;

/** One more step. `minVersion`: the oldest that still works with the schema after it. */
function newerRalph(minVersion: number): string {
  const step = {
    version: FLEET_VERSION + 1,
    name: 'notes',
    minVersion,
    sql: 'alter table ralph.unit add column note text',
  };
  return otherRalph([NUMBER_PLACE, `MIGRATIONS.push(${JSON.stringify(step)}); ${NUMBER}`]);
}

describeWithPostgres('workers of two versions', () => {
  const postgres = sharedPostgres();

  test('work side by side, and a unit that needs the newer one is left to it', {
    tags: 'P-fleet-versions',
  }, async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does('echo 1 > first.txt; echo done > work.txt');
    const bin = newerRalph(FLEET_VERSION);
    const older = rig.worker('older');
    await older.until('started');
    const submit = ['fleet', 'submit', 'loop', ...CHECKED, '--agent', 'claude', '--json'];
    const { stdout, stderr } = await ralph(submit, { ...rig.options, bin });
    expect(stderr).toBe('');
    const newUnit = JSON.parse(stdout).unit;
    const oldUnit = await rig.submit(...CHECKED);
    await rig.untilState(oldUnit, 'done');
    expect(await rig.fleet('status')).toContain('waits for a worker with a newer Ralph');
    rig.workerOn({ bin }, 'newer');
    await rig.untilState(newUnit, 'done');
    for (const unit of [oldUnit, newUnit]) await expectEnded(rig, unit, { fence: 1, turns: 1 });
    const workers = await rig.sql("select split_part(worker, '-', 1) as by from ralph.unit order by number");
    expect(workers).toEqual([{ by: 'newer' }, { by: 'older' }]);
  });

  test('part when the schema changes so that the older one cannot use it', {
    tags: 'P-fleet-versions',
  }, async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const older = rig.worker('older');
    await older.until('started');
    expect(
      (await ralph(['fleet', 'status'], { ...rig.options, bin: newerRalph(FLEET_VERSION + 1) })).code,
    ).toBe(0);
    await older.until('brought up to date by a newer Ralph');
    expect((await older.finished).code).toBe(0);
    const { code, stdout, stderr } = await rig.worker('another').finished;
    expect([code, stdout + stderr]).toEqual([
      2,
      expect.stringContaining(`it needs one that knows ${FLEET_VERSION + 1}`),
    ]);
  });

  test('leave a unit alone whose ledger only the newer one reads', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const gate = rig.gate('gate');
    const first = `echo 1 > first.txt; touch "$FLEET_AGENT/turn"; read x < "${gate.path}"; echo no > work.txt`;
    rig.does(first, 'echo done > work.txt');
    const bin = otherRalph(...LATER_FORMAT);
    const unit = await rig.submit(...CHECKED);
    const newer = rig.workerOn({ bin }, 'newer');
    await rig.until('the turn', () => rig.reached('turn'));
    newer.process.kill('SIGTERM');
    await newer.until('draining');
    gate.open();
    expect((await newer.finished).code).toBe(0);
    const older = rig.worker('older');
    await older.until('cannot-begin');
    const [row] = await rig.sql('select state, detail from ralph.unit where id = $1', unit);
    expect(row).toEqual({
      state: 'parked',
      detail: expect.stringMatching(/version 2 of the format.*update Ralph/),
    });
    older.process.kill('SIGTERM');
    await older.finished;
    await rig.sql('update ralph.unit set ready_at = now()');
    rig.workerOn({ bin }, 'again');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 3, turns: 2 });
  });

  test('stop a list of which a newer one has done a story, and say why', async () => {
    const lanes = laneRig([plain('US-001')]);
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const submit = ['submit', 'loop', 'Take its only slot', '--check', 'true', '--agent', 'claude', '--json'];
    const { unit: other } = JSON.parse(await rig.fleet(...submit));
    const gate = rig.gate('gate');
    lanes.does(other, 'task', `touch "$FLEET_AGENT/turn"; read x < "${gate.path}"`);
    rig.worker('older', '--slots', '1');
    await rig.until('the turn', () => rig.reached('turn'));
    const unit = await rig.submit('--check', 'test -f README.md');
    await rig.untilState(unit, 'running');
    const bin = otherRalph(...LATER_FORMAT);
    rig.workerOn({ bin }, 'newer');
    await rig.untilState(unit, 'stopped');
    const [row] = await rig.sql('select stop_reason, detail from ralph.unit where id = $1', unit);
    expect(row).toEqual({
      stop_reason: 'needs_you',
      detail: expect.stringMatching(/US-001: .*version 2 of the format.*update Ralph/),
    });
    expect(rig.remote.git('log', '--format=%s', `ralph/${unit}/_int`)).not.toContain('US-001');
  });
});
