/** What is merged into a lane moves its submodules along, and nothing of what somebody has done in one is lost. */
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isProblem, type Problem } from '../../src/domain/text/problem.ts';
import { openStoryBranch } from '../../src/workspace/story-branch.ts';
import { openWorktree } from '../../src/workspace/worktree.ts';
import { folder, type Repo, repo, repoAt, stateEnv } from '../rig/repo.ts';

const env = stateEnv();
const TRUST = ['-c', 'protocol.file.allow=always'];

function sure<Found>(found: Found | Problem): Found {
  if (isProblem(found)) throw new Error(found.what);
  return found;
}

/** A lane with these submodules, all of the same repository. */
async function laneWith(...names: readonly string[]) {
  const [work, other] = [repo(), repo({ in: 'one\n' })];
  const add = (name: string) => work.git(...TRUST, 'submodule', '--quiet', 'add', other.dir, name);
  for (const name of names) add(name);
  work.git('commit', '--quiet', '--message', 'before');
  const worktree = sure(await openWorktree({ root: work.dir, env, name: 'lane' }));
  onTestFinished(worktree.release);
  const branch = sure(await openStoryBranch({ cwd: worktree.path, env }, worktree.branch));
  return { work, other, add, branch, lane: repoAt(worktree.path) };
}

function commitIn(at: Repo, text: string): string {
  at.write('in', `${text}\n`);
  at.git('commit', '--quiet', '--all', '--message', text);
  return at.git('rev-parse', 'HEAD').trim();
}

test('submodules follow what is merged, and what is nowhere else stays', async () => {
  const { work, other, add, branch, lane } = await laneWith('moved', 'busy', 'gone', 'kept');
  commitIn(other, 'two');
  work.git(...TRUST, 'submodule', '--quiet', 'update', '--remote', 'moved', 'busy');
  work.git('rm', '--quiet', 'gone', 'kept');
  add('new');
  work.git('commit', '--quiet', '--all', '--message', 'landed');
  const own = commitIn(repoAt(lane.path('busy')), 'mine');
  lane.write('kept/work', 'mine\n');
  const landed = work.git('rev-parse', 'HEAD').trim();
  expect(await branch.moveTo(landed, landed)).toBeUndefined();
  expect(['moved/in', 'new/in'].map(lane.read)).toEqual(['two\n', 'two\n']);
  expect(lane.git('-C', 'busy', 'rev-parse', 'HEAD').trim()).toBe(own);
  expect(existsSync(lane.path('gone'))).toBe(false);
  expect(lane.read('kept/work')).toBe('mine\n');
  // An agent that adds all files takes nothing back.
  lane.git('add', '--all', '--', 'moved', 'new');
  expect(lane.git('diff', '--cached', '--name-only')).toBe('');
});

test.each([
  ['whose commit nobody here has', () => {}, 'does not have the commit'],
  ['with changes in the way', (lane: Repo) => lane.write('moved/in', 'mine\n'), 'cannot be moved'],
])('a submodule %s is not passed over', async (_, spoil, words) => {
  const { work, other, branch, lane } = await laneWith('moved');
  const commit = commitIn(words.includes('does not') ? repo({ in: 'else\n' }) : other, 'two');
  if (words === 'cannot be moved') work.git(...TRUST, '-C', 'moved', 'fetch', '--quiet');
  work.git('update-index', '--cacheinfo', `160000,${commit},moved`);
  work.write('README.md', 'landed');
  work.git('add', 'README.md');
  work.git('commit', '--quiet', '--message', 'landed');
  spoil(lane);
  const landed = work.git('rev-parse', 'HEAD').trim();
  expect(await branch.moveTo(landed, landed)).toMatchObject({
    where: join(lane.dir, 'moved'),
    what: expect.stringContaining(words),
  });
  // Nothing was moved: the work of others is not taken for that of the lane.
  expect(lane.read('README.md')).toBe('# test\n');
});

test.each([
  ['a submodule', (lane: Repo) => lane.path('moved'), (outside: Repo) => outside.dir],
  [
    'the repository of one',
    (lane: Repo) => `${lane.git('rev-parse', '--absolute-git-dir').trim()}/modules/moved`,
    (outside: Repo) => outside.path('.git'),
  ],
])('a link in the place of %s leads nowhere', async (_, place, target) => {
  const { work, other, branch, lane } = await laneWith('moved');
  const outside = folder();
  outside.git('clone', '--quiet', other.dir, '.');
  commitIn(other, 'two');
  work.git(...TRUST, 'submodule', '--quiet', 'update', '--remote', 'moved');
  work.git('commit', '--quiet', '--all', '--message', 'landed');
  outside.git('fetch', '--quiet');
  const [landed, head] = [work, outside].map(each => each.git('rev-parse', 'HEAD').trim());
  const at = place(lane);
  rmSync(at, { recursive: true });
  symlinkSync(target(outside), at);
  await branch.moveTo(`${landed}`, `${landed}`);
  expect([outside.read('in'), outside.git('rev-parse', 'HEAD').trim()]).toEqual(['one\n', head]);
  expect(outside.git('status', '--porcelain')).toBe('');
});

test('a submodule that was cut off behind its files is put on its commit', async () => {
  const { work, other, branch, lane } = await laneWith('moved');
  const commit = commitIn(other, 'two');
  work.git(...TRUST, 'submodule', '--quiet', 'update', '--remote', 'moved');
  work.git('commit', '--quiet', '--all', '--message', 'landed');
  lane.write('moved/in', 'two\n');
  const landed = work.git('rev-parse', 'HEAD').trim();
  expect(await branch.moveTo(landed, landed)).toBeUndefined();
  expect(lane.git('-C', 'moved', 'rev-parse', 'HEAD').trim()).toBe(commit);
  expect(lane.git('-C', 'moved', 'status', '--porcelain')).toBe('');
});
