/** The page of all machines: the units of a fleet as runs, live from the database, behind the protections of every dashboard. */
import { expect, test, vi } from 'vitest';
import { ask, dashboardOf, listen, listenTo } from '../dashboard/serve.ts';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';

describeWithPostgres('the dashboard of a fleet', () => {
  const postgres = sharedPostgres();

  test('lists units, shows one live from another machine, steers it, and trusts no request', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const gate = rig.gate('gate');
    rig.does('echo no > work.txt', `echo 2 > second.txt; touch "$FLEET_AGENT/turn"; read x < "${gate.path}"`);
    const unit = await rig.submit('Write the letter', '--check', 'grep -q done work.txt');
    const port = await dashboardOf(rig.env.RALPH_DATABASE_URL ?? '');

    const list = listenTo(port, '/api/runs');
    const listed = async () => JSON.parse((await list.next()).value ?? '[]')[0].runs[0];
    expect(await listed()).toMatchObject({
      id: unit,
      title: 'Write the letter — waits for a worker: none is running',
      state: 'running',
      now: 'waiting',
    });
    const events = listen(port, `/api/0/${unit}/events`);
    rig.worker('one');
    await rig.until('the turn', () => rig.reached('turn'));
    let run = await listed();
    while (run.iteration === 0) run = await listed();
    expect(run).toMatchObject({ now: 'running', cost: 0.1, worker: expect.stringMatching(/^one-/) });
    const [{ lines }] = (await rig.sql(
      "select count(*)::int as lines from ralph.event where seq <= (select max(seq) from ralph.event where type = 'agent-started')",
    )) as [{ lines: number }];
    await events.until(lines);
    expect(events.told.map(({ id }) => id).slice(0, lines)).toEqual(
      Array.from({ length: lines }, (_, at) => at + 1),
    );
    await vi.waitFor(async () => {
      const { state, view, integrity } = JSON.parse((await ask(port, `/api/0/${unit}`)).body);
      expect([state, view.iterations.length, integrity.trust]).toEqual(['running', 2, { kind: 'intact' }]);
    }, 240_000);
    const detail = JSON.parse((await ask(port, `/api/0/${unit}/iterations/1`)).body);
    expect(JSON.stringify(detail.passages)).toContain('It is done.');

    const origin = { origin: `http://127.0.0.1:${port}`, 'content-type': 'application/json' };
    const order = { method: 'POST', headers: origin, body: '{"kind":"cancel","gently":false}' };
    const statuses = [
      ask(port, `/api/0/${unit}`, { headers: { 'x-ralph-token': 'wrong' } }),
      ask(port, `/api/0/${unit}/order`, { ...order, headers: { ...origin, origin: 'http://evil.test' } }),
      ask(port, '/api/0/..%2f..%2fsecret'),
      ask(port, `/api/1/${unit}`),
    ].map(async answer => (await answer).status);
    expect(await Promise.all(statuses)).toEqual([401, 403, 404, 404]);

    expect(JSON.parse((await ask(port, `/api/0/${unit}/order`, order)).body)).toMatchObject({ done: true });
    await rig.untilState(unit, 'cancelled');
    while (run.stopReason === null) run = await listed();
    expect(run).toMatchObject({ state: 'stopped', stopReason: 'cancelled' });
    expect(JSON.parse((await ask(port, `/api/0/${unit}/order`, order)).body)).toMatchObject({ done: false });
    const after = JSON.parse((await ask(port, `/api/0/${unit}/iterations/1`)).body);
    expect(after.diff.text).toContain('+no');
  });
});
