/** Two builds of Ralph on one database: the one that was built last, and one that knows a step more. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FLEET_VERSION } from '../../src/fleet/migrations.ts';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { BIN, ralph } from '../rig/ralph.ts';
import { CHECKED, expectEnded } from './ended.ts';

const NUMBER = 'FLEET_VERSION = MIGRATIONS.at(-1)?.version ?? 0;';

/** The built program with one more step. `minVersion`: the oldest that still works with the schema after it. */
function newerRalph(minVersion: number): string {
  const dist = dirname(dirname(BIN));
  // Where it finds the packages that it does not bundle.
  const folder = mkdtempSync(join(dist, '../node_modules/.ralph-newer-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(dist, folder, { recursive: true });
  const main = join(folder, 'bin/main.cjs');
  const text = readFileSync(main, 'utf8');
  expect(text.split(NUMBER)).toHaveLength(2);
  const step = {
    version: FLEET_VERSION + 1,
    name: 'notes',
    minVersion,
    sql: 'alter table ralph.unit add column note text',
  };
  writeFileSync(main, text.replace(NUMBER, `MIGRATIONS.push(${JSON.stringify(step)}); ${NUMBER}`));
  return join(folder, 'bin/ralph.cjs');
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
});
