/** Workers on hosts of their own that lose the database and the remote without losing themselves. */
import { expect, test } from 'vitest';
import { fleetRig } from '../rig/fleet.ts';
import { createNetwork, networkMissing, serveGit } from '../rig/network.ts';
import { describeWithPostgres, startPostgres } from '../rig/postgres.ts';
import { CHECKED, expectEnded, standing } from './ended.ts';

/** For a while; until another worker has done its work; as long, with nobody else to do it. */
const CUTS = [
  { name: 'short-unplugged', how: 'unplugged', isLong: false },
  { name: 'short-silent', how: 'silent', isLong: false },
  { name: 'long-unplugged', how: 'unplugged', isLong: true },
  { name: 'long-silent', how: 'silent', isLong: true },
  { name: 'alone', how: 'unplugged', isLong: true },
] as const;

/** In the first turn of each unit the agent waits; what it then reads becomes its work. */
const AGENT = `unit=$(basename "$PWD"); word=done
if [ -p "$FLEET_AGENT/gate-$unit" ] && mkdir "$FLEET_AGENT/reached-$unit" 2>/dev/null; then read word < "$FLEET_AGENT/gate-$unit"; fi
echo 1 > first.txt; echo "$word" > work.txt`;

const why = networkMissing();
describeWithPostgres('a worker that is cut off from everything', () => {
  test.skipIf(why !== undefined)(
    `continues when that was short, and is harmless when another has taken over${why ? ` (skipped: ${why})` : ''}`,
    async () => {
      const postgres = await startPostgres({ listen: '*' });
      const network = createNetwork();
      const rig = fleetRig(await postgres.createDatabase());
      rig.project.git('remote', 'set-url', 'origin', await serveGit(rig.remote.dir, network.address));
      rig.does(AGENT);
      const env = {
        RALPH_DATABASE_URL: (rig.env.RALPH_DATABASE_URL ?? '').replace('127.0.0.1', network.address),
      };
      // By the clock only where it is wanted: no machine is so slow that one who is there, or comes back, counts as dead.
      const setLease = (seconds: number, units: readonly string[]) =>
        rig.sql(
          "update ralph_jobs.job set heartbeat_seconds = $1 where data->>'unit' = any($2)",
          seconds,
          units,
        );
      const begin = async (cut: (typeof CUTS)[number]) => {
        const unit = await rig.submit(...CHECKED, '--need', cut.name);
        await setLease(3600, [unit]);
        const gate = rig.gate(`gate-${unit}`);
        const host = network.host();
        const worker = rig.workerOn({ prefix: host.prefix, env }, cut.name, '--label', cut.name);
        return { ...cut, unit, gate, host, worker };
      };
      const all = await Promise.all(CUTS.map(begin));
      await rig.until('every turn', () => all.every(({ unit }) => rig.reached(`reached-${unit}`)));
      const [short, alone] = [
        all.filter(({ isLong }) => !isLong),
        all.filter(({ name }) => name === 'alone'),
      ];
      const long = all.filter(each => each.isLong && !alone.includes(each));
      const labels = [...short, ...long].flatMap(({ name }) => ['--label', name]);
      const other = rig.worker('other', '--slots', '4', ...labels);
      await other.until('started');
      const jobs = async (which: string) =>
        (await rig.sql(`select 1 from ralph_jobs.job where state = 'active' and ${which}`)).length;
      await rig.until(
        'a sign of life of each',
        async () => (await jobs('heartbeat_on > started_on')) === all.length,
      );
      for (const { host, how } of all) host.cut(how);
      for (const { gate } of short) gate.open('done');
      for (const { gate } of long) gate.open('zombie');
      const isSilent = "heartbeat_on < now() - interval '4 seconds'";
      await rig.until('a silence of 4 s', async () => (await jobs(isSilent)) === all.length);
      for (const { host } of short) host.restore();
      // Only now: else the time of those who stay away could be over before anybody has looked.
      await setLease(
        10,
        [...long, ...alone].map(({ unit }) => unit),
      );
      for (const { unit } of [...short, ...long]) await rig.untilState(unit, 'done');
      for (const { unit } of short) await expectEnded(rig, unit, { fence: 1, turns: 1 });
      for (const { unit } of long) await expectEnded(rig, unit, { fence: 2, turns: 2 });
      const before = await Promise.all(long.map(({ unit }) => standing(rig, unit)));
      for (const { host } of [...long, ...alone]) host.restore();
      for (const { worker } of long) {
        await worker.until('  lost');
        worker.process.kill('SIGTERM');
        expect((await worker.finished).code).toBe(0);
      }
      expect(await Promise.all(long.map(({ unit }) => standing(rig, unit)))).toEqual(before);
      // It still has its turn, and room for more.
      const more = await rig.submit(...CHECKED, '--need', 'alone');
      await rig.untilState(more, 'done');
      for (const { gate, unit } of alone) {
        gate.open('done');
        await rig.untilState(unit, 'done');
        await expectEnded(rig, unit, { fence: 1, turns: 1 });
      }
    },
  );
});
