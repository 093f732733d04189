/** Databases that are full or slow, agents that are killed or print without end, workers that drain in a push: each unit ends once all the same. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FleetRig, fleetRig } from '../rig/fleet.ts';
import { LOGIN, serveGit } from '../rig/git-server.ts';
import { rigFor } from '../rig/lanes.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, repo, writeScript } from '../rig/repo.ts';
import { IS_CAMPAIGN } from '../rig/thorough.ts';
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
    rig.does(`head -c ${IS_CAMPAIGN ? 1_000_000_000 : 200_000_000} /dev/zero | tr '\\0' x >&2; ${WORK}`);
    const unit = await rig.submit(...CHECKED);
    rig.worker('one');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 1 });
    const [kept] = await rig.sql(
      'select coalesce(sum(length(content)), 0)::int as bytes from ralph.artifact',
    );
    expect(Number(kept?.bytes)).toBeLessThan(20_000_000);
  });

  test('whose repository wants a password is begun by a worker that has one, and no other hangs', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.does(WORK);
    const url = await serveGit(rig.remote);
    const login = folder().path('settings-of-git');
    const helper = `!f() { echo username=${LOGIN.name}; echo password=${LOGIN.password}; }; f`;
    writeFileSync(login, `[credential]\n\thelper = "${helper}"\n`);
    const order = ['fleet', 'submit', 'loop', ...CHECKED, '--repo', url, '--agent', 'claude', '--json'];
    const known = { ...rig.options, env: { ...rig.env, GIT_CONFIG_GLOBAL: login } };
    const { unit } = JSON.parse((await ralph(order, known)).stdout);
    const one = rig.worker('one');
    await one.until('cannot-begin');
    await rig.untilState(unit, 'parked');
    const [row] = await rig.sql('select detail from ralph.unit where id = $1', unit);
    expect(row?.detail).toMatch(/Username|Authentication|terminal prompts disabled/);
    one.process.kill('SIGTERM');
    expect((await one.finished).code).toBe(0);
    await rig.sql('update ralph.unit set ready_at = now()');
    const two = rig.workerOn({ env: { GIT_CONFIG_GLOBAL: login } }, 'two');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { turns: 1 });
    two.process.kill('SIGTERM');
    const { stdout, stderr } = await two.finished;
    const written = JSON.stringify([
      await rig.sql('select * from ralph.unit'),
      await rig.sql('select line from ralph.event'),
    ]);
    expect(stdout + stderr + written).not.toContain(LOGIN.password);
  });

  test('whose account is limited while four workers begin waits with them: one tries, and the others follow', async () => {
    const tasks = ['One', 'Two', 'Three', 'Four'].map(name => `- [ ] ${name}\n`).join('');
    const lanes = rigFor(repo({ 'README.md': '# test\n', 'tasks.md': tasks, '.gitignore': '.ralph/\n' }));
    writeFileSync(join(lanes.orders, 'limit'), JSON.stringify({ seconds: 8 }));
    const rig = fleetRig(await postgres().createDatabase(), lanes);
    const args = ['loop', '--tasks', 'tasks.md', '--check', 'true', '--agent', 'claude', '--json'];
    const { unit } = JSON.parse(await rig.fleet('submit', ...args));
    for (const name of ['one', 'two', 'three', 'four']) rig.worker(name, '--slots', '2');
    await rig.untilState(unit, 'done');
    expect(
      lanes
        .turns()
        .map(({ story }) => story.replace(/^.*\./, ''))
        .sort(),
    ).toEqual(['T1', 'T2', 'T3', 'T4']);
    const limited = readFileSync(join(lanes.orders, 'limited.log'), 'utf8').trim().split('\n');
    expect(limited.length, 'each has met it once at most').toBeLessThanOrEqual(4);
  });

  test('whose worker is told to end in a push is given back with its work, and another continues', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const { FLEET_AGENT: orders = '' } = rig.env;
    rig.does(`touch "${orders}/turned"; echo 1 > first.txt; echo no > work.txt`, WORK);
    const gate = rig.gate('gate');
    const hook = join(rig.remote.dir, 'hooks/pre-receive');
    const hold = `mkdir "${orders}/pushes" 2>/dev/null && read x < "${gate.path}"`;
    writeScript(hook, `test -e "${orders}/turned" || exit 0\n${hold}\nexit 0`);
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

  test('whose worker is told to end in a push that hangs is given back all the same, in time', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const { FLEET_AGENT: orders = '' } = rig.env;
    rig.does(`touch "${orders}/turned"; echo 1 > first.txt; echo no > work.txt`, WORK);
    const gate = rig.gate('gate');
    const hold = `mkdir "${orders}/pushes" 2>/dev/null && read x < "${gate.path}"`;
    writeScript(
      join(rig.remote.dir, 'hooks/pre-receive'),
      `test -e "${orders}/turned" || exit 0\n${hold}\nexit 0`,
    );
    const unit = await rig.submit(...CHECKED);
    const one = rig.worker('one');
    await rig.until('the push', () => rig.reached('pushes'));
    one.process.kill('SIGTERM');
    expect((await one.finished).code, 'nobody lets the push end').toBe(0);
    rig.worker('two');
    await rig.untilState(unit, 'done');
    await expectEnded(rig, unit, { fence: 2, turns: 2 });
    gate.open();
  });
});
