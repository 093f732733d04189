/** A unit that another machine continues goes back to the best iteration of the one before. */
import { execSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { untilShown } from './ended.ts';

const CHECK = "cat score; grep -q '^# fail 0$' score";
const scored = (failing: number) => `printf '# pass %s\\n# fail %s\\n' ${41 - failing} ${failing} > score`;

describeWithPostgres('a unit', () => {
  const postgres = sharedPostgres();

  test('whose worker is killed goes back on another machine to what the first one had', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const gate = rig.gate('gate');
    rig.does(
      `${scored(2)}; echo best > best.txt`,
      `${scored(8)}; rm best.txt`,
      `touch "$FLEET_AGENT/third"; read x < "${gate.path}"`,
      scored(9),
      `cp score seen.txt; ${scored(0)}`,
    );
    const unit = await rig.submit('Write it', '--check', CHECK);
    const one = rig.worker('one');
    await rig.until('the third turn', () => rig.reached('third'));
    one.process.kill('SIGKILL');
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await untilShown(rig, unit);
    const show = (name: string) => rig.remote.git('show', `ralph/${unit}:${name}`);
    expect([show('seen.txt'), show('best.txt')]).toEqual(['# pass 39\n# fail 2\n', 'best\n']);
    const events = await rig.sql(
      "select line from ralph.event where unit = $1 and type = 'restored' order by seq",
      unit,
    );
    expect(events.map(({ line }) => JSON.parse(String(line)))).toMatchObject([
      { from: 3, to: 1, why: 'worse' },
    ]);
  });

  test('that ends unfinished leaves the best, and what it put aside can be had from the remote', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(scored(2), `${scored(8)}; echo tried > tried.txt`);
    const unit = await rig.submit('Write it', '--check', CHECK, '--max-iterations', '2');
    const one = rig.worker('one', '--once');
    expect((await one.finished).code).toBe(0);
    await rig.untilState(unit, 'stopped');
    expect(rig.remote.git('show', `ralph/${unit}:score`)).toBe('# pass 39\n# fail 2\n');
    const [event] = await rig.sql(
      "select line from ralph.event where unit = $1 and type = 'run-ended'",
      unit,
    );
    const { bringBack } = JSON.parse(String(event?.line)).result.restored;
    rig.project.git('fetch', '--quiet', 'origin');
    rig.project.git('merge', '--quiet', `origin/ralph/${unit}`);
    execSync(bringBack, { cwd: rig.project.dir, stdio: 'pipe' });
    expect([rig.project.read('score'), rig.project.read('tried.txt')]).toEqual([
      '# pass 33\n# fail 8\n',
      'tried\n',
    ]);
  });
});
