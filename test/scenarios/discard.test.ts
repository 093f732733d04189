/** `ralph discard`: what a run left goes, and the command that it prints brings it back. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ralph } from '../rig/commands.ts';
import { everything, loopEnded } from '../rig/ended-run.ts';
import { rigFor } from '../rig/lanes.ts';
import { gitEnv, type Repo, repo } from '../rig/repo.ts';

const FILES = {
  'README.md': '# test\n',
  'a.txt': '1\n2\n3\n4\n5\n6\n7\n',
  'b.txt': 'b\n',
  '.gitignore': '.ralph/\nlocal\n',
};

async function discard(work: Repo, ...args: readonly string[]) {
  const ended = await ralph(['discard', '--json', ...args], { cwd: work.dir });
  expect(ended.code, ended.stderr).toBe(0);
  return JSON.parse(ended.stdout);
}

/** As a user pastes it, wherever that is. */
function paste(commands: readonly string[]) {
  for (const command of commands)
    execFileSync('sh', ['-ec', command], { cwd: '/', env: gitEnv(), stdio: 'pipe' });
}

test('a worktree and its branch go, with what is not committed, and can be brought back', {
  tags: ['promise', 'P-discard'],
}, async () => {
  const work = repo(FILES);
  await loopEnded(work, {
    script: 'echo c > c.txt; git add c.txt; git commit --quiet --message c; echo new > new.txt',
  });
  const before = everything(work);
  expect(await discard(work, '--dry-run')).toMatchObject({
    outcome: 'would_discard',
    removed: ['ralph/login'],
  });
  expect(everything(work)).toEqual(before);
  const { stdout } = await ralph(['discard'], { cwd: work.dir });
  const [first, second, back = ''] = stdout.split('\n');
  expect([first, second]).toEqual(['Removed the branch ralph/login and its worktree.', 'Bring it back:']);
  expect(existsSync(work.path('.ralph/worktrees/login'))).toBe(false);
  expect(work.git('branch', '--format=%(refname:short)')).toBe('main\n');
  expect(await discard(work)).toMatchObject({ outcome: 'nothing' });
  paste([back]);
  expect(work.read('.ralph/worktrees/login/new.txt')).toBe('new\n');
  const landed = await ralph(['land'], { cwd: work.dir });
  expect([landed.code, work.read('c.txt'), work.read('new.txt')]).toEqual([0, 'c\n', 'new\n']);
});

test('files in a worktree that nothing would bring back keep it, but with --force', async () => {
  const work = repo(FILES);
  await loopEnded(work, { script: 'echo new > new.txt; echo mine > local' });
  const refused = await ralph(['discard'], { cwd: work.dir });
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('that are nowhere else: local'),
  ]);
  expect(work.read('.ralph/worktrees/login/local')).toBe('mine\n');
  expect(await discard(work, '--force')).toMatchObject({ outcome: 'discarded' });
});

describe("in the user's own folder", () => {
  test('only what the run changed is undone, and can be brought back', { tags: 'promise' }, async () => {
    const work = repo({ ...FILES, 'gone.txt': 'gone\n' });
    work.write('a.txt', FILES['a.txt'].replace('1', 'mine'));
    work.write('b.txt', 'staged\n');
    work.git('add', 'b.txt');
    work.write('mine.txt', 'mine\n');
    const before = everything(work);
    const script =
      'echo new > new.txt; sed -i s/7/seven/ a.txt; rm gone.txt; chmod +x README.md; git add new.txt; ln -s a.txt link';
    await loopEnded(work, { script, args: [] });
    work.write('later.txt', 'later\n');
    const after = work.git('diff', 'HEAD', '--', '.', ':!new.txt');
    const { back, files } = await discard(work);
    expect(files).toEqual(['README.md', 'a.txt', 'gone.txt', 'link', 'new.txt']);
    const { status, refs: _, ...rest } = everything(work);
    expect(status).toBe(before.status.replace('?? mine.txt', '?? later.txt\n?? mine.txt'));
    expect(rest).toEqual({ ...rest, index: before.index, diff: before.diff, head: before.head });
    expect((await ralph(['land'], { cwd: work.dir })).stdout).toContain('Nothing to land');
    paste(back);
    expect(work.git('diff', 'HEAD', '--', '.', ':!new.txt')).toBe(after);
    expect(work.read('new.txt')).toBe('new\n');
    expect((await ralph(['land'], { cwd: work.dir })).stdout).toContain('Landed on main: 5 files');
  });

  test('what the user has changed since in the same lines is refused, and nothing is changed', async () => {
    const work = repo(FILES);
    await loopEnded(work, { script: 'sed -i s/7/seven/ a.txt; echo new > new.txt', args: [] });
    work.write('a.txt', FILES['a.txt'].replace('7', 'my seven'));
    const before = everything(work);
    const ended = await ralph(['discard'], { cwd: work.dir });
    expect([ended.code, ended.stdout]).toEqual([
      1,
      expect.stringContaining('Nothing was changed.\n  a.txt (text)\n'),
    ]);
    expect(everything(work)).toEqual(before);
  });
});

test('a parallel run goes with its lanes, and what has landed can be brought back', async () => {
  const rig = rigFor(repo({ ...FILES, 'tasks.md': '- [ ] Add one\n- [ ] Add two\n' }));
  const { project, options } = rig;
  rig.does(
    'T1',
    'task',
    `mkdir -p work; echo T1 > work/T1.txt; cd '${project.dir}'; git commit --quiet --allow-empty --message meanwhile`,
  );
  const words = ['--tasks', 'tasks.md', '--parallel', '2', '--check', 'test -f README.md'];
  await ralph(['loop', '--agent', 'claude', ...words], options);
  const { back } = await discard(project);
  expect(project.git('branch', '--format=%(refname:short)')).toBe('main\n');
  expect((await ralph(['land'], { cwd: project.dir })).stdout).toContain('Nothing to land');
  paste(back);
  const landed = await ralph(['land'], { cwd: project.dir });
  expect([landed.code, project.read('work/T1.txt'), project.read('work/T2.txt')]).toEqual([
    0,
    'T1\n',
    'T2\n',
  ]);
});
