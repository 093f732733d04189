import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commitPaths } from '../../src/workspace/commit-paths.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { readStaged } from '../../src/workspace/user-index.ts';
import { gitEnv, repo, stateEnv } from '../rig/repo.ts';

test('a commit of some paths writes their entries alone, and keeps what they replace', async () => {
  const project = repo({ a: 'a\n', b: 'b\n' });
  for (const name of ['a', 'b']) {
    project.write(name, `staged ${name}\n`);
    project.git('add', name);
  }
  project.write('a', 'now\n');
  const env = stateEnv();
  const made = await commitPaths({ cwd: project.dir, env }, [project.path('a')], 'one');
  expect(made).toMatchObject({
    done: true,
    why: expect.stringContaining('refs/ralph/kept/archive/_staged/'),
  });
  expect(project.git('status', '--porcelain')).toBe('M  b\n');
  const ref = /refs\/\S+?(?=`)/.exec(made.why)?.[0] ?? '';
  expect(project.git('show', `${ref}:a`)).toBe('staged a\n');
});

test('what is staged is read with its conflicts, and names of any bytes', async () => {
  const project = repo({ a: 'a\n', gone: 'gone\n' });
  project.write('new', 'a\n');
  project.git('add', 'new');
  project.git('rm', '--quiet', 'gone');
  project.write('later', 'later\n');
  project.git('add', '--intent-to-add', 'later');
  const oid = project.git('rev-parse', 'HEAD:a').trim();
  // A conflict, and a name that is not UTF-8.
  const lines = [`0 ${'0'.repeat(40)}\ta`, ...[1, 2, 3].map(stage => `100644 ${oid} ${stage}\ta`)];
  const input = Buffer.from([...lines, `100644 ${oid}\t\xff`, ''].join('\0'), 'latin1');
  execFileSync('git', ['update-index', '-z', '--index-info'], { cwd: project.dir, env: gitEnv(), input });
  const own = await openOwnGit({ cwd: project.dir, env: stateEnv() });
  if ('what' in own) throw new Error(own.what);
  expect(await readStaged(own, 'HEAD')).toEqual({
    entries: [`100644 ${oid}\tnew`, `100644 ${oid}\t\xff`],
    unmerged: ['a'],
  });
});
