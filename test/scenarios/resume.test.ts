import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, test } from 'vitest';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { init, result, text, toolResult, toolUse, writesFile } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler, says } from '../rig/fake-agent.ts';
import { recordOf, writeKilled } from '../rig/ledger.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';
const COMPLETE = '<promise>COMPLETE</promise>';
const LOOP = ['loop', 'Make it', '--agent', 'claude'];

const writes = (file: string, words: string) => writesFile(file, `${file}\n`, words);

/** Writes a file, says so, and never ends. */
const hangs =
  (file: string): Handler =>
  async turn => {
    await turn.line(init);
    await turn.write(file, `half of ${file}\n`);
    await turn.line(text('half way'));
  };

function runId(project: Repo): string {
  return readdirSync(project.path('.ralph/runs')).sort().at(-1) ?? '';
}

function events(project: Repo): { type: string; [key: string]: unknown }[] {
  const lines = project
    .read(`.ralph/runs/${runId(project)}/events.jsonl`)
    .trim()
    .split('\n');
  return lines.map(line => JSON.parse(line));
}

/** Starts it, waits for the words, kills it. */
async function killedAt(words: string, args: readonly string[], project: Repo, bin: string): Promise<void> {
  const run = startRalph([...args], { cwd: project.dir, path: [bin] });
  await run.until(words);
  run.process.kill('SIGKILL');
  await run.finished;
}

/** Without the line breaks of a terminal. */
function flat(words: string): string {
  return words.replace(/\s+/g, ' ');
}

async function resume(project: Repo, bin: string, ...args: string[]) {
  const finished = await ralph(['resume', ...args, '--json'], { cwd: project.dir, path: [bin] });
  const stderr = flat(finished.stderr);
  return {
    ...finished,
    stderr,
    result: finished.stdout.startsWith('{') ? JSON.parse(finished.stdout) : undefined,
  };
}

