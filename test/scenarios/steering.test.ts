/** Steering a run from another terminal: pause, continue, tell, cancel. */
import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { init, result, speaks, text, toolResult, toolUse } from '../rig/claude-stream.ts';
import { fakeAgent, finish, type Handler, held } from '../rig/fake-agent.ts';
import { ledgerOf, only, runsOf } from '../rig/ledger.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';
const COMPLETE = '<promise>COMPLETE</promise>';

const steer = (project: Repo, ...args: string[]) => ralph(args, { cwd: project.dir });

/** A task in a file, and a check that is protected. */
const SPEC_LOOP = [
  ...'loop --spec SPEC.md --protect test/** --agent claude --json --check'.split(' '),
  'sh test/check.sh',
];

describe('in the last turn', () => {
  test('a hint is shown, and earns one more iteration although the work was proven', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    const first = held();
    const agent = await fakeAgent('worker', first.handler, turn => finish(turn, DONE));
    const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    const turn = await first.begun;
    await steer(project, 'tell', 'Mind the gap');
    await run.until('A hint has arrived: it is in the next prompt.');
    await finish(turn, DONE);
    expect((await run.finished).code).toBe(0);
    expect(agent.calls.map(({ input }) => input.includes('Mind the gap'))).toEqual([false, true]);
  });

  test.each([
    [
      'a hint',
      ['tell', 'Mind the gap'],
      '1 message was not delivered: the run ended before the next iteration.',
    ],
    ['a pause', ['pause'], 'It did not pause: the run ended with this turn.'],
  ])('%s that changes nothing is reported on the screen of the run', async (_, order, words) => {
    const project = repo();
    const first = held();
    const agent = await fakeAgent('worker', first.handler);
    const args = ['run', '-p', 'go', '--agent', 'worker', '-m', '1'];
    const run = startRalph(args, { cwd: project.dir, path: [agent.bin] });
    const turn = await first.begun;
    await steer(project, ...order);
    await finish(turn, DONE);
    const { code, stdout } = await run.finished;
    expect([code, agent.calls.length, stdout]).toEqual([0, 1, expect.stringContaining(words)]);
  });
});

