/** What a worker may not work on it gives back, whoever let it begin: also what it inherits from one that died. */
import { expect, test } from 'vitest';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';

describeWithPostgres('a worker that is kept to some repositories', () => {
  const postgres = sharedPostgres();

  test('never runs a unit of another one, and leaves it to a worker that may', {
    timeout: 120_000,
  }, async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const gate = rig.gate('gate');
    rig.does(`touch "$FLEET_AGENT/turn"; read x < "${gate.path}"`, 'echo done > work.txt');
    const unit = await rig.submit('Write it', '--check', 'grep -q done work.txt');
    const free = rig.worker('free');
    await rig.until('the turn', () => rig.reached('turn'));
    const kept = rig.worker('kept', '--allow-repo', '/elsewhere/*');
    free.process.kill('SIGKILL');
    await rig.untilState(unit, 'ready');
    await kept.until('declined');
    expect(rig.turns().length).toBe(1);
    const before = await rig.sql('select fence::int as fence, worker from ralph.unit where id = $1', unit);
    expect(before).toEqual([{ fence: 2, worker: null }]);
    rig.worker('other');
    await rig.untilState(unit, 'done');
    const places = rig.turns().map(({ cwd }) => /ralph-worker-(\w+)-/.exec(cwd)?.[1]);
    expect(places).not.toContain('kept');
  });
});
