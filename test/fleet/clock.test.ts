/** Machines whose clocks are two hours apart: only that of the database counts. */
import { expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { unitBudget } from '../../src/fleet/budget.ts';
import { openFleet } from '../../src/fleet/open.ts';
import { readFleet } from '../../src/fleet/view.ts';
import { clockMissing, machineWithClock } from '../rig/clock.ts';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { CHECKED, expectEnded } from './ended.ts';

const AN_HOUR = 3_600_000;
const why = clockMissing();

describeWithPostgres('clocks that differ', () => {
  const postgres = sharedPostgres();

  test.skipIf(why !== undefined)(
    `neither shorten a lease nor use up the time of a unit${why ? ` (skipped: ${why})` : ''}`,
    async () => {
      const rig = fleetRig(await postgres().createDatabase());
      const gate = rig.gate('gate');
      rig.does(
        'echo 1 > first.txt; echo no > work.txt',
        `touch "$FLEET_AGENT/turn"; read x < "${gate.path}"`,
        'echo done > work.txt',
      );
      const unit = await rig.submit(...CHECKED, '--max-time', '600');
      const one = rig.workerOn(machineWithClock('+1h'), 'ahead');
      await rig.until('the second turn', () => rig.reached('turn'));
      const two = rig.workerOn(machineWithClock('-1h'), 'behind');
      await two.until('started');
      const [killed] = await rig.sql('select now() as at');
      one.process.kill('SIGKILL');
      await rig.untilState(unit, 'done');
      await expectEnded(rig, unit, { fence: 2, turns: 3 });
      const [row] = await rig.sql(
        "select extract(epoch from ended_at - $2)::int as later, ended_at - started_at < interval '5 minutes' as quick from ralph.unit where id = $1",
        unit,
        killed?.at,
      );
      expect(row?.quick).toBe(true);
      // A sign of life is sent each 3 s and counts for 10.
      expect(row?.later).toBeGreaterThanOrEqual(7);
      const lines = await rig.sql('select line from ralph.event where unit = $1 order by seq', unit);
      const [first, last] = [lines[0], lines.at(-1)].map(each => JSON.parse(String(each?.line)));
      expect(Date.parse(last.at) - Date.parse(first.at)).toBeLessThan(-1.9 * AN_HOUR);
      expect(last.result.totalDuration).toBeLessThan(600);
      gate.open();
    },
  );

  test('do not change when a limit of an account is over, nor what is shown', async () => {
    const database = await openFleet({ database: await postgres().createDatabase() }, {});
    if (isProblem(database)) throw new Error(database.what);
    try {
      await database.query("insert into ralph.account (id) values ('claude')");
      const seenBy = (off: number) => {
        const now = () => Date.now() + off;
        const unit = { id: `u${off}`, fence: 1, budget: null, account: 'claude' };
        const cut = new AbortController().signal;
        return { now, ...unitBudget({ database, unit, now, cut }) };
      };
      const [ahead, behind] = [seenBy(AN_HOUR), seenBy(-AN_HOUR)];
      ahead.accounts.limited('claude', ahead.now() + 60_000);
      const left = async () =>
        Number((await readFleet(database, { words: '', all: true })).accounts[0]?.limited ?? 0);
      await expect.poll(left).toBeGreaterThan(0);
      expect(await left()).toBeLessThanOrEqual(60);
      await behind.accounts.enter('claude', new AbortController().signal, 1);
      expect(behind.accounts.until('claude') - behind.now()).toBeGreaterThan(30_000);
      expect(behind.accounts.until('claude') - behind.now()).toBeLessThanOrEqual(60_000);
    } finally {
      await database.close();
    }
  });
});