describe('a run that was killed', () => {
  test('in the turn of its agent takes that turn again, under the same number', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writes('a', 'on my way'), hangs('b'), writes('b', COMPLETE));
    const args = [...LOOP, '--check', 'test -e a', '--check', 'grep -qx b b'];
    await killedAt('half way', args, project, agent.bin);
    const id = runId(project);
    const { code, result: told, stderr } = await resume(project, agent.bin);
    expect([code, told.stopReason, told.runId]).toEqual([0, 'all_checks_passed', id]);
    expect(told.iterations.map((each: { iteration: number }) => each.iteration)).toEqual([1, 2]);
    expect(stderr).toContain("iteration 2 was cut off during the agent's turn");
    expect(stderr).toContain('+half of b');
    expect(project.read(`.ralph/runs/${id}/iterations/0002/cut-off.diff`)).toContain('+half of b');
    const [, second, again] = agent.calls;
    expect(again?.input).toContain('This is iteration 2 of 25.');
    expect(again?.input).toContain('Your last turn was interrupted. What it did is still in the files.');
    expect(again?.input).toContain('`grep -qx b b` failed');
    expect(second?.input).not.toContain('interrupted');
    const log = await ralph(['log'], { cwd: project.dir });
    expect(log.stderr).toBe('');
    expect(log.stdout).toContain('Resumed: iteration 2 was cut off');
  });

  test('in a check does not ask its agent again', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writes('a', `All there. ${COMPLETE}`));
    const check = 'test -e .ralph/free || { echo waiting >> checked; sleep 1000; }';
    const run = startRalph([...LOOP, '--check', check, '--check', 'test -e a'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    await run.until('Check "test -e .ralph/free');
    run.process.kill('SIGKILL');
    await run.finished;
    project.write('.ralph/free', '');
    const { code, result: told } = await resume(project, agent.bin);
    expect([code, agent.calls.length, told.iterations.length, told.totalCost]).toEqual([0, 1, 1, 0.01]);
    expect(told.iterations[0]).toMatchObject({
      toolCalls: 1,
      completionTagFound: true,
      allChecksPassed: true,
    });
  });

  test('with a torn last line in its ledger has that repaired, and says so', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('a'), writes('a', COMPLETE));
    await killedAt('half way', [...LOOP, '--check', 'test -e a'], project, agent.bin);
    appendFileSync(recordOf(project, runId(project)).events, '{"seq":7,"at":"20');
    const { code, stderr } = await resume(project, agent.bin);
    expect(code).toBe(0);
    expect(stderr).toContain('The last line of the ledger was not complete: 17 bytes were cut off.');
    expect((await ralph(['log'], { cwd: project.dir })).stderr).toBe('');
  });

  test('elsewhere, of which there is only a copy here, is not resumed, whatever is accepted', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('a'));
    await killedAt('half way', [...LOOP, '--check', 'test -e a'], project, agent.bin);
    rmSync(recordOf(project, runId(project)).folder, { recursive: true });
    for (const more of [[], ['--accept-changes']]) {
      const { code, stderr } = await resume(project, agent.bin, runId(project), ...more);
      expect([code, agent.calls.length]).toEqual([2, 1]);
      expect(stderr.replace(/\s+/g, ' ')).toContain('it cannot be resumed here. The ledger was not recorded');
    }
  });

  test('is refused when its ledger has been changed, unless that is accepted', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('a'), writes('a', COMPLETE));
    await killedAt('half way', [...LOOP, '--check', 'test -e a'], project, agent.bin);
    const ledger = recordOf(project, runId(project)).events;
    writeFileSync(ledger, readFileSync(ledger, 'utf8').replace('"maxIterations":25', '"maxIterations":99'));
    const refused = await resume(project, agent.bin);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/the ledger has been changed: line \d+ does not follow/);
    expect(await resume(project, agent.bin, '--accept-changes')).toMatchObject({ code: 0 });
  });

  test('keeps a prompt of any size and kind, byte for byte', async () => {
    const project = repo();
    const prompt = `'"$HOME\`x\`;---\n<promise>\r\n😀 ${'long '.repeat(20_000)}${DONE}\n`;
    const agent = await fakeAgent('claude', hangs('a'), writes('a', DONE));
    await killedAt('half way', ['run', '-p', prompt, '--agent', 'claude'], project, agent.bin);
    expect(await resume(project, agent.bin)).toMatchObject({ code: 0 });
    expect(agent.calls[0]?.input).toBe(prompt);
    expect(agent.calls[1]?.input.startsWith(prompt)).toBe(true);
  });

  test('reads its prompt file anew', async () => {
    const project = repo({ 'PROMPT.md': `first ${DONE}` });
    const agent = await fakeAgent('claude', hangs('a'), writes('a', DONE));
    await killedAt('half way', ['run', '-f', 'PROMPT.md', '--agent', 'claude'], project, agent.bin);
    project.write('PROMPT.md', `second ${DONE}`);
    expect(await resume(project, agent.bin)).toMatchObject({ code: 0 });
    expect(agent.calls[1]?.input).toContain('second');
  });

  test('counts what was spent before: the budget is the same', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writes('a', 'one'), hangs('b'), writes('c', 'three'));
    const args = [...LOOP, '--check', 'false', '--max-cost', '0.02'];
    await killedAt('half way', args, project, agent.bin);
    const { code, result: told } = await resume(project, agent.bin);
    const numbers = told.iterations.map((each: { iteration: number }) => each.iteration);
    expect([code, told.stopReason, numbers]).toEqual([1, 'budget_exhausted', [1, 2]]);
    expect(told.totalCost).toBeCloseTo(0.02, 3); // and what the turn that was cut off is estimated to have cost
  });

  test('goes on in its worktree, also when it is asked from a folder inside', async () => {
    const project = repo({ 'sub/x': 'x\n' });
    const agent = await fakeAgent('claude', writes('a', 'on'), hangs('b'), writes('b', COMPLETE));
    const args = [...LOOP, '--worktree=w', '--check', 'grep -qx b b'];
    await killedAt('half way', args, project, agent.bin);
    const { code, stdout } = await ralph(['resume', '--json'], {
      cwd: project.path('sub'),
      path: [agent.bin],
    });
    expect([code, JSON.parse(stdout).branch]).toEqual([0, 'ralph/w']);
    expect(agent.calls.map(call => call.cwd)).toEqual(Array(3).fill(project.path('.ralph/worktrees/w')));
    expect(existsSync(project.path('b'))).toBe(false);
  });

  test('is refused when its worktree is gone', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('b'));
    await killedAt('half way', [...LOOP, '--worktree=w', '--check', 'true'], project, agent.bin);
    project.git('worktree', 'remove', '--force', '.ralph/worktrees/w');
    const { code, stderr } = await resume(project, agent.bin);
    expect(code).toBe(2);
    expect(stderr).toContain('worktree w: it is gone, and with it the work of the run');
  });

  test('and is said to be on its branch where it was committed, with the command that brings it back', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('b'), writes('b', COMPLETE));
    await killedAt('half way', [...LOOP, '--worktree=w', '--check', 'test -e made'], project, agent.bin);
    project.write('.ralph/worktrees/w/made', 'made\n');
    project.git('-C', '.ralph/worktrees/w', 'add', 'made');
    project.git('-C', '.ralph/worktrees/w', 'commit', '--quiet', '-m', 'made');
    project.git('worktree', 'remove', '--force', '.ralph/worktrees/w');
    const { code, stderr } = await resume(project, agent.bin);
    expect([code, stderr]).toEqual([2, expect.stringContaining('its commits are on ralph/w')]);
    const [, words = ''] = /`(git [^`]*worktree add [^`]*)`/.exec(stderr) ?? [];
    execFileSync('sh', ['-c', words], { stdio: 'ignore' });
    expect((await resume(project, agent.bin)).code).toBe(0);
    expect(project.read('.ralph/worktrees/w/made')).toBe('made\n');
  });

  test('has the lock cleared that a killed git left behind, and no other', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('a'), hangs('a'), writes('a', COMPLETE));
    await killedAt('half way', [...LOOP, '--check', 'test -e a'], project, agent.bin);
    const lock = project.path('.git/index.lock');
    writeFileSync(lock, '');
    utimesSync(lock, new Date(1e9), new Date(1e9));
    const run = startRalph(['resume'], { cwd: project.dir, path: [agent.bin] });
    await run.until('half way');
    expect(existsSync(lock)).toBe(true);
    run.process.kill('SIGKILL');
    await run.finished;
    utimesSync(lock, new Date(), new Date());
    const { code, stderr } = await resume(project, agent.bin);
    expect([code, existsSync(lock)]).toEqual([0, false]);
    expect(stderr).toContain('was left behind by a git that was killed: removed');
  });
});

