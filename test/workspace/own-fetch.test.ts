/** A fetch into Ralph's own directory brings a commit with its files, or not at all. */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { openStoryBranch } from '../../src/workspace/story-branch.ts';
import { folder, gitEnv, repo } from '../rig/repo.ts';

test('what is fetched arrives as one pack, never object by object', async () => {
  const { dir, git } = repo({ 'a.txt': 'a\n', 'b/c.txt': 'c\n' });
  const own = await openOwnGit({ cwd: dir, env: gitEnv() });
  if ('what' in own) throw new Error(own.what);
  const commit = git('rev-parse', 'HEAD').trim();
  expect(await own.treeOf(commit)).toBe(git('rev-parse', 'HEAD^{tree}').trim());
  const packs = readdirSync(join(own.objects.cwd, 'objects/pack')).filter(name => name.endsWith('.pack'));
  expect(packs.length).toBeGreaterThan(0);
  const loose = execFileSync('git', ['count-objects', '-v'], {
    cwd: own.objects.cwd,
    encoding: 'utf8',
    env: { ...process.env, GIT_DIR: own.objects.cwd },
  });
  const listed = execFileSync(
    'git',
    ['verify-pack', '-v', join(own.objects.cwd, 'objects/pack', packs[0] ?? '')],
    { encoding: 'utf8' },
  );
  expect(listed, loose).toContain(commit);
});

test.each([
  ['on what was known', []],
  ['on another branch, which nothing here leads to', ['checkout', '--quiet', 'other']],
])('a commit %s can be handed on: its history is here', async (_, before) => {
  const made = repo({ 'a.txt': 'a\n' });
  const { git } = made;
  git('branch', 'other');
  for (const branch of ['other', 'main']) {
    git('checkout', '--quiet', branch);
    for (const name of ['one', 'two']) {
      made.write(`${branch}-${name}.txt`, name);
      git('add', '--all');
      git('commit', '--quiet', '-m', name);
    }
  }
  const own = await openOwnGit({ cwd: made.dir, env: gitEnv() });
  if ('what' in own) throw new Error(own.what);
  expect(await own.treeOf(git('rev-parse', 'HEAD').trim())).toMatch(/^[0-9a-f]{40}$/);
  if (before.length > 0) git(...before);
  made.write('later.txt', 'later');
  git('add', '--all');
  git('commit', '--quiet', '-m', 'later');
  const commit = git('rev-parse', 'HEAD').trim();
  // Whoever only wants its files is not made to fetch all of it.
  expect(await own.treeOf(commit)).toBe(git('rev-parse', 'HEAD^{tree}').trim());
  expect(await own.bring(commit)).toBeUndefined();
  const remote = folder('ralph-remote-');
  remote.git('init', '--quiet', '--bare');
  git('push', '--quiet', remote.dir, 'HEAD^:refs/heads/there');
  const pushed = await own.objects.run(['push', '--quiet', remote.dir, `${commit}:refs/heads/new`]);
  expect(pushed.code, pushed.output).toBe(0);
  expect(remote.git('rev-list', '--count', 'new')).toBe('4\n');
});

test('work whose history was cut short here is built on where it began all the same', async () => {
  const made = repo({ 'a.txt': 'a\n' });
  const { git } = made;
  const base = git('rev-parse', 'HEAD').trim();
  git('checkout', '--quiet', '-b', 'lane');
  const own = await openOwnGit({ cwd: made.dir, env: gitEnv() });
  if ('what' in own) throw new Error(own.what);
  await own.treeOf(base);
  for (const name of ['one', 'two']) {
    made.write(`${name}.txt`, name);
    git('add', '--all');
    git('commit', '--quiet', '-m', name);
    const alone = ['fetch', '--quiet', '--depth=1', `file://${made.dir}`, 'HEAD:refs/ralph/alone'];
    if (name === 'one') expect((await own.objects.run(alone)).code).toBe(0);
  }
  made.write('three.txt', 'three');
  const branch = await openStoryBranch({ cwd: made.dir, env: gitEnv() }, 'lane');
  if ('what' in branch) throw new Error(branch.what);
  branch.begin(base);
  const saved = await branch.commitWork(undefined, 'three');
  expect(saved).not.toHaveProperty('what');
});

test('where nobody wrote down that a history ends, it ends all the same', async () => {
  const made = repo({ 'a.txt': 'a\n' });
  const { git } = made;
  const commit = (name: string) => {
    made.write(`${name}.txt`, name);
    git('add', '--all');
    git('commit', '--quiet', '-m', name);
    return git('rev-parse', 'HEAD').trim();
  };
  const base = commit('base');
  const own = await openOwnGit({ cwd: made.dir, env: gitEnv() });
  if ('what' in own) throw new Error(own.what);
  await own.treeOf(base);
  // A fetch that was killed between its objects and this file leaves the one without the other.
  rmSync(join(own.objects.cwd, 'shallow'));
  commit('one');
  const head = commit('two');
  expect(await own.bring(head)).toBeUndefined();
  expect((await own.objects.run(['merge-base', base, head])).stdout.trim()).toBe(base);
});
