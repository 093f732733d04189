import { existsSync, lstatSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { clearGitLocks } from '../../src/workspace/git-lock.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { openStoryBranch } from '../../src/workspace/story-branch.ts';
import { repo, stateEnv } from '../rig/repo.ts';

const LOCKS = [
  'index.lock',
  'HEAD.lock',
  'packed-refs.lock',
  'refs/heads/main.lock',
  'refs/heads/feat/x.lock',
];

const OWN_LOCKS = ['packed-refs.lock', 'shallow.lock', 'refs/ralph/20260101-120000-abcd/int.lock'];

async function locked(made: number) {
  const project = repo();
  const place = { cwd: project.dir, env: stateEnv() };
  const own = await openOwnGit(place);
  if ('what' in own) throw new Error(own.what);
  const folder = own.objects.cwd;
  const theirs = LOCKS.map(name => project.path(`.git/${name}`));
  const ours = OWN_LOCKS.map(name => join(folder, name));
  const locks = [...theirs, ...ours];
  for (const lock of locks) {
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, '');
    utimesSync(lock, made / 1000, made / 1000);
  }
  const clear = (from: number, to: number) => clearGitLocks(place, { from, to });
  return { locks, theirs, clear };
}

const NOON = Date.UTC(2026, 0, 1, 12);

test('every lock that a killed commit can leave is taken away, and said', { tags: 'promise' }, async () => {
  const { locks, clear } = await locked(NOON);
  const told = await clear(NOON - 60_000, NOON);
  expect(told).toEqual(locks.map(lock => `${lock} was left behind by a git that was killed: removed`));
  expect(locks.filter(lock => existsSync(lock))).toEqual([]);
});

test('so are half-written objects of that time in Ralph’s own git directory, and no others', async () => {
  const project = repo();
  const place = { cwd: project.dir, env: stateEnv() };
  const own = await openOwnGit(place);
  if ('what' in own) throw new Error(own.what);
  const half = (name: string, made: number) => {
    const path = join(own.objects.cwd, 'objects', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'half');
    utimesSync(path, made / 1000, made / 1000);
    return path;
  };
  const left = ['pack/tmp_pack_aB3xYz', 'pack/tmp_idx_aB3xYz', '0a/tmp_obj_aB3xYz'].map(name =>
    half(name, NOON),
  );
  const newer = half('pack/tmp_pack_cD4xYz', NOON + 60_000);
  expect(await clearGitLocks(place, { from: NOON - 60_000, to: NOON })).toEqual([]);
  expect([...left, newer].filter(path => existsSync(path))).toEqual([newer]);
});

test.each([
  ['before', NOON + 5_000, NOON + 60_000],
  ['after', NOON - 120_000, NOON - 60_000],
])('one from %s the time of the run stays, and that is said', async (_name, from, to) => {
  const { locks, theirs, clear } = await locked(NOON);
  const told = await clear(from, to);
  expect(told.every(words => words.includes('remove it yourself'))).toBe(true);
  expect(told).toHaveLength(theirs.length);
  expect(locks.every(lock => existsSync(lock))).toBe(true);
});

test.each([
  ['a worktree of Ralph’s own', '.ralph/worktrees/x', 'are taken away, however old they are', true],
  ['a worktree of the user', 'beside', 'stay', false],
])('where Ralph moves the branch of %s, in %s, locks %s', async (_, folder, _what, isMoved) => {
  const project = repo();
  project.git('worktree', 'add', '--quiet', '-b', 'ralph/x', folder);
  const place = { cwd: project.path(folder), env: stateEnv() };
  const branch = await openStoryBranch(place, 'ralph/x');
  if ('what' in branch) throw new Error(branch.what);
  const locks = ['worktrees/x/HEAD.lock', 'worktrees/x/index.lock', 'refs/heads/ralph/x.lock'].map(name =>
    project.path(`.git/${name.replace('/x/', `/${basename(folder)}/`)}`),
  );
  const [head = '', index = '', ref = ''] = locks;
  writeFileSync(head, '');
  utimesSync(head, NOON / 1000, NOON / 1000);
  // As an agent may leave them.
  mkdirSync(index);
  symlinkSync('nowhere', ref);
  const isTaken = (lock: string) => lstatSync(lock, { throwIfNoEntry: false }) !== undefined;
  writeFileSync(join(place.cwd, 'new.txt'), 'new\n');
  const made = await branch.commitAll(undefined, 'work');
  expect('commit' in made, JSON.stringify(made)).toBe(isMoved);
  expect(locks.map(isTaken)).toEqual(locks.map(() => !isMoved));
});