describe('protected files', () => {
  const args = [...LOOP, '--check', 'grep -qx original test/t', '--protect', 'test/**'];

  test('are compared with what they were at the start of the run, not of its resumption', async () => {
    const project = repo({ 'test/t': 'original\n' });
    const tampers: Handler = async turn => {
      await turn.line(init);
      await turn.write('test/t', 'tampered\n');
      await turn.line(text('half way'));
    };
    const agent = await fakeAgent('claude', tampers, writes('a', COMPLETE));
    await killedAt('half way', args, project, agent.bin);
    expect(project.read('test/t')).toBe('tampered\n');
    const { code, result: told } = await resume(project, agent.bin);
    expect(code).toBe(0);
    expect(told.iterations[0].violations).toEqual(['test/t was changed']);
    expect(project.read('test/t')).toBe('original\n');
  });

  test('that were kept and changed since are not taken for the real ones', async () => {
    const project = repo({ 'test/t': 'original\n' });
    const agent = await fakeAgent('claude', hangs('a'));
    await killedAt('half way', args, project, agent.bin);
    const folder = runPaths(projectPaths(project.dir), runId(project)).state.kept;
    const kept = readdirSync(folder).map(name => `${folder}/${name}`);
    for (const path of kept)
      if (readFileSync(path, 'utf8') === 'original\n') writeFileSync(path, 'tampered\n');
    const { code, stderr } = await resume(project, agent.bin);
    expect(code).toBe(2);
    expect(stderr).toContain(
      'the protected files that were kept at the start of the run are not what they were',
    );
  });
});

describe('who may resume', () => {
  test('a run that is alive is refused, by number and start time', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('a'), writes('a', COMPLETE));
    const run = startRalph([...LOOP, '--check', 'test -e a'], { cwd: project.dir, path: [agent.bin] });
    await run.until('half way');
    const refused = await resume(project, agent.bin, runId(project));
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`it is running (process ${run.process.pid})`);
    expect((await resume(project, agent.bin)).stderr).toContain('there is no run here that can be resumed');
    run.process.kill('SIGKILL');
    await run.finished;
    // The number has been given to somebody else since: this very process.
    const file = runPaths(projectPaths(project.dir), runId(project)).live;
    const told = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...told, process: { pid: process.pid, started: '1' } }));
    expect(await resume(project, agent.bin)).toMatchObject({ code: 0 });
  });

  test('of two at once, exactly one', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('a'), writes('a', COMPLETE));
    await killedAt('half way', [...LOOP, '--check', 'test -e a'], project, agent.bin);
    const id = runId(project);
    const both = await Promise.all([1, 2, 3].map(() => resume(project, agent.bin, id)));
    expect(both.map(each => each.code).sort()).toEqual([0, 2, 2]);
    expect(agent.calls.length).toBe(2);
    expect(events(project).filter(event => event.type === 'run-resumed').length).toBe(1);
  });

  test.each([
    [
      'done',
      'it is done (start a new run)',
      [says(`${DONE}\n`)],
      ['run', '-p', `x ${DONE}`, '--agent', 'worker'],
    ],
    [
      'out of iterations',
      '--max-iterations 2`)',
      [says('no\n')],
      ['run', '-p', `x ${DONE}`, '--agent', 'worker', '-m', '1'],
    ],
  ] as const)('not a run that is %s', async (_, words, handlers, args) => {
    const project = repo();
    const agent = await fakeAgent('worker', ...handlers);
    await ralph([...args], { cwd: project.dir, path: [agent.bin] });
    const { code, stderr } = await resume(project, agent.bin, runId(project));
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });

  test('nobody, where there is nothing', async () => {
    const { code, stderr } = await ralph(['resume'], { cwd: repo().dir });
    expect(code).toBe(2);
    expect(stderr).toContain('there is no run here that can be resumed');
  });

  test('not a run that died while it was being created', async () => {
    const project = repo();
    mkdirSync(project.path('.ralph/runs/20261115-000000-abcd'), { recursive: true });
    const { code, stderr } = await ralph(['resume', 'abcd'], { cwd: project.dir });
    expect(code).toBe(2);
    expect(stderr).toContain('it was cut off while it was being created');
  });
});

