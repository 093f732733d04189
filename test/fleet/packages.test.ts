import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGES } from '../../src/fleet/database.ts';
import { BIN, testEnv } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';

test('without the packages the fleet says how to install them, and every other command works', () => {
  // Where no node_modules is above it, as in a global installation of Ralph alone.
  const { dir, path } = folder('ralph-alone-');
  cpSync(dirname(BIN), path('dist/bin'), { recursive: true });
  cpSync(join(dirname(BIN), '../../package.json'), path('package.json'));
  const ralph = (env: Readonly<Record<string, string>>, ...args: string[]) =>
    spawnSync(process.execPath, [path('dist/bin/ralph.cjs'), ...args], {
      cwd: dir,
      env: testEnv({ env }),
      encoding: 'utf8',
    });
  const url = 'postgres://ralph:s3cret@127.0.0.1:1/ralph';
  const { status, stderr } = ralph({}, 'fleet', 'up', '--database', url);
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringContaining(`npm install ${PACKAGES.join(' ')}`),
  });
  // Nor is a server begun that nobody could use.
  const home = folder('ralph-home-');
  const alone = ralph({ HOME: home.dir, XDG_STATE_HOME: home.path('state') }, 'fleet', 'up');
  expect([alone.status, alone.stderr]).toEqual([2, expect.stringContaining('npm install pg-boss')]);
  expect(existsSync(home.path('state/ralph/fleet'))).toBe(false);
  expect(ralph({}, '--version').stdout.trim()).toBe(
    JSON.parse(readFileSync(path('package.json'), 'utf8')).version,
  );
});
