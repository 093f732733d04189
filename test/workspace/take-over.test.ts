/** Moving a branch that is checked out: what is the user's stays, or nothing is moved. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { moveBranch } from '../../src/workspace/take-over.ts';
import { outsideOwner } from '../../src/workspace/user-index.ts';
import { type Repo, repo, stateEnv } from '../rig/repo.ts';

const FILES = { a: 'a\n', b: 'b\n', 'd/x': 'x\n', '.gitignore': 'cache\n' };
const env = stateEnv();

/** The branch of a work that does this; then the user does that; then `main` is moved to the work. */
async function taken(does: (work: Repo) => void, user: (work: Repo) => void) {
  const work = repo(FILES);
  const base = work.git('rev-parse', 'HEAD').trim();
  does(work);
  work.git('add', '--all', '--force');
  work.git('commit', '--quiet', '--message', 'work');
  const tip = work.git('rev-parse', 'HEAD').trim();
  work.git('reset', '--quiet', '--hard', base);
  user(work);
  const own = await openOwnGit({ cwd: work.dir, env });
  if ('what' in own) throw new Error(own.what);
  await own.begin();
  await own.bring(tip);
  const before = lookAt(work);
  const problem = await moveBranch(
    own,
    { branch: 'main', base, tip },
    outsideOwner(own, 'r1', () => {}),
  );
  return { work, problem, before, tip };
}

const lookAt = (work: Repo) => ({
  status: work.git('status', '--porcelain', '--untracked-files=all', '--ignored'),
  index: work.git('ls-files', '--stage'),
  head: work.git('rev-parse', 'HEAD'),
});

const writes =
  (...files: readonly (readonly [string, string])[]) =>
  (work: Repo) => {
    for (const [name, text] of files) work.write(name, text);
  };

describe('it is refused where the user has changed what would be written', () => {
  test.each<[string, (work: Repo) => void, (work: Repo) => void, string]>([
    ['a file', writes(['a', 'theirs']), writes(['a', 'mine']), 'a'],
    [
      'a file that is only staged',
      writes(['a', 'theirs']),
      work => {
        work.write('a', 'mine');
        work.git('add', 'a');
        work.write('a', 'a\n');
      },
      'a',
    ],
    ['a file that the user deleted', writes(['a', 'theirs']), work => work.git('rm', '--quiet', 'a'), 'a'],
    ['a new file', writes(['new', 'theirs']), writes(['new', 'mine']), 'new'],
    ['a folder where a file comes', writes(['new', 'theirs']), writes(['new/mine', 'mine']), 'new/mine'],
    ['a file where a folder comes', writes(['new/deep', 'theirs']), writes(['new', 'mine']), 'new'],
    ['an ignored file', writes(['cache', 'theirs']), writes(['cache', 'mine']), 'cache'],
    [
      'an ignored file where a folder comes',
      writes(['cache/deep', 'theirs']),
      writes(['cache', 'mine']),
      'cache/deep',
    ],
    [
      'an ignored file in a folder where a file comes',
      work => work.write('new', 'theirs'),
      writes(['new/cache', 'mine']),
      'new',
    ],
  ])('%s', async (_, does, user, path) => {
    const { work, problem, before } = await taken(does, user);
    expect(problem?.what).toContain(`you have changes in ${path} that are not committed`);
    expect(lookAt(work)).toEqual(before);
  });

  test('and where it would change what Ralph runs', async () => {
    const { work, problem, before } = await taken(
      writes(['.ralph/settings.json', '{}'], ['a', 'theirs']),
      () => {},
    );
    expect(problem?.what).toContain('.ralph/settings.json, which decides what Ralph runs');
    expect(lookAt(work)).toEqual(before);
  });

  test('and where it would move a submodule', async () => {
    const link = (work: Repo) =>
      work.git('update-index', '--add', '--cacheinfo', `160000,${work.git('rev-parse', 'HEAD').trim()},sub`);
    const { work, problem, before } = await taken(
      work => {
        work.git('commit', '--quiet', '--allow-empty', '--message', 'x');
        link(work);
        work.git('commit', '--quiet', '--message', 'link');
        work.git('update-index', '--force-remove', 'sub');
        work.write('.keep', '');
        link(work);
      },
      () => {},
    );
    if (problem) expect(problem.what).toContain('submodule sub');
    if (problem) expect(lookAt(work)).toEqual(before);
  });
});

describe('it is moved, and the rest stays', () => {
  test.each<
    [string, (work: Repo) => void, (work: Repo) => void, Readonly<Record<string, string | undefined>>, string]
  >([
    [
      'a dirty file beside it',
      writes(['a', 'theirs']),
      writes(['b', 'mine'], ['new', 'mine']),
      { a: 'theirs', b: 'mine', new: 'mine' },
      ' M b\n?? new\n',
    ],
    [
      'a staged file beside it',
      writes(['a', 'theirs']),
      work => {
        work.write('b', 'mine');
        work.git('add', 'b');
      },
      { a: 'theirs' },
      'M  b\n',
    ],
    [
      'what was moved before it was cut off',
      writes(['a', 'theirs'], ['new', 'theirs']),
      writes(['a', 'theirs'], ['new', 'theirs']),
      { a: 'theirs', new: 'theirs' },
      '',
    ],
    [
      'a file becomes a folder',
      work => {
        work.git('rm', '--quiet', 'a');
        work.write('a/deep', 'theirs');
      },
      () => {},
      { 'a/deep': 'theirs' },
      '',
    ],
    [
      'a folder becomes a file',
      work => {
        work.git('rm', '--quiet', '-r', 'd');
        work.write('d', 'theirs');
      },
      () => {},
      { d: 'theirs' },
      '',
    ],
    [
      'a file goes',
      work => work.git('rm', '--quiet', 'a'),
      writes(['b', 'mine']),
      { a: undefined, b: 'mine' },
      ' M b\n',
    ],
  ])('%s', async (_, does, user, files, status) => {
    const { work, problem, tip } = await taken(does, user);
    expect(problem).toBeUndefined();
    const found = Object.keys(files).map(name => [
      name,
      existsSync(work.path(name)) ? readFileSync(work.path(name), 'utf8') : undefined,
    ]);
    expect(Object.fromEntries(found)).toEqual(files);
    expect([work.git('rev-parse', 'main').trim(), work.git('status', '--porcelain')]).toEqual([tip, status]);
  });
});