describe('a run that has stopped', () => {
  test('goes on with a raised limit, under the next number, and is told what was red', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', writes('a', 'one'), writes('b', COMPLETE));
    const first = await ralph([...LOOP, '--check', 'test -e b', '--max-iterations', '1'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(first.code).toBe(1);
    expect(flat(first.stdout)).toContain('Resume: `ralph resume --max-iterations 2` (1 of 1 used)');
    const { code, result: told } = await resume(project, agent.bin, '--max-iterations', '3');
    expect([code, told.iterations.length]).toEqual([0, 2]);
    expect(agent.calls[1]?.input).toContain('This is iteration 2 of 3.');
    expect(agent.calls[1]?.input).toContain('`test -e b` failed');
    expect(agent.calls[1]?.input).not.toContain('interrupted');
  });

  test('by Ctrl-C goes on, and what was broken off is taken again', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('a'), writes('a', COMPLETE));
    const run = startRalph([...LOOP, '--check', 'test -e a'], { cwd: project.dir, path: [agent.bin] });
    await run.until('half way');
    run.process.kill('SIGINT');
    await run.until('shutting down');
    run.process.kill('SIGINT');
    const { code: stopped, stdout } = await run.finished;
    expect(stopped).toBe(130);
    expect(flat(stdout)).toContain('Resume: `ralph resume` ');
    const { code, result: told } = await resume(project, agent.bin);
    expect([code, told.iterations.length, told.iterations[0].error]).toEqual([0, 1, null]);
  });

  test('by Ctrl-C before its checks runs them, and does not ask its agent again', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', async turn => {
      await turn.line(init);
      await turn.line(toolUse('t', 'Write', { file_path: 'a' }));
      await turn.write('a', 'a\n');
      await turn.line(toolResult('t', 'written'));
      await turn.line(text('half way'));
      process.kill(Number(run.process.pid), 'SIGINT');
      await run.until('shutting down');
      await turn.line(text(COMPLETE));
      await turn.line(result());
      turn.exit();
    });
    const run = startRalph([...LOOP, '--check', 'test -e a'], { cwd: project.dir, path: [agent.bin] });
    expect((await run.finished).code).toBe(130);
    const { code, result: told } = await resume(project, agent.bin);
    expect([code, agent.calls.length, told.iterations.length]).toEqual([0, 1, 1]);
  });

  test('by ralph cancel goes on, and is not cancelled again', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('a'), writes('a', COMPLETE));
    const run = startRalph([...LOOP, '--check', 'test -e a'], { cwd: project.dir, path: [agent.bin] });
    await run.until('half way');
    await ralph(['cancel'], { cwd: project.dir });
    expect((await run.finished).code).toBe(1);
    expect(await resume(project, agent.bin)).toMatchObject({ code: 0 });
  });

  test('because it was stuck gets its tries again', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', ...Array(3).fill(writes('a', 'same')), writes('b', COMPLETE));
    const args = [...LOOP, '--check', 'test -e b', '--stuck-after', '1'];
    const first = await ralph(args, { cwd: project.dir, path: [agent.bin] });
    expect(flat(first.stdout)).toContain('Stop reason: stuck');
    const { result: told } = await resume(project, agent.bin);
    expect(told.stopReason).toBe('all_checks_passed');
  });
});

