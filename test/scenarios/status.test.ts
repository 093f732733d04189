/** `ralph status`: the whole machine, and while it changes. */
import { readdirSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { init } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { recordOf } from '../rig/ledger.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

const run = async (project: Repo, home: string) => {
  const { code } = await ralph(['run', '-p', 'go', '--agent', 'cat', '-m', '1'], {
    cwd: project.dir,
    env: { HOME: home },
  });
  expect(code).toBe(1);
};

test('--all shows every project in which Ralph has worked, and forgets those that are gone', async () => {
  const home = folder().dir;
  const [here, there, gone] = [repo(), repo(), repo()];
  for (const project of [here, there, gone]) await run(project, home);
  await run(here, home);
  rmSync(gone.dir, { recursive: true });
  const all = async () => {
    const { stdout } = await ralph(['status', '--all', '--json'], { cwd: folder().dir, env: { HOME: home } });
    return JSON.parse(stdout).projects as { root: string; runs: unknown[] }[];
  };
  const found = await all();
  expect(found.map(({ root, runs }) => [root, runs.length])).toEqual(
    [
      [here.dir, 2],
      [there.dir, 1],
    ].sort(),
  );
  expect(await all()).toEqual(found);
  const { stdout } = await ralph(['status', '--all'], { cwd: folder().dir, env: { HOME: home } });
  expect(stdout).toContain(`${here.dir}\n`);
});

test('--last says how many', async () => {
  const home = folder().dir;
  const project = repo();
  for (let at = 0; at < 3; at++) await run(project, home);
  const count = async (...flags: string[]) =>
    JSON.parse((await ralph(['status', '--json', ...flags], { cwd: project.dir })).stdout).runs.length;
  expect([await count(), await count('-n', '2'), await count('--last', '0')]).toEqual([3, 2, 3]);
  expect((await ralph(['status', '-n', 'x'], { cwd: project.dir })).code).toBe(2);
});

test('--watch shows each change and ends with Ctrl-C', async () => {
  const project = repo();
  const { open: release, opened: released } = createGate();
  const agent = await fakeAgent('claude', async turn => {
    await turn.line(init);
    await released;
    turn.exit(1);
  });
  const watching = startRalph(['status', '--watch'], { cwd: project.dir });
  await watching.until('No runs here yet');
  const running = startRalph(['run', '-p', 'go', '--agent', 'claude', '-m', '1', '--events', '-'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  await running.until('"kind":"session"');
  await watching.until('running');
  release();
  await running.finished;
  await watching.until('out of iterations');
  watching.process.kill('SIGINT');
  expect((await watching.finished).code).toBe(0);
});

test('a run whose ledger is gone is not offered to be resumed: that would be refused', async () => {
  const home = folder().dir;
  const project = repo();
  await run(project, home);
  const [id = ''] = readdirSync(project.path('.ralph/runs'));
  const told = async () =>
    JSON.parse((await ralph(['status', '--json'], { cwd: project.dir, env: { HOME: home } })).stdout).runs[0];
  expect((await told()).resumable).toBe(true);
  rmSync(recordOf(project, id, { HOME: home }).events);
  expect((await told()).resumable).toBe(false);
});

test('what a later run of the same task has done is not proposed to be resumed', {
  tags: 'promise',
}, async () => {
  const project = repo();
  const agent = await fakeAgent('worker', says('not yet'), says('<response>DONE</response>'));
  const options = { cwd: project.dir, path: [agent.bin] };
  const go = (task: string) => ralph(['run', '-p', task, '--agent', 'worker', '-m', '1'], options);
  const proposed = async () => (await ralph(['status'], options)).stdout.includes('`ralph resume ');
  await go('one thing');
  const [first = ''] = readdirSync(project.path('.ralph/runs'));
  expect(await proposed()).toBe(true);
  await go('another thing');
  expect(await proposed()).toBe(true);
  await go('one thing');
  expect(await proposed()).toBe(false);
  expect((await ralph(['resume'], options)).stderr).toContain('no run here that can be resumed');
  // By its name it still can be.
  expect((await ralph(['resume', first, '--max-iterations', '2'], options)).code).toBe(0);
});

test('nor is a run whose branch was merged', async () => {
  const project = repo();
  const agent = await fakeAgent('worker', async turn => {
    await turn.shell('echo x > x; git add x; git commit -qm work');
    turn.exit();
  });
  const options = { cwd: project.dir, path: [agent.bin] };
  const args = [
    'loop',
    'go',
    '--check',
    'true',
    '--agent',
    'worker',
    '--max-iterations',
    '1',
    '--worktree',
    'w',
  ];
  await ralph(args, options);
  const shown = async () => (await ralph(['status'], options)).stdout;
  expect(await shown()).toContain('ralph resume');
  project.git('merge', '--quiet', 'ralph/w');
  expect(await shown()).not.toContain('ralph resume');
});
