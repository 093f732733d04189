import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readStatus } from '../../src/workspace/tree-status.ts';
import { folder, repo, stateEnv } from '../rig/repo.ts';

/** A git before the real one that writes down what it was asked. */
function spied() {
  const place = folder('spied');
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  place.script('bin/git', `echo "$1" >> '${place.path('asked')}'\nexec '${real}' "$@"`);
  const rest = stateEnv();
  const env = { ...rest, PATH: `${place.path('bin')}:${rest.PATH}` };
  return {
    /** The programs that one look has started. */
    async look(cwd: string) {
      rmSync(place.path('asked'), { force: true });
      const status = await readStatus({ cwd, env });
      const log = place.path('asked');
      const asked = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').sort() : [];
      return { status, asked };
    },
  };
}

describe('a second look at the same files', () => {
  test('costs one listing of them, and no question where HEAD stands', { tags: 'promise' }, async () => {
    const work = repo();
    const { look } = spied();
    await look(work.dir);
    expect((await look(work.dir)).asked).toEqual(['ls-files']);
  });

  test('costs nothing where there is no repository, until there is one', async () => {
    const work = folder();
    const { look } = spied();
    expect((await look(work.dir)).status).toHaveProperty('what');
    expect((await look(work.dir)).asked).toEqual([]);
    work.git('init', '--quiet');
    expect((await look(work.dir)).status).toHaveProperty('tree');
  });
});

test('a filter that comes later is not run', async () => {
  const work = repo({ '.gitattributes': '* filter=evil\n', a: 'a\n' });
  const { look } = spied();
  const before = await look(work.dir);
  work.git('config', 'filter.evil.clean', `touch '${work.path('ran')}'; cat`);
  work.write('a', 'b\n');
  expect((await look(work.dir)).status).not.toMatchObject({ tree: Reflect.get(before.status, 'tree') });
  expect(existsSync(work.path('ran'))).toBe(false);
});
