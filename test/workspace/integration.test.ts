/** What one commit takes away of what others have landed, whatever the files are and are called; and the branch on which it lands. */
import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { removedWork } from '../../src/parallel/merging.ts';
import { createIntegration } from '../../src/workspace/integration.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { moveBeforehand } from '../rig/moved-ref.ts';
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
    for (const name of ['a program', 'back', 'text']) write(name, 'old\n');
    write('list', 'open\n');
  });
  const one = step(project, () => {
    for (const name of ['-- a', '"b" ü\n', 'kind']) write(name, 'old\nline of one\n-- also\n');
    write('bytes', 'a\0b');
    write('text', 'old\nline of one\n');
    chmodSync(path('a program'), 0o755);
    rmSync(path('back'));
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
    write('text', 'old\n\0\n');
    chmodSync(path('a program'), 0o644);
    write('back', 'old\n');
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
    '1 line of a program of T1',
    'back of T1',
    'bytes of T1',
    'gone of T1',
    '2 lines of kind of T1',
    'text of T1',
  ]);
});

describe('the branch that shows what has landed', () => {
  const opened = async (pathOf = (_: Repo) => process.env.PATH) => {
    const project = repo();
    const [base, landed, mine] = [
      project.git('rev-parse', 'HEAD').trim(),
      step(project, () => project.write('landed', '1\n')),
      step(project, () => project.write('mine', '2\n')),
    ];
    project.git('update-ref', SHOWN, base);
    const own = await openOwnGit({ cwd: project.dir, env: { ...process.env, PATH: pathOf(project) } });
    if (isProblem(own)) throw new Error(own.what);
    expect(await own.bring(landed)).toBeUndefined();
    const integration = createIntegration(own, 'run');
    await integration.swap(undefined, landed);
    return { project, integration, base, landed, mine };
  };
  const SHOWN = 'refs/heads/ralph/run/_int';

  test('keeps what somebody else has put there, and says where', async () => {
    const { project, integration, base, landed, mine } = await opened();
    project.git('update-ref', SHOWN, mine);
    const said = await integration.publish(base);
    const kept = /`git log (\S+)`/.exec(said ?? '')?.[1] ?? '';
    expect(said).toContain(`ralph/run/_int was moved to ${mine}`);
    expect(project.git('rev-parse', kept, SHOWN).trim().split('\n')).toEqual([mine, landed]);
    expect(await integration.publish(landed), 'said once').toBeUndefined();
  });

  test('is left where somebody puts it in that very moment, and kept when it is moved the next time', async () => {
    const late = { git: 'update-ref --no-deref refs/heads', ref: SHOWN, to: 'main' };
    const { project, integration, base, landed, mine } = await opened(at =>
      moveBeforehand({ ...late, project: at }),
    );
    expect(await integration.publish(base)).toContain('cannot be moved');
    expect(project.git('rev-parse', SHOWN).trim()).toBe(mine);
    expect(await integration.publish(base)).toContain('is kept');
    expect(project.git('rev-parse', SHOWN).trim()).toBe(landed);
  });
});
