/** A copy that may be broken is as it was after each trial, whatever was done to its repository. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { throwAwayCopy } from '../../src/workspace/project-copy.ts';
import { folder, gitEnv, repo } from '../rig/repo.ts';

const LEFT = [
  ['a setting', 'git config core.ignoreCase true'],
  ['a rule that hides a file', 'mkdir -p .git/info; echo x > .git/info/exclude; echo > x'],
  [
    'a setting that hides one',
    'echo x > .git/rules; git config core.excludesFile "$PWD/.git/rules"; echo > x',
  ],
  ['attributes', 'echo "* text eol=crlf" > .gitattributes; git config core.autocrlf true'],
  ['a flag that hides a change', 'git update-index --assume-unchanged a; echo changed > a'],
  ['another flag', 'git update-index --skip-worktree a; echo changed > a'],
  [
    'a commit, and a name that is moved',
    'echo changed > a; git add -A; git commit -qm x; git tag -f simulated',
  ],
  ['another branch', 'git checkout -q -b other; echo changed > a; git commit -qam x'],
  [
    'a replaced object',
    'echo changed > b; git replace $(git rev-parse HEAD:a) $(git hash-object -w b); rm a',
  ],
  ['a sparse checkout', 'git sparse-checkout set --no-cone b'],
  ['a repository inside', 'git init -q x; echo > x/y'],
  ['a lock', 'touch .git/index.lock .git/config.lock'],
  ['another work tree', 'git config core.worktree "$OUTSIDE"'],
  ['a link in place of the settings', 'rm .git/config; ln -s "$OUTSIDE/kept" .git/config'],
  [
    'a hook',
    'mkdir -p .git/hooks; echo "touch $OUTSIDE/ran" > .git/hooks/post-checkout; chmod +x .git/hooks/*',
  ],
] as const;

test('what a trial leaves is not there in the next one', async () => {
  const project = repo({ a: 'a\n', 'd/b': 'b\n' });
  const outside = folder();
  outside.write('kept', 'kept\n');
  const env = { ...process.env, ...gitEnv(), OUTSIDE: outside.dir };
  const copy = await throwAwayCopy({ cwd: project.dir, env });
  if (isProblem(copy)) throw new Error(copy.what);
  onTestFinished(copy.remove);
  const git = (...args: string[]) => execFileSync('git', args, { cwd: copy.cwd, env, encoding: 'utf8' });
  const state = () => ({
    a: readFileSync(join(copy.cwd, 'a'), 'utf8'),
    status: git('status', '--porcelain', '--ignored'),
    settings: git('config', '--local', '--list'),
    files: git('ls-files', '-v'),
    head: git('symbolic-ref', 'HEAD') + git('rev-parse', 'HEAD', 'HEAD^{tree}'),
  });
  const before = state();
  for (const [name, script] of LEFT) {
    execFileSync('sh', ['-c', script], { cwd: copy.cwd, env, stdio: 'ignore' });
    expect({ name, problem: await copy.reset() }).toEqual({ name, problem: undefined });
    expect({ name, ...state() }).toEqual({ name, ...before });
  }
  expect([outside.read('kept'), existsSync(outside.path('ran'))]).toEqual(['kept\n', false]);
});

test('a copy whose repository is a link is given up, and nothing is written through it', async () => {
  const project = repo({ a: 'a\n' });
  const copy = await throwAwayCopy({ cwd: project.dir, env: { ...process.env, ...gitEnv() } });
  if (isProblem(copy)) throw new Error(copy.what);
  onTestFinished(copy.remove);
  const before = project.read('.git/config');
  execFileSync('sh', ['-c', `rm -r .git; ln -s '${project.path('.git')}' .git`], { cwd: copy.cwd });
  expect(await copy.reset()).toMatchObject({ what: 'is no folder any more' });
  expect(project.read('.git/config')).toBe(before);
});
