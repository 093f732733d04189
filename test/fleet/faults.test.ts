/** Workers that die, sleep, lose the database, or are told to end: every unit ends once, with the work of one undisturbed machine. */
import { expect, test } from 'vitest';
import { type FleetRig, fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';

const TIMEOUT = { timeout: 180_000 };
const CHECKED = ['Write it', '--check', 'grep -q done work.txt', '--check', 'test -e first.txt'] as const;

describeWithPostgres('a unit whose worker', () => {
  const postgres = sharedPostgres();
  const made = async () => fleetRig(await postgres().createDatabase());

  test('is killed in a turn is finished by another, from where it was', TIMEOUT, async () => {
    const rig = await made();
    const gate = rig.gate('gate');
    rig.does('echo 1 > first.txt; echo no > work.txt', block('turn', gate.path), 'echo done > work.txt');
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one');
    await rig.until('the second turn', () => rig.reached('turn'));
    one.process.kill('SIGKILL');
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 2, turns: 3 });
  });

  test('is killed in a check is finished by another, and the turn is not taken again', TIMEOUT, async () => {
    const rig = await made();
    const gate = rig.gate('gate');
    rig.does('echo 1 > first.txt; echo done > work.txt');
    const once = `test -e "$FLEET_AGENT/check" || { touch "$FLEET_AGENT/check"; read x < "${gate.path}"; }`;
    const unit = await rig.submit(...CHECKED, '--check', once);
    const one = rig.worker('one');
    await rig.until('the check', () => rig.reached('check'));
    one.process.kill('SIGKILL');
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 2, turns: 1 });
  });

  test('sleeps is taken over; when it wakes up it writes nothing and moves nothing', TIMEOUT, async () => {
    const rig = await made();
    const gate = rig.gate('gate');
    rig.does(
      `echo 1 > first.txt; ${block('turn', gate.path)}; echo zombie > work.txt`,
      'echo 1 > first.txt; echo done > work.txt',
    );
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one');
    await rig.until('the turn', () => rig.reached('turn'));
    one.process.kill('SIGSTOP');
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await untilShown(rig, unit);
    const before = await standing(rig, unit);
    gate.open();
    one.process.kill('SIGCONT');
    await one.until('lost');
    one.process.kill('SIGTERM');
    expect((await one.finished).code).toBe(0);
    expect(await standing(rig, unit)).toEqual(before);
    await expectEnded(rig, unit, { fence: 2, turns: 2 });
  });

  test('loses the database for a while continues, and nothing is done twice', TIMEOUT, async () => {
    const rig = await made();
    const gate = rig.gate('gate');
    rig.does(`echo 1 > first.txt; ${block('turn', gate.path)}; echo no > work.txt`, 'echo done > work.txt');
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one');
    await rig.until('the turn', () => rig.reached('turn'));
    await postgres().stop('immediate');
    gate.open();
    await one.until('waits');
    await postgres().start();
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 2 });
  });

  test('is told to end gives it back with its work, and another continues', TIMEOUT, async () => {
    const rig = await made();
    const gate = rig.gate('gate');
    rig.does(`echo 1 > first.txt; ${block('turn', gate.path)}; echo no > work.txt`, 'echo done > work.txt');
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one');
    await rig.until('the turn', () => rig.reached('turn'));
    one.process.kill('SIGTERM');
    await one.until('draining');
    gate.open();
    expect((await one.finished).code).toBe(0);
    await rig.untilState(unit, 'ready');
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 2, turns: 2 });
  });

  test('hears that it was cancelled ends its agent, and the work is kept', TIMEOUT, async () => {
    const rig = await made();
    const gate = rig.gate('gate');
    rig.does(`echo 1 > first.txt; ${block('turn', gate.path)}`);
    const unit = await rig.submit(...CHECKED);
    rig.worker('one');
    await rig.until('the turn', () => rig.reached('turn'));
    await rig.fleet('cancel', unit);
    await rig.untilState(unit, 'cancelled');
    await untilShown(rig, unit);
    expect(rig.remote.git('show', `ralph/${unit}:first.txt`)).toBe('1\n');
  });
});

/** A turn that has come to this place and waits. */
function block(name: string, gate: string): string {
  return `touch "$FLEET_AGENT/${name}"; read x < "${gate}"`;
}

function untilShown(rig: FleetRig, unit: string): Promise<void> {
  return rig.until('the branch', () => rig.remote.git('for-each-ref').includes(`refs/heads/ralph/${unit}`));
}

async function standing(rig: FleetRig, unit: string) {
  return {
    events: await rig.sql('select seq, fence, line from ralph.event where unit = $1 order by seq', unit),
    unit: await rig.sql('select * from ralph.unit where id = $1', unit),
    branches: rig.remote.git('for-each-ref', 'refs/heads'),
  };
}

async function expectEnded(rig: FleetRig, unit: string, { fence, turns }: { fence?: number; turns: number }) {
  const [row] = await rig.sql(
    'select fence::int as fence, stop_reason, head_sha, worker from ralph.unit where id = $1',
    unit,
  );
  expect(row).toMatchObject({ stop_reason: 'all_checks_passed', ...(fence !== undefined && { fence }) });
  expect(rig.turns().length).toBe(turns);
  await untilShown(rig, unit);
  expect(rig.remote.git('rev-parse', `ralph/${unit}`).trim()).toBe(row?.head_sha);
  const files = rig.remote.git('ls-tree', '-r', '--name-only', `ralph/${unit}`).trim().split('\n');
  expect(files).toEqual(['README.md', 'first.txt', 'work.txt']);
  expect(rig.remote.git('show', `ralph/${unit}:work.txt`)).toBe('done\n');
  const events = await rig.sql(
    'select seq::int as seq, type from ralph.event where unit = $1 order by seq',
    unit,
  );
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  expect(events.filter(({ type }) => type === 'run-ended').length).toBeGreaterThan(0);
}
