import { expect, test } from 'vitest';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { standBack } from '../../src/workspace/stand-back.ts';
import { repo, stateEnv } from '../rig/repo.ts';

async function committed(checkout: string) {
  const work = repo();
  work.git('checkout', '--quiet', checkout);
  const own = await openOwnGit({ cwd: work.dir, env: stateEnv() });
  if ('what' in own) throw new Error(own.what);
  const base = work.git('rev-parse', 'HEAD').trim();
  const commit = (message: string) => {
    work.git('commit', '--quiet', '--allow-empty', '--message', message);
    return work.git('rev-parse', 'HEAD').trim();
  };
  const branch = checkout === 'main' ? 'main' : undefined;
  const back = (...seen: readonly string[]) =>
    standBack(own.repository, { base, branch }, seen, 'refs/ralph/kept/run');
  return { work, base, commit, back, head: () => work.git('rev-parse', 'HEAD').trim() };
}

test.each(['main', '--detach'])('a commit is taken back and kept under its name: %s', async checkout => {
  const { work, base, commit, back, head } = await committed(checkout);
  const made = commit('of a review');
  back(made);
  expect([head(), work.git('rev-parse', `refs/ralph/kept/run/${made}`).trim()]).toEqual([base, made]);
});

test.each(['main', '--detach'])('what somebody has committed since is not: %s', async checkout => {
  const { commit, back, head } = await committed(checkout);
  const seen = commit('of a review');
  const theirs = commit('of the user');
  expect(() => back(seen)).toThrow('somebody else has just committed there');
  expect(head()).toBe(theirs);
});
