/** A list of stories whose workers are killed again and again, before and after what they push has arrived, lands the same as on one machine. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fleetRig, remoteFiles } from '../rig/fleet.ts';
import { landedFiles, laneRig, plain, runParallel, whatLanded } from '../rig/lanes.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { writeScript } from '../rig/repo.ts';
import { generator } from './generator.ts';

/** In all: `npm run chaos -- --fleet --runs 60` asks for more. */
const KILLS = Number(process.env.RALPH_CHAOS_FLEET ?? 3);
const SEED = Number(process.env.RALPH_CHAOS_SEED ?? 1);
const IN_ONE_RUN = 3;
/** A worker gets so many pushes through at the most. */
const MOST_PUSHES = 8;
const SLOTS = 2;

const CHECK = ['--check', 'test -f README.md', '--strict'] as const;
const project = () => laneRig([plain('US-001'), plain('US-002'), plain('US-003', { dependsOn: ['US-001'] })]);

/** Counted are pushes that the remote is about to take, and those that it has taken. */
const HOOK = `echo >> "$D/pushes"
[ "$(wc -l < "$D/pushes")" -ge "$(cat "$D/until")" ] || exit 0
echo 1000000 > "$D/until"
kill -KILL "$(cat "$D/worker")"
exit 0`;

describeWithPostgres('a list of stories whose workers are killed', () => {
  const postgres = sharedPostgres();
  const seeds = Array.from({ length: Math.ceil(KILLS / IN_ONE_RUN) }, (_, at) => SEED + at);

  test.each(seeds)('at any push lands as on one machine: seed %i', async seed => {
    const lanes = project();
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const { FLEET_AGENT: orders = '' } = rig.env;
    const [pushes, until, worker] = ['pushes', 'until', 'worker'].map(name => join(orders, name)) as [
      string,
      string,
      string,
    ];
    for (const hook of ['pre-receive', 'post-receive'])
      writeScript(join(rig.remote.dir, 'hooks', hook), `D=${orders}; ${HOOK}`);
    const random = generator(seed);
    const unit = await rig.submit(...CHECK);
    const places: number[] = [];
    for (let part = 0; part < IN_ONE_RUN; part++) {
      const done = existsSync(pushes) ? readFileSync(pushes, 'utf8').length : 0;
      const at = done + 1 + Math.floor(random() * 2 * MOST_PUSHES);
      writeFileSync(until, String(at));
      const { process: child, finished } = rig.worker(`w${part}`, '--slots', String(SLOTS));
      writeFileSync(worker, String(child.pid));
      if ((await Promise.race([finished, rig.untilState(unit, 'done')])) === undefined) break;
      places.push(at);
    }
    writeFileSync(until, '1000000');
    rig.worker('last', '--slots', String(SLOTS));
    await rig.untilState(unit, 'done');
    const alone = project();
    await runParallel(alone, '--parallel', String(SLOTS), ...CHECK);
    const what = `killed at ${places.join(', ')}`;
    expect(places, what).not.toEqual([]);
    expect(whatLanded(remoteFiles(rig, unit)), what).toEqual(whatLanded(landedFiles(alone, 'ralph/demo')));
    const landed = await rig.sql("select line from ralph.event where unit = $1 and type = 'landed'", unit);
    expect(landed, what).toHaveLength(3);
    // Only the turns that were under way are done again.
    expect(lanes.turns().length, what).toBeLessThanOrEqual(6 + SLOTS * places.length);
  });
});
