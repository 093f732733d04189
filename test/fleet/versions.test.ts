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
const NUMBER_PLACE = /FLEET_VERSION = MIGRATIONS\.at\(-1\)\?\.version \?\? 0;/;

/** The built program that knows something more: each of these places is there once, and reads like this. */
function otherRalph(...changes: readonly (readonly [place: RegExp, after: string])[]): string {
  const dist = dirname(dirname(BIN));
  // Where it finds the packages that it does not bundle.
  const folder = mkdtempSync(join(dist, '../node_modules/.ralph-newer-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(dist, folder, { recursive: true });
  const main = join(folder, 'bin/main.cjs');
  const change = (text: string, [place, after]: readonly [RegExp, string]) => {
    expect(text.split(place), place.source).toHaveLength(2);
    return text.replace(place, () => after);
  };
  writeFileSync(main, changes.reduce(change, readFileSync(main, 'utf8')));
  return join(folder, 'bin/ralph.cjs');
}

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
    const bin = otherRalph(
      [/(?<=\{\s*)format: 1(?=,\s*\.\.\.)/, 'format: 2'],
      [/(?<=, "format"\);\s*return \w+ !== void 0 && \w+ > )1/, '2'],
    );
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
});
