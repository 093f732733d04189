import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readStatus } from '../../src/workspace/tree-status.ts';
import { folder, gitEnv, type Repo, repo } from '../rig/repo.ts';

/** A git before the real one that writes down what it was asked. Its home is a folder of its own. */
function spied() {
  const place = folder('spied');
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  place.write('bin/git', `#!/bin/sh\necho "$1" >> '${place.path('asked')}'\nexec '${real}' "$@"\n`);
  chmodSync(place.path('bin/git'), 0o755);
  mkdirSync(place.path('home'));
  const { PATH, GIT_CONFIG_GLOBAL: _, ...rest } = gitEnv();
  const env = { ...rest, PATH: `${place.path('bin')}:${PATH}`, HOME: place.path('home') };
  return {
    env,
    home: place.path('home'),
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

const ALL = ['config', 'rev-parse', 'status'];

describe('a second look at the same files', () => {
  test('costs one git status', async () => {
    const work = repo();
    const { look } = spied();
    expect((await look(work.dir)).asked).toEqual(ALL);
    work.write('README.md', 'changed\n');
    work.git('commit', '-qam', 'more');
    work.write('new', '');
    const { asked, status } = await look(work.dir);
    expect(asked).toEqual(['status']);
    expect(status).toMatchObject({ entries: [{ path: 'new' }] });
  });

  test('costs nothing where there is no repository, until there is one', async () => {
    const work = folder();
    const { look } = spied();
    expect((await look(work.dir)).status).toHaveProperty('what');
    expect((await look(work.dir)).asked).toEqual([]);
    work.git('init', '--quiet');
    expect((await look(work.dir)).status).toMatchObject({ head: '(initial)' });
  });
});

describe('git is asked again', () => {
  const changes: Readonly<Record<string, (work: Repo, home: string) => void>> = {
    'after a change of its settings': work => void work.git('config', 'filter.x.clean', 'true'),
    "after a change of the user's settings": (_, home) =>
      writeFileSync(join(home, '.gitconfig'), '[filter "x"]\n\tclean = true\n'),
    "when the user's settings are in the other place": (_, home) => {
      mkdirSync(join(home, '.config/git'), { recursive: true });
      writeFileSync(join(home, '.config/git/config'), '[filter "x"]\n\tclean = true\n');
    },
    'when it is another repository': work => {
      rmSync(work.path('.git'), { recursive: true });
      work.git('init', '--quiet');
    },
    'when the folder has a repository of its own': work =>
      void execFileSync('git', ['init', '-q', work.path('below')], { env: gitEnv() }),
  };
  test.for(Object.entries(changes))('%s', async ([, change]) => {
    const work = repo({ 'below/a': 'a\n' });
    const { look, home } = spied();
    await look(work.path('below'));
    change(work, home);
    expect((await look(work.path('below'))).asked).toEqual(ALL);
    expect((await look(work.path('below'))).asked).toEqual(['status']);
  });

  test('every time, when settings include others', async () => {
    const work = repo();
    work.git('config', 'include.path', '../more');
    const { look } = spied();
    await look(work.dir);
    expect((await look(work.dir)).asked).toEqual(['config', 'status']);
  });
});

test('a filter that comes later is not run', async () => {
  const work = repo({ '.gitattributes': '* filter=evil\n', a: 'a\n' });
  const { look } = spied();
  await look(work.dir);
  work.git('config', 'filter.evil.clean', `touch '${work.path('ran')}'; cat`);
  work.write('a', 'b\n');
  expect((await look(work.dir)).status).toMatchObject({ entries: [{ path: 'a' }] });
  expect(existsSync(work.path('ran'))).toBe(false);
});
