/** What one commit takes away of what others have landed, whatever the files are and are called. */
import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { removedWork } from '../../src/parallel/merging.ts';
import { createIntegration } from '../../src/workspace/integration.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { type Repo, repo } from '../rig/repo.ts';

/** A commit of all files as this leaves them. */
function step(project: Repo, change: () => void): string {
  change();
  project.git('add', '-A');
  project.git('commit', '-qm', 'a step');
  return project.git('rev-parse', 'HEAD').trim();
}

test('names it once each, and says nothing of the rest', async () => {
  const project = repo();
  const { path, write } = project;
  const base = step(project, () => {
    for (const name of ['-- a', '"b" ü\n', 'kind', 'mode', 'users']) write(name, 'old\n');
    write('list', 'open\n');
  });
  const one = step(project, () => {
    for (const name of ['-- a', '"b" ü\n', 'kind']) write(name, 'old\nline of one\n-- also\n');
    write('bytes', 'a\0b');
    write('gone', 'new\n');
    write('list', 'done\n');
  });
  const two = step(project, () => write('two', 'two\n'));
  const after = step(project, () => {
    write('-- a', 'old\n');
    write('"b" ü\n', 'old\nline of one\n');
    rmSync(path('kind'));
    symlinkSync('mode', path('kind'));
    chmodSync(path('mode'), 0o755);
    write('bytes', 'a\0c');
    rmSync(path('gone'));
    write('list', 'open\n');
    write('users', 'new\n');
    write('two', 'two\nmore\n');
  });
  const own = await openOwnGit({ cwd: project.dir, env: process.env });
  if (isProblem(own)) throw new Error(own.what);
  expect(await own.bring(after, true)).toBeUndefined();
  const landed = [
    { story: 'T1', commit: one },
    { story: 'T2', commit: two },
  ];
  const removed = await removedWork(
    createIntegration(own, 'run'),
    { base, landed },
    { tip: two, commit: after },
    ['list'],
  );
  expect(removed).toEqual([
    '1 line of "b" ü\n of T1',
    '2 lines of -- a of T1',
    '1 line of bytes of T1',
    'gone of T1',
    '2 lines of kind of T1',
  ]);
});
