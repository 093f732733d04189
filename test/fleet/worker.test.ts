/** Units on real workers: processes, git and PostgreSQL are real. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { HIDDEN } from '../../src/domain/text/secret-formats.ts';
import { admit } from '../../src/fleet/admission.ts';
import { FLEET_VERSION } from '../../src/fleet/migrations.ts';
import { openFleet } from '../../src/fleet/open.ts';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { CHECKED, untilShown } from './ended.ts';

describeWithPostgres('a worker', () => {
  const postgres = sharedPostgres();

  test('works on a loop until it is proven, and its branch is in the remote', {
    tags: ['promise', 'P-fleet'],
  }, async () => {
    const rig = fleetRig(await postgres().createDatabase(), undefined, {
      PGPASSWORD: 'a-password-of-the-test',
    });
    const seen = (who: string) => `env > "$FLEET_AGENT/${who}"`;
    const secret = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
    const says = `echo "$MY_TOKEN" > said.txt; echo "$MY_TOKEN"`;
    rig.does(`${seen('agent')}; ${says}; echo no > work.txt`, 'rm said.txt; echo done > work.txt');
    const unit = await rig.submit('Write it', '--check', `${seen('check')}; ${says}; grep -q done work.txt`);
    const worker = rig.workerOn({ env: { MY_TOKEN: secret } }, 'one', '--once', '--json');
    const { code, stdout, stderr } = await worker.finished;
    expect(code, stdout).toBe(0);
    for (const who of ['agent', 'check'])
      expect(readFileSync(join(rig.env.FLEET_AGENT ?? '', who), 'utf8')).not.toMatch(
        /a-password-of-the-test/,
      );
    const rows = await rig.sql(
      "select string_agg(line, '') as a from ralph.event union all select string_agg(convert_from(content, 'utf8'), '') from ralph.artifact union all select string_agg(u::text, '') from ralph.unit u",
    );
    const texts = [...rows.map(({ a }) => String(a)), stdout, stderr];
    expect(texts.filter(text => text.includes(secret) || text.includes('a-password-of-the-test'))).toEqual(
      [],
    );
    expect(texts[1]).toContain(HIDDEN);
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

  test('takes nothing of a repository that its owner has not allowed, also when another worker would have', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const theirs = await rig.submit('Write it', '--check', 'grep -q done work.txt');
    const database = await openFleet({ database: rig.env.RALPH_DATABASE_URL }, {});
    if (isProblem(database)) throw new Error(database.what);
    expect(await admit(database, { free: 1, labels: ['claude'], version: FLEET_VERSION, repos: [] })).toBe(1);
    await database.close();
    const repo = ['--repo', `file://${rig.remote.dir}`];
    const ours = await rig.submit('Write it', '--check', 'grep -q done work.txt', ...repo);
    const only = rig.worker('one', '--once', '--allow-repo', 'file://*');
    await rig.untilState(ours, 'done');
    await rig.untilState(theirs, 'admitted');
    const waits = async () => (await rig.units()).find(({ id }) => id === theirs)?.waitsFor;
    // Nothing is left that it may take: it ends, whatever others could.
    expect((await only.finished).code).toBe(0);
    expect(await waits()).toBe('waits for a worker: none is running');
    rig.worker('two', '--allow-repo', 'file://*');
    await expect
      .poll(waits, { timeout: 60_000 })
      .toBe(
        `waits for a worker that allows ${rig.remote.dir}: none does. Start one without --allow-repo, or with one that fits`,
      );
  });

  test('commits as the settings say, and leaves pushing to Ralph', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    rig.project.settings({ scm: { command: 'git', tasks: ['commit', 'push'] } });
    rig.project.git('add', '--force', '.ralph/settings.json');
    rig.project.git('commit', '--quiet', '-m', 'settings');
    rig.project.git('push', '--quiet', 'origin', 'main');
    expect(await rig.fleet('submit', 'loop', ...CHECKED, '--agent', 'claude', '--quiet')).toMatch(/^\S+\n$/);
    const submitted = await rig.fleet('submit', 'loop', ...CHECKED, '--agent', 'claude');
    expect(submitted).toContain('Left out of scm.tasks: push.');
    const unit = submitted.split('\n', 1)[0] ?? '';
    rig.does('echo 1 > first.txt; echo done > work.txt');
    rig.worker('one');
    await rig.untilState(unit, 'done');
    await untilShown(rig, unit);
    const lines = await rig.sql("select line from ralph.event where unit = $1 and type = 'scm'", unit);
    expect(lines.map(({ line }) => JSON.parse(String(line)).task)).toEqual(['commit']);
    expect(rig.remote.git('show', `ralph/${unit}:work.txt`)).toBe('done\n');
  });
});
