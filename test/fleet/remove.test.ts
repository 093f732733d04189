/** Old units go, with all that is ours of them; what came of them stays. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fleetRig } from '../rig/fleet.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { CHECKED } from './ended.ts';

describeWithPostgres('units that are over', () => {
  const postgres = sharedPostgres();

  test('are removed by name or by age, and others are not', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const units: string[] = [];
    for (let at = 0; at < 3; at++) units.push(await rig.submit(...CHECKED));
    const [first = '', second = '', third = ''] = units;
    await expect(rig.fleet('remove', first)).rejects.toThrow('it is not over: ready');
    for (const unit of [first, second]) {
      await rig.fleet('cancel', unit);
      rig.project.git(
        'push',
        '--quiet',
        'origin',
        `HEAD:refs/ralph/${unit}/1/carry`,
        `HEAD:refs/heads/ralph/${unit}`,
      );
      await rig.sql("insert into ralph.event values ($1, 1, 1, 'notice', '{}')", unit);
      await rig.sql("insert into ralph.artifact values ($1, 'task.md', '', '')", unit);
      await rig.sql("insert into ralph.command (unit, body, given_by) values ($1, '{}', 'ada')", unit);
    }
    const left = async () => {
      const tables = ['unit', 'event', 'artifact', 'command'];
      const counts = tables.map(table => `(select count(*)::int from ralph.${table}) as ${table}`);
      return (await rig.sql(`select ${counts.join(', ')}`))[0];
    };
    const refs = () => rig.remote.git('for-each-ref', '--format=%(refname)').trim().split('\n');
    expect(await rig.fleet('remove', first)).toContain('Removed 1 unit.');
    expect(await left()).toEqual({ unit: 2, event: 1, artifact: 1, command: 1 });
    expect(refs()).not.toContain(`refs/ralph/${first}/1/carry`);
    expect(refs()).toContain(`refs/heads/ralph/${first}`);
    expect(await rig.fleet('remove', '--older-than', '1h')).toContain('Removed 0 units.');
    await rig.sql("update ralph.unit set ended_at = now() - interval '2 hours' where ended_at is not null");
    expect(await rig.fleet('remove', '--older-than', '1h')).toContain('Removed 1 unit.');
    expect(await left()).toEqual({ unit: 1, event: 0, artifact: 0, command: 0 });
    expect((await rig.units()).map(({ id }) => id)).toEqual([third]);
    await expect(rig.fleet('remove')).rejects.toThrow('needs a unit or --older-than');
    await expect(rig.fleet('remove', '--older-than', '30')).rejects.toThrow('is no duration');
  });

  test('whose rows nobody can have submitted run nothing here, and touch no names of others', async () => {
    const rig = fleetRig(await postgres().createDatabase());
    const unit = await rig.submit(...CHECKED);
    rig.project.git('push', '--quiet', 'origin', `HEAD:refs/ralph/${unit}/1/carry`);
    const ran = rig.project.path('ran');
    const forged = async (id: string, url: string) =>
      rig.sql(
        `insert into ralph.unit (id, kind, title, owner, repo_url, base, config, account, min_version, state, ended_at)
         select $1, 'loop', 't', 'ada', $2, base, '{}', account, 1, 'stopped', now() - interval '2 hours' from ralph.unit limit 1`,
        ...[id, url],
      );
    await forged('option', `--upload-pack=touch ${ran};`);
    await forged('*', rig.remote.dir);
    expect(await rig.fleet('remove', '--older-than', '1h')).toContain('Removed 2 units.');
    expect(existsSync(ran)).toBe(false);
    expect(rig.remote.git('for-each-ref', '--format=%(refname)')).toContain(`refs/ralph/${unit}/1/carry`);
  });
});
