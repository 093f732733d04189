/** What cannot be submitted is refused before anybody works on it. None of it reaches a database. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ralph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

const LOOP = ['fleet', 'submit', 'loop', 'Write it', '--check', 'true', '--agent', 'claude'];

test.each([
  ['several attempts', ['--best-of', '3'], '--best-of: a fleet makes one attempt at a task'],
  ['tasks side by side', ['--parallel', '2'], '--parallel: there is one task, and nothing beside it'],
  ['a list of tasks and a task', ['--tasks', 'tasks.md'], '--tasks: the tasks are in the file'],
  ['a password in the address', ['--repo', 'https://ada:secret@example.org/x'], 'there is a password in it'],
  [
    'a token in the address',
    ['--repo', 'https://ghp_16C7e42F292c6912E7710c838347Ae178B4a@example.org/x'],
    'there is a password in it',
  ],
  [
    'a secret of the environment',
    ['--check', 'curl -H s3cr3t-of-the-test'],
    'there is a secret of your environment in it',
  ],
  ['no check', [], undefined],
] as const)('%s', async (_what, more, words) => {
  const project = repo();
  const { dir: remote } = folder('ralph-remote-');
  project.git('remote', 'add', 'origin', remote);
  const env = { SOME_TOKEN: 's3cr3t-of-the-test' };
  const args =
    words === undefined ? LOOP.filter(word => word !== '--check' && word !== 'true') : [...LOOP, ...more];
  const { code, stdout, stderr } = await ralph(args, { cwd: project.dir, env });
  expect([code, stdout + stderr]).toEqual([2, expect.stringContaining(words ?? 'at least one is needed')]);
  expect(stdout + stderr).not.toMatch(/ada:secret|ghp_16/);
});

test.each([
  ['that is not committed', undefined, 'tasks.md: the commit', 'has no such file'],
  ['in which all is done', '- [x] One\n', '--tasks tasks.md: there is no open task in it at'],
  ['that leads out of the repository', 'none', '../tasks.md: the commit', 'has no such file'],
] as const)('a list of tasks %s', async (_what, tasks, ...words) => {
  const project = repo({ 'README.md': '# x\n', ...(tasks !== undefined && { 'tasks.md': tasks }) });
  const remote = folder('ralph-remote-');
  remote.git('init', '--quiet', '--bare');
  project.git('push', '--quiet', remote.dir, 'HEAD:refs/heads/main');
  const file = tasks === 'none' ? './../tasks.md' : './tasks.md';
  project.write('tasks.md', '- [ ] One that is not committed\n');
  const args = ['fleet', 'submit', 'loop', '--tasks', file, '--check', 'true', '--repo', remote.dir];
  const { code, stderr } = await ralph(args, { cwd: project.dir });
  expect(code).toBe(2);
  for (const each of words) expect(stderr).toContain(each);
});

test('a worker that would tell everybody a password', async () => {
  const args = ['worker', '--allow-repo', 'https://ada:secret@example.org/*', '--allow-repo', '*'];
  const { code, stdout, stderr } = await ralph(args, { cwd: folder('ralph-worker-').dir });
  expect([code, stdout + stderr]).toEqual([
    2,
    expect.stringContaining('--allow-repo: there is a password in it'),
  ]);
  expect(stdout + stderr).not.toContain('ada:secret');
});

test('a project in a folder of its repository', async () => {
  const project = repo();
  project.write('part/.ralph/settings.json', '{}');
  const { code, stderr } = await ralph(LOOP, { cwd: join(project.dir, 'part') });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('the project is the folder part/ of its repository'),
  ]);
});