describe('the settings', () => {
  test('that have changed since are shown, all of them, and must be accepted', async () => {
    const project = repo();
    project.settings({ maxFailures: 3, agents: { a: { command: 'claude', flags: ['--api-key', 'sk-1'] } } });
    const agent = await fakeAgent('claude', hangs('a'), writes('a', COMPLETE));
    await killedAt('half way', ['loop', 'x', '--agent', 'a', '--check', 'test -e a'], project, agent.bin);
    // A secret is not among what can be compared; it comes from the settings as they are now.
    const flags = ['--api-key', 'sk-2'];
    project.settings({ maxFailures: 5, stuckAfter: 9, agents: { a: { command: 'claude', flags } } });
    const refused = await resume(project, agent.bin);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('maxFailures: was 3, is 5');
    expect(refused.stderr).toContain('stuckAfter: was 3, is 9');
    expect(refused.stderr).not.toContain('agents:');
    expect(refused.stderr).toContain('--accept-changes');
    const { code, stderr } = await resume(project, agent.bin, '--accept-changes');
    expect(code).toBe(0);
    expect(stderr).toContain('Changed since the start: maxFailures: was 3, is 5');
    expect(agent.calls[1]?.argv).toContain('sk-2');
    expect(project.read(`.ralph/runs/${runId(project)}/run.json`)).not.toMatch(/sk-[12]/);
  });

  test('with a secret of the environment in them are kept and shown without it, resumed too', async () => {
    const project = repo();
    const secret = 'correct-horse-battery-staple-42';
    const env = { SERVICE_TOKEN: secret };
    project.settings({ checks: [`test -n ${secret} && test -e a`] });
    const agent = await fakeAgent('claude', hangs('a'), writes('a', COMPLETE));
    const run = startRalph([...LOOP], { cwd: project.dir, path: [agent.bin], env });
    await run.until('half way');
    run.process.kill('SIGKILL');
    await run.finished;
    const { code, stderr, stdout } = await ralph(['resume'], { cwd: project.dir, path: [agent.bin], env });
    expect([code, stderr], 'nothing has changed').toEqual([0, expect.not.stringContaining('Changed since')]);
    expect(stdout).not.toContain(secret);
    expect(project.read(`.ralph/runs/${runId(project)}/run.json`)).not.toContain(secret);
  });

  test('of flags are those of the start', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs('a'), writes('a', `${COMPLETE} <promise>READY</promise>`));
    const args = [...LOOP, '--check', 'test -e a', '--completion-tag', 'READY', '--model', 'opus'];
    await killedAt('half way', args, project, agent.bin);
    expect(await resume(project, agent.bin)).toMatchObject({ code: 0 });
    expect(agent.calls[1]?.argv).toContain('opus');
  });
});

test('ralph status marks what can be resumed and says how', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', hangs('a'));
  await killedAt('half way', [...LOOP, '--check', 'test -e a'], project, agent.bin);
  const { stdout } = await ralph(['status'], { cwd: project.dir });
  expect(stdout).toContain(`${runId(project)}  > crashed`);
  expect(stdout).toContain('Resume: `ralph resume`');
  const json = JSON.parse((await ralph(['status', '--json'], { cwd: project.dir })).stdout);
  expect(json.runs[0]).toMatchObject({ state: 'crashed', resumable: true });
});

test('a commit or a push that was made and not recorded is recognised, and not made again', {
  tags: ['promise', 'P-nothing-lost'],
}, async () => {
  const project = repo();
  project.git('init', '--quiet', '--bare', '.git/remote');
  project.git('remote', 'add', 'origin', project.path('.git/remote'));
  project.git('push', '--quiet', '--set-upstream', 'origin', 'main');
  project.settings({ scm: { command: 'git', tasks: ['commit', 'push'] } });
  const agent = await fakeAgent('claude', writes('a', DONE), says('Add a\n'));
  await ralph(['run', '-p', `x ${DONE}`, '--agent', 'claude'], { cwd: project.dir, path: [agent.bin] });
  const ledger = recordOf(project, runId(project)).events;
  const whole = readFileSync(ledger, 'utf8').split('\n');
  for (const task of ['commit', 'push']) {
    const cut = whole.findIndex(line => line.includes('"scm-started"') && line.includes(task));
    writeKilled(ledger, whole.slice(0, cut + 1));
    const { code } = await resume(project, agent.bin);
    expect(code).toBe(0);
    const kept = events(project).filter(event => event.type === 'scm');
    expect(kept).toMatchObject([
      { task: 'commit', outcome: 'done', detail: 'Add a' },
      { task: 'push', outcome: 'done' },
    ]);
  }
  expect(project.git('log', '--format=%s').trim().split('\n')).toEqual(['Add a', 'start']);
  expect(agent.calls.length).toBe(2);
});