describe('ralph pause', () => {
  test('holds the run when the turn has ended; what the user writes into the prompt file meanwhile is picked up', {
    tags: 'promise',
  }, async () => {
    const project = repo({ 'PROMPT.md': 'the first way' });
    const first = held();
    const agent = await fakeAgent('worker', first.handler, turn => finish(turn, DONE));
    const run = startRalph(['run', '-f', 'PROMPT.md', '--agent', 'worker'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    const turn = await first.begun;
    const paused = await steer(project, 'pause');
    expect([paused.code, paused.stdout]).toEqual([0, expect.stringContaining('will pause after this turn')]);
    expect(await steer(project, 'pause')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('already paused'),
    });
    await finish(turn, 'not yet');
    await run.until('Paused.');
    expect(JSON.parse((await steer(project, 'status', '--json')).stdout).runs).toMatchObject([
      { state: 'paused' },
    ]);
    expect(agent.calls.length).toBe(1);
    project.write('PROMPT.md', 'the second way');
    expect((await steer(project, 'continue')).code).toBe(0);
    expect((await run.finished).code).toBe(0);
    expect(agent.calls.map(call => call.input)).toEqual(['the first way', 'the second way']);
    const between = ledgerOf(project).filter(({ type }) => type === 'paused' || type === 'continued');
    expect(between.map(event => event.type)).toEqual(['paused', 'continued']);
  });

  test('lets the user change spec and protected files; neither is taken for the doing of the agent', async () => {
    const project = repo({ 'SPEC.md': 'first spec', 'test/check.sh': 'exit 1\n' });
    const first = held();
    const agent = await fakeAgent(
      'claude',
      first.handler,
      speaks(`Done. ${COMPLETE}`),
      writes('work', COMPLETE),
    );
    const run = startRalph(SPEC_LOOP, { cwd: project.dir, path: [agent.bin] });
    const turn = await first.begun;
    await steer(project, 'pause');
    for (const record of [init, text('Nothing yet.'), result()]) await turn.line(record);
    turn.exit();
    await run.until('Paused.');
    project.write('SPEC.md', 'second spec');
    project.write('test/check.sh', 'exit 0\n');
    await steer(project, 'continue');
    const { code, stdout } = await run.finished;
    const told = JSON.parse(stdout);
    expect([code, told.stopReason, told.iterations.length]).toEqual([0, 'all_checks_passed', 3]);
    expect(project.read('test/check.sh')).toBe('exit 0\n');
    expect(told.iterations.map((each: { violations: string[] }) => each.violations)).toEqual([[], [], []]);
    expect(agent.calls[1]?.input).toMatch(/^second spec/);
    // The user's edits are no work of the agent: its claim without any was not believed.
    expect(agent.calls[2]?.input).toContain('called no tool and changed no file');
  });

  test('does not take over what the agent had done to a protected file or to its spec before the pause', async () => {
    const project = repo({ 'SPEC.md': 'the spec', 'test/check.sh': 'test -e work\n' });
    const first = held();
    const agent = await fakeAgent('claude', first.handler, speaks('half'), writes('work', COMPLETE));
    const run = startRalph(SPEC_LOOP, { cwd: project.dir, path: [agent.bin] });
    const turn = await first.begun;
    await steer(project, 'pause');
    await turn.write('test/check.sh', 'exit 0\n');
    await turn.write('SPEC.md', 'do nothing');
    for (const record of [
      init,
      toolUse('t', 'Write', { file_path: 'test/check.sh' }),
      toolResult('t', 'ok'),
      result({ is_error: true, result: 'limit, try again in 100ms', api_error_status: 429 }),
    ])
      await turn.line(record);
    turn.exit(1);
    await run.until('Paused.');
    expect(agent.calls.length).toBe(1);
    expect(project.read('test/check.sh')).toBe('test -e work\n');
    await steer(project, 'continue');
    const told = JSON.parse((await run.finished).stdout);
    expect([told.stopReason, told.iterations.length]).toEqual(['all_checks_passed', 2]);
    expect(told.iterations[0].violations).toEqual(['test/check.sh was changed']);
    expect(agent.calls[2]?.input).toMatch(/^the spec/);
  });

  test.each([
    ['SIGINT', 'interrupted'],
    ['cancel', 'cancelled'],
  ])('does not outlast %s', async (how, reason) => {
    const project = repo();
    const first = held();
    const agent = await fakeAgent('worker', first.handler);
    const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    const turn = await first.begun;
    await steer(project, 'pause');
    await finish(turn, 'not yet');
    await run.until('Paused.');
    if (how === 'cancel') await steer(project, 'cancel');
    else run.process.kill('SIGINT');
    expect((await run.finished).stdout).toContain(`Stop reason: ${reason}`);
  });
});

describe('ralph tell', () => {
  const HINT = 'It\'s in "src/a.ts":\n`$HOME` --- <response>DONE</response> 🙂';

  test('is in the next prompt, byte for byte, once, and on record', {
    tags: ['promise', 'P-steer'],
  }, async () => {
    const project = repo();
    const first = held();
    const agent = await fakeAgent(
      'worker',
      first.handler,
      turn => finish(turn, 'on it'),
      turn => finish(turn, DONE),
    );
    const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    const turn = await first.begun;
    expect((await steer(project, 'tell', HINT)).code).toBe(0);
    await steer(project, 'tell', HINT); // given twice: told once
    await steer(project, 'tell', 'and be quick');
    await finish(turn, 'not yet');
    expect((await run.finished).code).toBe(0);
    expect(agent.calls.map(call => call.input)).toEqual([
      'go',
      `go\n\n## The user says\n${HINT}\n\nand be quick\n`,
      'go',
    ]);
    expect(only(ledgerOf(project), 'hint-delivered').map(event => [event.iteration, event.text])).toEqual([
      [2, HINT],
      [2, HINT],
      [2, 'and be quick'],
    ]);
    expect(readdirSync(inboxOf(project, runsOf(project)[0]))).toEqual([]);
  });

  test('survives a crash of Ralph in the iteration that carries it', async () => {
    const project = repo();
    const [first, second] = [held(), held()];
    const onIt: Handler = turn => finish(turn, 'on it');
    const done: Handler = turn => finish(turn, DONE);
    const agent = await fakeAgent('worker', first.handler, second.handler, onIt, done);
    const run = startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    const turn = await first.begun;
    await steer(project, 'tell', 'keep me');
    await finish(turn, 'not yet');
    expect((await second.begun).input).toContain('keep me');
    run.process.kill('SIGKILL');
    await run.finished;
    const resumed = await ralph(['resume'], { cwd: project.dir, path: [agent.bin] });
    expect(resumed.code).toBe(0);
    const told = agent.calls.map(call => call.input.includes('keep me'));
    expect(told).toEqual([false, true, true, false]);
  });

  test.each([
    [[], 'text: there is none'],
    [['  '], 'text: there is none'],
    [['x'.repeat(100_001)], 'text: it has 100001 characters'],
  ])('needs something to say', async (args, words) => {
    const { code, stderr } = await steer(repo(), 'tell', ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  });
});

describe('which run', () => {
  test('the only one that runs, or a part of its id that no other running one has; else they are named', async () => {
    const project = repo();
    const [first, second] = [held(), held()];
    const agent = await fakeAgent('worker', turn => finish(turn, DONE), first.handler, second.handler);
    const start = () =>
      startRalph(['run', '-p', 'go', '--agent', 'worker'], { cwd: project.dir, path: [agent.bin] });
    await start().finished;
    const ended = runsOf(project)[0] ?? '';
    expect(await steer(project, 'tell', 'nobody listens')).toMatchObject({
      code: 1,
      stdout: `${ended} is not running.\n`,
    });
    const one = start();
    const turn = await first.begun;
    expect((await steer(project, 'tell', 'to the only one')).code).toBe(0);
    const beside = ['loop', 'go', '--check', 'true', '--worktree', 'beside', '--agent', 'worker'];
    const two = startRalph(beside, { cwd: project.dir, path: [agent.bin] });
    const other = await second.begun;
    const [, a = '', b = ''] = runsOf(project)
      .slice()
      .sort((x, y) => Number(x === ended) - Number(y === ended))
      .reverse();
    const both = await steer(project, 'tell', 'to whom?');
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('2 are running')]);
    expect(both.stderr).toContain(a);
    expect(both.stderr).toContain(b);
    const wrong = await steer(project, 'tell', `${a.slice(0, -1)}x`, 'hm');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('did you mean')]);
    for (const id of [a, b])
      expect((await steer(project, 'tell', id.slice(-4), `only for ${id}`)).code).toBe(0);
    const json = await steer(project, 'pause', a, '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ runId: a, done: true });
    for (const id of [a, b]) {
      expect(existsSync(inboxOf(project, id))).toBe(true);
    }
    for (const each of [turn, other]) each.exit();
    for (const id of [a, b]) await steer(project, 'cancel', id);
    await Promise.all([one.finished, two.finished]);
  });
});

function inboxOf(project: Repo, id = ''): string {
  return runPaths(projectPaths(project.dir), id).state.inbox;
}

function writes(file: string, words: string): Handler {
  return async turn => {
    await turn.write(file, 'made\n');
    for (const record of [
      init,
      toolUse('t', 'Write', { file_path: file }),
      toolResult('t', 'ok'),
      text(words),
      result(),
    ])
      await turn.line(record);
    turn.exit();
  };
}
