/** What is protected beside the files that a glob names, and what is said where that is not possible. */
import { mkdirSync, renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createProtection } from '../../src/workspace/protect.ts';
import { folder, type Repo, repo, stateEnv } from '../rig/repo.ts';

async function protect(work: Repo, ...globs: string[]) {
  const aside = work.path('.ralph/runs/1/aside');
  const protection = await createProtection({
    cwd: work.dir,
    env: stateEnv(),
    globs,
    newFiles: 'allow',
    aside,
    keepIn: folder().dir,
  });
  if ('what' in protection) throw new Error(protection.what);
  return protection;
}

const whats = async (protection: Awaited<ReturnType<typeof protect>>) =>
  (await protection.restore()).map(({ what }) => what);

describe('behind a protected link', () => {
  test('the file is protected, through every link on the way', { tags: 'promise' }, async () => {
    const work = repo({ 'shared/real.sh': 'real\n' });
    mkdirSync(work.path('test'));
    symlinkSync('shared', work.path('by'));
    symlinkSync('../by/real.sh', work.path('test/a.sh'));
    const protection = await protect(work, 'test/**');
    work.write('shared/real.sh', 'weaker\n');
    expect(await whats(protection)).toEqual(['shared/real.sh was changed']);
    expect(work.read('test/a.sh')).toBe('real\n');
  });

  test('what is out of the repository, or is not there, is a notice', async () => {
    const work = repo({ 'test/x': '' });
    symlinkSync('/etc/hosts', work.path('test/out'));
    symlinkSync('nowhere', work.path('test/gone'));
    symlinkSync('ring', work.path('test/ring'));
    const { notes } = await protect(work, 'test/**');
    expect(notes).toEqual([
      'test/gone leads to nothing: what is there is not protected',
      'test/out leads out of the repository: what is there is not protected',
      'test/ring leads to itself: what is there is not protected',
    ]);
  });
});

describe('what git ignores', () => {
  const files = { '.gitignore': 'node_modules/\n*.cache\n.env\n', 'test/a': 'a\n', '.env.example': '' };

  test('is protected where a glob can mean nothing else', async () => {
    const work = repo(files);
    work.write('node_modules/.bin/tool', 'tool\n');
    work.write('.env', 'secret\n');
    const protection = await protect(work, 'node_modules/.bin/**', '.env');
    expect(protection.notes).toEqual([]);
    work.write('node_modules/.bin/tool', 'true\n');
    work.write('.env', 'changed\n');
    expect(await whats(protection)).toEqual(['.env was changed', 'node_modules/.bin/tool was changed']);
  });

  test('is not where it only happens to be there; a notice says so, but for caches below', async () => {
    const work = repo(files);
    work.write('test/deep/x.cache', 'x\n');
    work.write('.env', 'secret\n');
    const protection = await protect(work, 'test/**', '.env*');
    expect(protection.notes).toEqual([
      'protect .env*: files that git ignores fit it (1) and are not protected: name them to protect them',
    ]);
    work.write('test/deep/x.cache', 'y\n');
    expect(await whats(protection)).toEqual([]);
  });
});

test('on a disk that takes Test and test for the same, so do globs', async () => {
  const work = repo({ 'Test/a': 'a\n' });
  mkdirSync(work.path('.GIT'));
  const protection = await protect(work, 'test/**');
  work.write('Test/a', 'b\n');
  expect(await whats(protection)).toEqual(['Test/a was changed']);
});

test.each<readonly [string, string, (path: (name: string) => string) => void]>([
  ['written over, with its old time', 'test/a', path => writeFileSync(path('test/a'), 'a\n')],
  [
    'a link for a while',
    'test/a',
    path => {
      renameSync(path('test/a'), path('kept'));
      symlinkSync('../kept', path('test/a'));
      renameSync(path('kept'), path('test/a'));
    },
  ],
  [
    'in a folder that was away',
    'test',
    path => {
      renameSync(path('test'), path('kept'));
      renameSync(path('kept'), path('test'));
    },
  ],
])('a file that has long been as it is, and was %s, was changed and put back', async (_, named, change) => {
  const work = repo({ 'test/a': 'a\n' });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  const { atime, mtime } = statSync(work.path('test/a'));
  const protection = await protect(work, 'test/**');
  expect(protection.isFresh()).toBe(false);
  expect(await protection.restore()).toEqual([]);
  expect(protection.isFresh()).toBe(true);
  const written = protection.watch();
  expect(protection.isFresh()).toBe(false);
  expect([await protection.restore(), written()]).toEqual([[], []]);
  change(work.path);
  utimesSync(work.path('test/a'), atime, mtime);
  expect(await protection.restore()).toEqual([]);
  expect(written()).toContain(`${named} was changed and put back`);
});

test('a file that was written to and put back was written to', async () => {
  const work = repo({ 'test/a': 'a\n' });
  const protection = await protect(work, 'test/**');
  await protection.restore();
  const written = protection.watch();
  expect(await whats(protection)).toEqual([]);
  expect(written()).toEqual([]);
  work.write('test/a', 'b\n');
  work.write('test/a', 'a\n');
  expect(await whats(protection)).toEqual([]);
  expect(written()).toEqual(['test/a was changed and put back']);
});
