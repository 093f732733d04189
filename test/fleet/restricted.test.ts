/** A worker that is kept to some repositories never works on another, whoever let it begin, or died with it. */
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
    rig.worker('kept', '--allow-repo', '/elsewhere/*');
    free.process.kill('SIGKILL');
    // The unit is there for anybody who may have it, and the one that may not has looked since.
    await rig.until(
      'the lease is over',
      async () => (await rig.sql("select 1 from ralph_jobs.job where state = 'retry'")).length === 1,
    );
    const seen = async () =>
      (await rig.sql("select seen_at::text from ralph.worker where id like 'kept%'"))[0]?.seen_at;
    for (let looks = 0; looks < 3; looks++) {
      const before = await seen();
      await rig.until('another look', async () => (await seen()) !== before);
    }
    expect(rig.turns().length).toBe(1);
    const [now] = await rig.sql('select state, fence::int as fence from ralph.unit where id = $1', unit);
    expect(now).toEqual({ state: 'running', fence: 1 });
    rig.worker('other');
    await rig.untilState(unit, 'done');
    const places = rig.turns().map(({ cwd }) => /ralph-worker-(\w+)-/.exec(cwd)?.[1]);
    expect(places).not.toContain('kept');
  });
});
