/** One loop a directory: a live one refuses a second, a dead one does not, and another worktree is another loop. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { STATES, story } from '../domain/stories/stories.ts';
import { type FakeTurn, fakeAgent } from '../rig/fake-agent.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { change, handIn, prdRepo, prdRun, say, storyOf, tasks, UNCHANGED, works } from '../rig/stories.ts';

/** An agent whose turns wait until they are told to go on. */
async function patientAgent() {
  const turns: FakeTurn[] = [];
  let waiting: ((turn: FakeTurn) => void) | undefined;
  const agent = await fakeAgent('claude', turn => {
    if (waiting) waiting(turn);
    else turns.push(turn);
    waiting = undefined;
  });
  const next = () =>
    new Promise<FakeTurn>(resolve => {
      const turn = turns.shift();
      if (turn) resolve(turn);
      else waiting = resolve;
    });
  return { agent, next };
}

const start = (dir: string, bin: string, ...args: string[]) =>
  startRalph(['prd', 'run', '--agent', 'claude', '-n', '1', '--json', ...args], { cwd: dir, path: [bin] });

test('a second loop is refused, and hears which one is running; nothing of the first is touched', {
  tags: ['promise', 'P-prd-one'],
}, async () => {
  const project = prdRepo();
  const { agent, next } = await patientAgent();
  const first = start(project.dir, agent.bin);
  const steered = await next();
  const marker = project.read('.ralph-active');
  const other = await fakeAgent('claude', works(project, UNCHANGED));
  const second = await prdRun(project, other.bin);
  expect([second.code, other.calls.length]).toEqual([2, 0]);
  expect(second.stderr).toMatch(/a loop is already running in this directory: process \d+, run \S+, since /);
  expect(second.stderr).toContain('or work in another worktree');
  expect(project.read('.ralph-active')).toBe(marker);
  const archive = await ralph(['prd', 'archive', '--force'], { cwd: project.dir });
  expect([archive.code, existsSync(project.path('ralph-archive'))]).toEqual([2, false]);
  const status = await ralph(['prd', 'status', '--json'], { cwd: project.dir });
  expect(JSON.parse(status.stdout).loop).toMatchObject({
    pid: first.process.pid,
    mode: 'implement',
    story: 'US-001',
  });
  await say(steered, 'x');
  expect((await first.finished).code).toBe(1);
  expect(existsSync(project.path('.ralph-active'))).toBe(false);
});

test('also when the agent has deleted the mark', async () => {
  const project = prdRepo();
  const { agent, next } = await patientAgent();
  const first = start(project.dir, agent.bin);
  const steered = await next();
  rmSync(project.path('.ralph-active'));
  const second = await prdRun(project, agent.bin);
  expect([second.code, second.stderr]).toEqual([2, expect.stringContaining('a loop is already running')]);
  await say(steered, 'x');
  await first.finished;
});

test('the mark of a loop that is gone is cleared, and that is said', async () => {
  const project = prdRepo();
  for (const marker of [
    { pid: 2 ** 22 - 1, started: '1' },
    { pid: process.pid, started: 'another process that had this number' },
    { pid: 2 ** 22 - 1 },
  ]) {
    project.write('.ralph-active', JSON.stringify(marker));
    const agent = await fakeAgent('claude', works(project, UNCHANGED));
    const { code, stderr } = await prdRun(project, agent.bin, '-n', '1');
    expect([code, agent.calls.length]).toEqual([1, 1]);
    expect(stderr).toContain(
      `Removed .ralph-active, which was left by process ${marker.pid} that no longer runs.`,
    );
  }
});

test('another worktree is another loop', async () => {
  const project = prdRepo();
  project.git('worktree', 'add', '--quiet', `${project.dir}-second`, '-b', 'second');
  const { agent, next } = await patientAgent();
  const first = start(project.dir, agent.bin);
  const steered = await next();
  const second = { ...project, dir: `${project.dir}-second` };
  const list = JSON.stringify({ ...tasks(project), branchName: 'second' });
  writeFileSync(`${second.dir}/ralph/tasks.json`, list);
  const other = await fakeAgent('claude', each => say(each, 'x'));
  const { code, result } = await prdRun(second, other.bin, '-n', '1');
  expect([code, result.stopReason, other.calls[0]?.cwd]).toEqual([1, 'max_iterations', second.dir]);
  await say(steered, 'x');
  await first.finished;
  rmSync(second.dir, { recursive: true });
});

test('a signal ends the loop in good order: settled, the mark gone, exit code 130', async () => {
  const project = prdRepo();
  const { agent, next } = await patientAgent();
  const run = startRalph(['prd', 'run', '--agent', 'claude'], { cwd: project.dir, path: [agent.bin] });
  const steered = await next();
  run.process.kill('SIGINT');
  await run.until('Received signal');
  await works(project, list => ({ ...(handIn()(list) as object), userStories: [] }))(steered);
  expect((await run.finished).code).toBe(130);
  expect(existsSync(project.path('.ralph-active'))).toBe(false);
  expect(storyOf(project)).toMatchObject({ reviewStatus: null, passes: false });
});

test('while it is paused the list is the user’s: what he leaves is trusted', async () => {
  const project = prdRepo(story('US-001', { notes: '' }), story('US-002', { notes: '' }));
  const { agent, next } = await patientAgent();
  const run = startRalph(['prd', 'run', '--agent', 'claude', '-n', '2', '--json'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  const steered = await next();
  await ralph(['pause'], { cwd: project.dir });
  await works(project, change('US-002', STATES.approved))(steered);
  await run.until('Paused');
  expect(storyOf(project, 'US-002')).toMatchObject({ passes: false, reviewStatus: null });
  project.write(
    'ralph/tasks.json',
    JSON.stringify(change('US-001', { ...STATES.approved, notes: 'mine' })(tasks(project))),
  );
  project.write('ralph/prompt.md', 'A new prompt for $RALPH_STORY.\n');
  await ralph(['continue'], { cwd: project.dir });
  const second = await next();
  expect(second.input).toContain('A new prompt for US-002.');
  await say(second, 'x');
  const { stdout } = await run.finished;
  expect(JSON.parse(stdout)).toMatchObject({ stories: { done: 1 }, iterations: [{}, { violations: [] }] });
  expect(storyOf(project)).toMatchObject({ passes: true, reviewStatus: 'approved' });
});
