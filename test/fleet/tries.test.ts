/** Databases that are full or slow, agents that are killed or print without end, workers that drain in a push: each unit ends once all the same. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FleetRig, fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { CHECKED, expectEnded } from './ended.ts';

const WORK = 'echo 1 > first.txt; echo done > work.txt';

/** What the server does before each row of a table is written. */
async function beforeRows(rig: FleetRig, table: 'event' | 'unit', statement: string): Promise<void> {
  await rig.sql(
    `create function ralph.disturb() returns trigger language plpgsql as $$ begin ${statement}; return new; end $$`,
  );
  await rig.sql(
    `create trigger disturb before insert or update on ralph.${table} for each row execute function ralph.disturb()`,
  );
}

describeWithPostgres('a unit', () => {
  const postgres = sharedPostgres();

  test('whose database is full waits until it is not', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(WORK);
    const unit = await rig.submit(...CHECKED);
    await beforeRows(rig, 'event', "raise exception 'could not extend file' using errcode = '53100'");
    const one = rig.worker('one');
    await one.until('waits');
    await rig.sql('drop trigger disturb on ralph.event');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 1 });
  });

  test('whose database is slow ends once', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(WORK);
    const unit = await rig.submit(...CHECKED);
    await beforeRows(rig, 'unit', 'perform pg_sleep(1)');
    rig.worker('one');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 1 });
  });

  test('whose agent is killed, as by a system without memory, takes the turn again', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does('echo 1 > first.txt; kill -9 $PPID', WORK);
    const unit = await rig.submit(...CHECKED);
    rig.worker('one');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 2 });
  });

  test('whose agent prints without end is done, and what is kept of it is small', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(`head -c 200000000 /dev/zero | tr '\\0' x >&2; ${WORK}`);
    const unit = await rig.submit(...CHECKED);
    rig.worker('one');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 1 });
    const [kept] = await rig.sql(
      'select coalesce(sum(length(content)), 0)::int as bytes from ralph.artifact',
    );
    expect(Number(kept?.bytes)).toBeLessThan(20_000_000);
  });

  test('whose worker is told to end in a push is given back with its work, and another continues', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const { FLEET_AGENT: orders = '' } = rig.env;
    rig.does(`touch "${orders}/turned"; echo 1 > first.txt; echo no > work.txt`, WORK);
    const gate = rig.gate('gate');
    const hook = join(rig.remote.dir, 'hooks/pre-receive');
    const hold = `mkdir "${orders}/pushes" 2>/dev/null && read x < "${gate.path}"`;
    writeFileSync(hook, `#!/bin/sh\ntest -e "${orders}/turned" || exit 0\n${hold}\nexit 0\n`);
    chmodSync(hook, 0o755);
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one');
    await rig.until('the push', () => rig.reached('pushes'));
    one.process.kill('SIGTERM');
    await one.until('draining');
    gate.open();
    expect((await one.finished).code).toBe(0);
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 2, turns: 2 });
  });
});
