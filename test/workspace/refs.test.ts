/** Where HEAD and branches stand, read without git: the same as git says, however it keeps them. */
import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { commitOf, headOf } from '../../src/workspace/refs.ts';
import { findRepository } from '../../src/workspace/repository.ts';
import { type Repo, repo, stateEnv } from '../rig/repo.ts';

async function opened(work: Repo, cwd = work.dir) {
  const repository = await findRepository({ cwd, env: stateEnv() });
  if (isProblem(repository)) throw new Error(repository.what);
  return repository;
}

const CASES: Readonly<Record<string, (work: Repo) => void>> = {
  'on a branch': () => {},
  'on a branch with slashes in its name': work => work.git('switch', '-q', '-c', 'a/b/c'),
  'on no branch': work => work.git('checkout', '-q', '--detach'),
  'on a branch that is packed': work => work.git('pack-refs', '--all'),
  'on one of two branches that begin with the same letters': work => {
    work.git('branch', 'x/main');
    work.git('commit', '-q', '--allow-empty', '-m', 'more');
    work.git('switch', '-q', '-c', 'ain');
    work.git('pack-refs', '--all');
  },
  'on a branch that was packed and has moved since': work => {
    work.git('pack-refs', '--all');
    work.git('commit', '-q', '--allow-empty', '-m', 'more');
  },
  'on a name that stands for another': work => {
    work.git('branch', 'real');
    work.git('symbolic-ref', 'refs/heads/alias', 'refs/heads/real');
    work.git('symbolic-ref', 'HEAD', 'refs/heads/alias');
  },
  'where a tag has the name of the branch': work =>
    work.git('tag', work.git('branch', '--show-current').trim()),
  'where HEAD is a link': work => {
    const branch = work.git('symbolic-ref', 'HEAD').trim();
    rmSync(work.path('.git/HEAD'));
    symlinkSync(branch, work.path('.git/HEAD'));
  },
};

describe('HEAD', () => {
  test.for(Object.entries(CASES))('%s', async ([, make]) => {
    const work = repo();
    make(work);
    const repository = await opened(work);
    expect((await headOf(repository)).commit).toBe(work.git('rev-parse', 'HEAD').trim());
    const branch = (await headOf(repository)).branch ?? '';
    const short = work.git('branch', '--show-current').trim();
    expect([short, 'real']).toContain(branch);
    if (branch !== '')
      expect(await commitOf(repository, `refs/heads/${branch}`)).toBe(work.git('rev-parse', 'HEAD').trim());
  });

  test('before the first commit has a branch and no commit', async () => {
    const work = repo();
    work.git('switch', '-q', '--orphan', 'empty');
    expect(await headOf(await opened(work))).toEqual({ branch: 'empty' });
  });

  test('of a worktree is its own, and branches are those of all', async () => {
    const work = repo();
    work.git('worktree', 'add', '-q', '-b', 'beside', join(work.dir, 'beside'));
    const repository = await opened(work, join(work.dir, 'beside'));
    const commit = work.git('rev-parse', 'HEAD').trim();
    expect(repository.head).toEqual({ commit, branch: 'beside' });
    const main = work.git('branch', '--show-current').trim();
    expect(await commitOf(repository, `refs/heads/${main}`)).toBe(commit);
  });
});

test('a branch that is not there is none, and no name leads out of the folder of names', async () => {
  const work = repo();
  work.write('.git/outside', `${'a'.repeat(40)}\n`);
  const repository = await opened(work);
  expect(await commitOf(repository, 'refs/heads/nowhere')).toBeUndefined();
  expect(await commitOf(repository, 'refs/heads/../../outside')).toBeUndefined();
});
