/** Where nothing of the user's has a part in a commit it is made without git commit, and it is the same. */
import { expect, test } from 'vitest';
import { capture } from '../../src/platform/capture.ts';
import { commitInside } from '../../src/workspace/commit-in-repository.ts';
import { planCommit } from '../../src/workspace/commit-plan.ts';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { outsideOwner } from '../../src/workspace/user-index.ts';
import { gitEnv, type Repo, repo, stateEnv } from '../rig/repo.ts';

/** Commits all files, and returns what was started for it. */
async function commitAll(project: Repo, message: string, more: Readonly<Record<string, string>> = {}) {
  const env = { ...stateEnv(), ...more };
  const own = await openOwnGit({ cwd: project.dir, env });
  if ('what' in own) throw new Error(own.what);
  const taken = await own.snapshot();
  if ('what' in taken) throw new Error(taken.what);
  const plan = await planCommit(own, { start: undefined, checked: taken.tree, commitDirty: true });
  if ('what' in plan) throw new Error(plan.what);
  const started: string[] = [];
  const made = await commitInside(
    own,
    plan,
    message,
    (argv, given) => {
      started.push(argv[0] === '/bin/sh' ? 'commit' : (argv[1] ?? ''));
      return capture(argv, { cwd: project.dir, ...given, env: { ...env, ...given?.env } });
    },
    outsideOwner(own, 'run', () => {}),
  );
  return { made, started };
}

const MESSAGE = '\n\nFix it  \n\n\n\n# no comment\t\n  indented\n\nRalph-Run: x\n\n';

test.each([
  ['on a branch', (work: Repo) => work],
  [
    'on no branch',
    (work: Repo) => {
      work.git('checkout', '--quiet', '--detach');
      return work;
    },
  ],
  [
    'before the first one',
    (work: Repo) => {
      work.git('update-ref', '-d', 'HEAD');
      return work;
    },
  ],
])('it is what git would have made, %s', async (_, make) => {
  const facts = (project: Repo) => ({
    commit: project.git('log', '-1', '--format=%T%n%an%n%ae%n%cn%n%ce%n%B'),
    parents: project.git('log', '-1', '--format=%p').trim() === '',
    log: project.git('reflog', '-1', '--format=%gs'),
    status: project.git('status', '--porcelain', '--branch'),
  });
  const [one, other] = [make(repo()), make(repo())];
  for (const project of [one, other]) project.write('new.txt', 'new\n');
  const { made, started } = await commitAll(one, MESSAGE);
  expect(made).toMatchObject({ differs: false });
  expect(started).toEqual(['update-ref']);
  other.git('add', '--all');
  other.git('commit', '--quiet', '--message', MESSAGE);
  expect(facts(one)).toEqual(facts(other));
  one.git('fsck', '--strict');
});

const hook = (path: string) => (work: Repo) => void work.script(path, '');
const setting = (key: string, value: string) => (work: Repo) => void work.git('config', key, value);

type Case = readonly [string, (work: Repo) => void, Readonly<Record<string, string>>?];

const CASES: readonly Case[] = [
  ['a hook', hook('.git/hooks/pre-commit')],
  ['a hook for messages', hook('.git/hooks/commit-msg')],
  ['a hook for names', hook('.git/hooks/reference-transaction')],
  [
    'hooks elsewhere',
    work => {
      hook('.husky/prepare-commit-msg')(work);
      setting('core.hooksPath', '.husky')(work);
    },
  ],
  ['a setting for messages', setting('commit.cleanup', 'verbatim')],
  ['another author', setting('author.name', 'Somebody')],
  ['a date that is given', () => {}, { GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z' }],
  ['a name that only git would find', () => {}, { GIT_AUTHOR_NAME: '', GIT_AUTHOR_EMAIL: '' }],
];

test.for(CASES)('git commits itself where there is %s', async ([, prepare, env]) => {
  const project = repo();
  project.write('new.txt', 'new\n');
  prepare(project);
  const { started } = await commitAll(project, 'Fix it', env);
  expect(started[0]).toBe('commit');
});

test('what somebody else has committed meanwhile is not taken for it', async () => {
  const project = repo();
  project.write('new.txt', 'new\n');
  const env = stateEnv();
  const own = await openOwnGit({ cwd: project.dir, env });
  if ('what' in own) throw new Error(own.what);
  const taken = await own.snapshot();
  if ('what' in taken) throw new Error(taken.what);
  const plan = await planCommit(own, { start: undefined, checked: taken.tree, commitDirty: true });
  if ('what' in plan) throw new Error(plan.what);
  project.git('commit', '--quiet', '--allow-empty', '--message', 'meanwhile');
  const inside = (argv: readonly [string, ...string[]]) => capture(argv, { cwd: project.dir, env: gitEnv() });
  const made = await commitInside(
    own,
    plan,
    'Fix it',
    inside,
    outsideOwner(own, 'run', () => {}),
  );
  expect(made).toMatchObject({ where: 'git commit' });
  expect(project.git('log', '-1', '--format=%s')).toBe('meanwhile\n');
});
