/** Units on real workers: processes, git and PostgreSQL are real. */
import { expect, test } from 'vitest';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';

describeWithPostgres('a worker', () => {
  const postgres = sharedPostgres();

  test('works on a loop until it is proven, and its branch is in the remote', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does('echo no > work.txt', 'echo done > work.txt');
    const unit = await rig.submit('Write it', '--check', 'grep -q done work.txt');
    const { code, stdout } = await rig.worker('one', '--once').finished;
    expect(code, stdout).toBe(0);
    const [done] = await rig.units();
    expect(done).toMatchObject({
      id: unit,
      state: 'done',
      stopReason: 'all_checks_passed',
      fence: 1,
      iterations: 2,
    });
    expect(rig.remote.git('show', `ralph/${unit}:work.txt`)).toBe('done\n');
    expect(rig.turns().length).toBe(2);
  });
});
