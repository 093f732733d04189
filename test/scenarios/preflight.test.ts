/** What is known to fail is said before an agent is started. */
import { expect, test } from 'vitest';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';

async function refused(project: Repo, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const agent = await fakeAgent('worker', says(DONE));
  const ended = await ralph([...args, '--agent', 'worker'], { cwd: project.dir, path: [agent.bin], env });
  expect([ended.code, agent.calls.length]).toEqual([2, 0]);
  return ended.stderr;
}

const loop = (check: string) => ['loop', 'Do it', '--check', check];

test('checks that cannot be started, all of them at once', { tags: 'promise' }, async () => {
  const project = repo({ 'test.sh': 'exit 0\n', 'package.json': '{"scripts":{"lint":"true"}}' });
  const checks = ['no-such-tool --x', 'A=1 nor-this', './test.sh', './nowhere.sh', 'npm run lnt'];
  const said = await refused(project, [...loop('true'), ...checks.flatMap(check => ['--check', check])]);
  expect(said).toContain('check `no-such-tool --x`: there is no such command: no-such-tool');
  expect(said).toContain('there is no such command: nor-this');
  expect(said).toContain('./test.sh may not be executed (chmod +x ./test.sh)');
  expect(said).toContain('(create it; if the agent is to write it, check with `sh ./nowhere.sh`)');
  expect(said).toContain('package.json has no script lnt (did you mean lint?)');
});

test('the same for guardrails', async () => {
  const project = repo();
  project.settings({ guardrails: [{ command: 'no-such-tool' }] });
  expect(await refused(project, ['run', '-p', DONE])).toContain('there is no such command: no-such-tool');
});

test('what a shell knows itself, or a script that the agent may write, is not refused', async () => {
  const project = repo({ 'package.json': '{"scripts":{}}' });
  const agent = await fakeAgent('worker', says(DONE));
  const checks = ['cd . && true', '! false', '[ 1 = 1 ]', '(true)', 'npm run test:unit', 'X=1 true'];
  const args = ['loop', 'x', ...checks.flatMap(check => ['--check', check]), '--dry-run'];
  const { code } = await ralph([...args, '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
  expect(code).toBe(0);
});

test('source control that cannot work: no identity, no remote, no upstream', async () => {
  const project = repo();
  const scm = (...tasks: readonly string[]) => project.settings({ scm: { command: 'git', tasks } });
  const nobody = Object.fromEntries(
    ['AUTHOR_NAME', 'AUTHOR_EMAIL', 'COMMITTER_NAME', 'COMMITTER_EMAIL'].map(name => [`GIT_${name}`, '']),
  );
  project.git('config', 'user.useConfigOnly', 'true');
  scm('commit');
  const who = await refused(project, ['run', '-p', DONE], nobody);
  expect(who).toContain('git does not know who you are');
  expect(who).toContain('git config --global user.name');
  scm('commit', 'push');
  expect(await refused(project, ['run', '-p', DONE])).toContain('there is no remote to push to');
  project.git('remote', 'add', 'origin', '/nowhere');
  const said = await refused(project, ['run', '-p', DONE]);
  expect(said).toContain('the branch main has no upstream');
  expect(said).toContain('(git push --set-upstream origin main)');
});

test('an agent that is not installed, a sandbox that does not work', async () => {
  const project = repo();
  const { code, stderr } = await ralph([...loop('true'), '--agent', 'codex'], { cwd: project.dir });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('agent codex: there is no such command (install'),
  ]);
  expect(await refused(project, [...loop('true'), '--sandbox=sbx'])).toContain('no sandbox works here. sbx:');
});

test('an agent that is installed and not logged in, before its first turn', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', says(DONE));
  const said = async (env: Readonly<Record<string, string>>) => {
    const started = await ralph(['run', '-p', DONE, '-m', '1'], { cwd: project.dir, path: [agent.bin], env });
    return started.stdout.slice(0, started.stdout.indexOf('Iteration 1'));
  };
  const words = 'claude does not seem to be logged in';
  expect(await said({})).toContain(words);
  expect(await said({ ANTHROPIC_API_KEY: 'key' })).not.toContain(words);
});

test('`init --yes` takes an installed agent and the guardrails that the project has and that run', {
  tags: 'promise',
}, async () => {
  const project = repo({
    'package.json': '{"scripts":{"test":"exit 3","lint":"true","typecheck":"no-such-compiler"}}',
    'pnpm-lock.yaml': '',
    'go.mod': 'module x\n',
    'test/a.test.js': 'x\n',
  });
  const agent = await fakeAgent('codex', says(DONE));
  const tools = await fakeAgent('pnpm', async turn => turn.exit(turn.argv.includes('typecheck') ? 127 : 3));
  const world = { cwd: project.dir, path: [agent.bin, tools.bin] };
  const { code, stdout } = await ralph(['init', '--yes'], world);
  expect(code).toBe(0);
  expect(stdout).toContain('Agent: codex');
  expect(stdout).toMatch(/pnpm run typecheck: cannot be run: there is no such command\..* Left out\./);
  expect(stdout).toMatch(/pnpm test: runs, and fails now \(exit code 3, /);
  expect(stdout).toContain('Next: ralph run -p ');
  expect(JSON.parse(project.read('.ralph/settings.json'))).toMatchObject({
    agent: { command: 'codex', flags: [] },
    guardrails: [
      { command: 'pnpm run lint', failAction: 'APPEND' },
      { command: 'pnpm test', failAction: 'APPEND' },
    ],
    protect: ['test/**'],
    setup: 'pnpm install --frozen-lockfile',
  });
  expect(stdout).toContain('Protected: test/**');
  expect(stdout).toContain('Setup of a fresh checkout: pnpm install --frozen-lockfile');
  // The folder can be added as it is: what runs leave in it stays out.
  const status = project.git('status', '--porcelain', '--untracked-files=all', '.ralph');
  expect(status).toBe('?? .ralph/.gitignore\n?? .ralph/settings.json\n');
  const again = await ralph(['init', '--yes'], world);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('it is there already')]);
});

test('`init --yes` without an agent writes nothing', async () => {
  const { dir } = folder();
  const { code, stderr } = await ralph(['init', '--yes'], { cwd: dir });
  expect([code, stderr]).toEqual([2, expect.stringContaining('agent: none is installed')]);
});
