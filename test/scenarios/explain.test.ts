/** `ralph explain`: why it stopped and what to do next, from the ledger alone. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { init, writesFile } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { BIN, startRalph, testEnv } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const works = (words: string, file = 'a') => writesFile(file, () => String(Math.random()), words);
const DONE = 'All done. <promise>COMPLETE</promise>';

const explain = async (project: Repo) => {
  const { code, stdout, stderr } = await ralph(['explain', '--json'], { cwd: project.dir });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};

test('a run that is done: what proves it', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', works(DONE));
  await ralph(['loop', 'Do it', '--check', 'test -e a', '--agent', 'claude'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  const told = await explain(project);
  expect(told.outcome).toContain('Done: every check passes');
  expect(told.evidence).toEqual([
    expect.stringMatching(/^Proof: the checks passed in your folder; not tried in a clean checkout · /),
    expect.stringMatching(/^Check `test -e a` passed/),
    'The agent said that it is done in iteration 1, in its own words.',
  ]);
  expect(told.next).toEqual([
    `Take it over: \`ralph land ${told.runId}\`.`,
    expect.stringContaining('Review the changes'),
    ...told.next.slice(2),
  ]);
  expect((await ralph(['land'], { cwd: project.dir })).code).toBe(0);
  expect((await explain(project)).next.join()).not.toContain('Take it over');
});

test("a run without a check says that only the agent's own words support it", async () => {
  const project = repo();
  const agent = await fakeAgent('claude', works('<response>DONE</response>'));
  await ralph(['run', '-p', 'Say <response>DONE</response>', '--agent', 'claude'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  const { outcome, evidence } = await explain(project);
  expect(outcome).toContain('Nothing was checked: add `--check` or a guardrail.');
  expect(evidence[0]).toMatch(/^Proof: nothing was checked; there is only what agents say/);
  expect(evidence[1]).toBe("No guardrail ran: only the agent's own words support this result.");
});

test('a run that was not done: what was missing, since when, and who said otherwise', {
  tags: 'promise',
}, async () => {
  const project = repo();
  const agent = await fakeAgent('claude', works('not yet', 'ok'), works(DONE), works(DONE));
  await ralph(
    [
      'loop',
      'Do it',
      '--check',
      'test -e ok; exit 4',
      '--check',
      'true',
      '--agent',
      'claude',
      '--max-iterations',
      '3',
    ],
    { cwd: project.dir, path: [agent.bin] },
  );
  // From the ledger alone.
  rmSync(project.path('.ralph/ralph-progress.md'), { force: true });
  const told = await explain(project);
  expect(told.outcome).toContain('(max_iterations, exit code 1)');
  expect(told.evidence).toEqual([
    expect.stringMatching(
      /^Check `test -e ok; exit 4` failed with exit code 4 \(.+s\), failed in all of its 3 runs\. Output: \.ralph\/runs\//,
    ),
    '1 check passed.',
    'The agent said that it was done while a check failed, in iterations 2 and 3.',
  ]);
  expect(told.next.join()).toMatch(/Resume: `ralph resume \S+ --max-iterations 6` \(3 of 3 used\)/);
});

test('what happened on the way: violations, red from the start, failed turns', async () => {
  const project = repo({ 'test/t.sh': 'exit 1\n' });
  const agent = await fakeAgent('claude', works(DONE, 'test/t.sh'));
  await ralph(
    [
      'loop',
      'Do it',
      '--check',
      'sh test/t.sh',
      '--protect',
      'test/**',
      '--baseline',
      '--agent',
      'claude',
      '--max-iterations',
      '1',
    ],
    { cwd: project.dir, path: [agent.bin] },
  );
  const { onTheWay } = await explain(project);
  expect(onTheWay).toContain('Failing before the first iteration: 1 check.');
  expect(onTheWay).toContainEqual("Iteration 1: test/t.sh is protected: the agent's change was undone.");
});

test('a run that was killed, and one that is running', async () => {
  const project = repo();
  const { open: release, opened: released } = createGate();
  const agent = await fakeAgent('claude', async turn => {
    await turn.line(init);
    await released;
    turn.exit();
  });
  const running = startRalph(['loop', 'Do it', '--check', 'true', '--agent', 'claude', '--events', '-'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  await running.until('"type":"agent-started"');
  expect((await explain(project)).outcome).toMatch(
    /^Still running, in iteration 1 of 25: the agent is working \(/,
  );
  running.process.kill('SIGKILL');
  await running.finished;
  release();
  const told = await explain(project);
  expect(told.outcome).toMatch(
    /^Cut off in iteration 1 of 25: the process ended without a result .* Last state: the agent is working\.$/,
  );
  expect(told.next.join()).toContain('ralph resume');
});

test('fits a terminal of 80 columns', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', works(`${DONE} ${'long '.repeat(100)}`));
  await ralph(
    ['loop', 'Do it', '--check', `false ${'#'.repeat(200)}`, '--agent', 'claude', '--max-iterations', '2'],
    {
      cwd: project.dir,
      path: [agent.bin],
    },
  );
  const command = `stty cols 80; '${process.execPath}' '${BIN}' explain --no-color`;
  const { stdout } = spawnSync('script', ['-qefc', command, '/dev/null'], {
    cwd: project.dir,
    env: testEnv({}),
    encoding: 'utf8',
  });
  expect(stdout).toContain('Check `false');
  for (const line of stdout.split('\r\n')) expect(line.length).toBeLessThanOrEqual(80);
});
