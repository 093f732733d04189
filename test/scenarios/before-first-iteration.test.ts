/** A run that ends before its first iteration has done nothing: there is nothing to resume, and no reader says so. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { projectPaths } from '../../src/store/paths.ts';
import { listRuns } from '../../src/store/run-file.ts';
import { fakeAgent, says } from '../rig/fake-agent.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

const COMPLETE = '<promise>COMPLETE</promise>';

const loop = (...args: readonly string[]) => [
  'loop',
  'Do it',
  '--check',
  'true',
  '--agent',
  'worker',
  ...args,
];

/** What the readers say of all runs. */
async function readers(project: Repo) {
  const look = async (...args: string[]) => (await ralph(args, { cwd: project.dir })).stdout;
  return { status: await look('status'), explain: await look('explain') };
}

test('a setup that fails leaves no run, and its reason is the first line that names an error', {
  tags: 'promise',
}, async () => {
  const project = repo();
  const { bin } = await fakeAgent('worker', says(COMPLETE));
  const setup = 'echo installing; echo "npm error code E404"; echo "a complete log is in x.log"; exit 3';
  const ended = await ralph(loop('--worktree', 'two', '--setup', setup), { cwd: project.dir, path: [bin] });
  expect(ended.code).toBe(2);
  expect(ended.stderr).toContain('failed with exit code 3 in the new checkout: npm error code E404');
  expect(listRuns(projectPaths(project.dir))).toEqual([]);
  expect(existsSync(project.path('.ralph/runs')) ? readdirSync(project.path('.ralph/runs')) : []).toEqual([]);
  expect((await readers(project)).status).toContain('No runs here yet');
});

test('a setup that failed runs again in the worktree that it left', async () => {
  const project = repo();
  const agent = await fakeAgent('worker', async turn => {
    await turn.write('made', `${agent.calls.length}`);
    await turn.print(`${COMPLETE}\n`);
    turn.exit();
  });
  const world = { cwd: project.dir, path: [agent.bin] };
  const count = `${folder('count-').dir}/count`;
  const setup = `echo x >> "${count}"; test "$(wc -l < "${count}")" -gt 1`;
  const start = () => ralph(loop('--worktree', 'two', '--setup', setup), world);
  expect([(await start()).code, (await start()).code]).toEqual([2, 0]);
  expect(readFileSync(count, 'utf8')).toBe('x\nx\n');
  // Then it is ready.
  expect([(await start()).code, readFileSync(count, 'utf8')]).toEqual([0, 'x\nx\n']);
});

/** Resolves when the command, which then never ends by itself, has begun. */
function hanging() {
  const { dir } = folder('hanging-');
  const begun = `${dir}/begun`;
  return {
    command: `touch "${begun}"; exec tail -f /dev/null`,
    begun: () => expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true),
  };
}

test('Ctrl-C twice while the setup runs: exit code 130, and no run', async () => {
  const project = repo();
  const { bin } = await fakeAgent('worker', says(COMPLETE));
  const { command, begun } = hanging();
  const run = startRalph(loop('--worktree', 'two', '--setup', command), { cwd: project.dir, path: [bin] });
  await begun();
  run.process.kill('SIGINT');
  await run.until('Press Ctrl-C again');
  run.process.kill('SIGINT');
  const { code, stderr } = await run.finished;
  expect([code, stderr]).toEqual([130, expect.stringContaining('Interrupted before the first iteration')]);
  expect(listRuns(projectPaths(project.dir))).toEqual([]);
});

test.each([
  ['in its setup', (command: string) => ['--worktree', 'two', '--setup', command]],
  ['in the checks before its first iteration', (command: string) => ['--baseline', '--check', command]],
])('killed %s: it did not begin, and nobody proposes to resume it', async (_, args) => {
  const project = repo();
  const { bin } = await fakeAgent('worker', says(COMPLETE));
  const { command, begun } = hanging();
  const run = startRalph(loop(...args(command)), { cwd: project.dir, path: [bin] });
  await begun();
  run.process.kill('SIGKILL');
  await run.finished;
  const { status, explain } = await readers(project);
  const [id = ''] = listRuns(projectPaths(project.dir));
  expect(status).toContain('did not begin');
  expect(status).not.toMatch(/crashed|ralph resume/);
  expect(explain).toContain(id);
  expect(explain).toContain(
    'It did not begin: it was cut off before its first iteration, and nothing was done.',
  );
  expect(explain).not.toContain('ralph resume');
  // It is the latest: no command needs its id.
  expect(explain).toContain('Log: `ralph log`');
});

test('Ctrl-C in the checks before the first iteration: interrupted, with nothing to resume', async () => {
  const project = repo();
  const { bin } = await fakeAgent('worker', says(COMPLETE));
  const { command, begun } = hanging();
  const run = startRalph(loop('--baseline', '--check', command), { cwd: project.dir, path: [bin] });
  await begun();
  run.process.kill('SIGINT');
  await run.until('Press Ctrl-C again');
  run.process.kill('SIGINT');
  const { code, stdout } = await run.finished;
  expect(code).toBe(130);
  expect(stdout).toContain('Nothing was done: start it again with the same command');
  const { status, explain } = await readers(project);
  expect(stdout + status + explain).not.toContain('ralph resume');
});
