import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/fleet/migrations.ts';
import { checkSchema } from '../../src/fleet/open.ts';
import { findPostgres } from '../../src/fleet/programs.ts';
import { prepare } from '../../src/fleet/server.ts';
import { describeWithPostgres, openedDatabase, sharedPostgres } from '../rig/postgres.ts';
import { folder } from '../rig/repo.ts';

const bin = findPostgres(process.env, tmpdir()) ?? '';

/** The shell commands of a section of the page, as a reader would paste them. */
function commandsOf(heading: string): readonly string[] {
  const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/use-many-machines.md'), 'utf8');
  const section = page.split(/^## /m).find(each => each.startsWith(heading)) ?? '';
  const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  return blocks.flatMap(block => block.trim().split('\n'));
}

describeWithPostgres('backing up', () => {
  const postgres = sharedPostgres();

  test.skipIf(!existsSync(join(bin, 'pg_dump')))(
    'what the page says dumps a fleet and restores it',
    async () => {
      const [dump = '', drop = '', restore = '', up] = commandsOf('Backing up');
      expect(up).toBe('ralph fleet up');
      // A role that owns its database and nothing else, as the one of `ralph fleet up`.
      await postgres().sql("create role keeper login password 'k'");
      const own = async () => {
        const url = await postgres().createDatabase();
        await postgres().sql(`alter database ${url.split('/').at(-1)} owner to keeper`);
        return url.replace(/\/\/ralph:[^@]*/, '//keeper:k');
      };
      const [from, to] = [await own(), await own()];
      expect(await prepare(from, {})).toMatchObject({ schema: { from: 0 } });
      const before = await openedDatabase(from);
      await before.boss.start();
      await before.boss.createQueue('units');
      const id = await before.boss.send('units', { unit: 'u1' });

      const { dir } = folder();
      const shell = (command: string, url: string) =>
        execFileSync('sh', ['-c', command], {
          cwd: dir,
          env: { PATH: `${bin}:${process.env.PATH}`, RALPH_DATABASE_URL: url },
          stdio: 'pipe',
        });
      expect(await prepare(to, {})).toMatchObject({ schema: { from: 0 } });
      shell(dump, from);
      for (const command of [drop, restore]) shell(command, to);
      expect(await prepare(to, {})).toMatchObject({ schema: { from: MIGRATIONS.length } });
      const after = await openedDatabase(to);
      expect(await checkSchema(after, MIGRATIONS)).toBeUndefined();
      await after.boss.start();
      expect(await after.boss.fetch('units')).toMatchObject([{ id, data: { unit: 'u1' } }]);
    },
  );
});
