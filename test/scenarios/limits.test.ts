/** Limits on money, tokens and time through the real bin: with numbers that nobody knows, kills, jumps of the clock and long timers. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { LoopResult } from '../../src/domain/run/result.ts';
import { init, result, speaks, text } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { type FakeTurn, fakeAgent, type Handler, says } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { ledgerOf, only, recordOf, runsOf } from '../rig/ledger.ts';
import { BIN, startRalph, testEnv } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';

async function run(project: Repo, bin: string, ...args: string[]) {
  const { code, stdout, stderr } = await ralph(['run', '-p', 'go', '--json', ...args], {
    cwd: project.dir,
    path: [bin],
  });
  return { code, told: JSON.parse(stdout) as LoopResult, stderr: stderr.replace(/\s+/g, ' ') };
}

const tokensOf = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
});

/** A message of the model that cost so many tokens. */
function message(words: string, input: number, output = 0) {
  const record = text(words);
  return { ...record, message: { ...record.message, usage: tokensOf(input, output) } };
}

const costs = (usd: number | undefined): Handler => speaks('working', { total_cost_usd: usd });

describe('--max-cost', () => {
  test('is kept on what is known when a turn reports no cost, and that is said', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', costs(1), costs(undefined), costs(1));
    // A model without a list price: nothing but what the agent says.
    const args = ['--agent', 'claude', '--model', 'a-model-of-mine', '--max-cost', '2', '-m', '7'];
    const { told } = await run(project, agent.bin, ...args);
    expect([told.stopReason, told.iterations.length, told.totalCost, told.unreportedCalls]).toEqual([
      'budget_exhausted',
      3,
      2,
      1,
    ]);
    expect(told.detail).toBe('$2.00 of $2.00 spent (1 more call reported no cost).');
    const [id = ''] = runsOf(project);
    const report = await ralph(['report', id], { cwd: project.dir });
    expect(report.stdout).toContain('1 call reported no cost');
  });

  test('ends a turn of claude from inside, by an estimate that is marked as one', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', async turn => {
      await turn.line(init);
      await turn.line(message('reading', 1_000));
      await turn.line(message('reading on', 1_000_000));
    });
    const { told, stderr } = await run(project, agent.bin, '--agent', 'claude', '--max-cost', '3');
    expect([told.stopReason, told.iterations[0]?.error]).toEqual(['budget_exhausted', 'ended by max-cost']);
    expect(told.iterations[0]).toMatchObject({ cost: expect.closeTo(4.004), costSource: 'estimated' });
    expect(stderr).toContain('--max-cost is kept within a turn by an estimate');
    expect(told.detail).toContain('about $4.00 of $3.00');
  });

  test('believes the cost that the agent reports at the end of a turn, and not the estimate', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', async turn => {
      await turn.line(init);
      await turn.line(message(DONE, 500_000));
      await turn.line(result({ total_cost_usd: 0.5 }));
      turn.exit();
    });
    const { told } = await run(project, agent.bin, '--agent', 'claude', '--max-cost', '3');
    expect(told.iterations[0]).toMatchObject({ cost: 0.5, costSource: 'agent' });
    expect([told.stopReason, told.totalCost]).toEqual(['promise_accepted', 0.5]);
  });

  test('is accepted for codex, by an estimate, and says that it stops between two turns', async () => {
    const project = repo();
    const agent = await fakeAgent('codex', codexTurn(1_000_000, 100_000));
    const { told, stderr } = await run(project, agent.bin, '--agent', 'codex', '--max-cost', '5');
    expect([told.stopReason, told.iterations.length, told.totalCost]).toEqual(['budget_exhausted', 2, 6]);
    expect(told.iterations[0]).toMatchObject({ cost: 3, costSource: 'estimated' });
    expect(stderr).toContain('between two turns, not within one, by an estimate');
    expect(stderr).toContain('the list price of gpt-6.1-sol');
  });

  test('takes the prices of the settings before those that come with Ralph', async () => {
    const project = repo();
    project.settings({ prices: { 'gpt-': { input: 10, output: 0 } } });
    const agent = await fakeAgent('codex', codexTurn(1_000_000, 100_000));
    const args = ['--agent', 'codex', '--model', 'gpt-6.1-sol', '--max-cost', '5'];
    const { told, stderr } = await run(project, agent.bin, ...args);
    expect(told.iterations).toMatchObject([{ cost: 10, costSource: 'prices' }]);
    expect(stderr).toContain('your prices');
  });

  test('is refused for a model of codex that has no price', async () => {
    const project = repo();
    const agent = await fakeAgent('codex', codexTurn(1, 1));
    const args = ['run', '-p', 'x', '--agent', 'codex', '--model', 'gpt-99', '--max-cost', '5'];
    const { code, stderr } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
    expect([code, agent.calls.length]).toEqual([2, 0]);
    expect(stderr).toContain('codex does not report what it costs');
  });

  test('leaves a cost unknown that nobody asked to be limited', async () => {
    const project = repo();
    const agent = await fakeAgent('codex', codexTurn(1_000_000, 100_000));
    const { told } = await run(project, agent.bin, '--agent', 'codex', '-m', '1');
    expect([told.totalCost, told.unreportedCalls]).toEqual([null, 1]);
  });
});

function codexTurn(input: number, output: number): Handler {
  return async turn => {
    await turn.line({ type: 'thread.started', thread_id: 't' });
    await turn.line({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'working' } });
    await turn.line({ type: 'turn.completed', usage: { input_tokens: input, output_tokens: output } });
    turn.exit();
  };
}

describe('a run that was killed in a turn', () => {
  /** Speaks, and then hangs until it is killed. */
  const hangs =
    (tokens: number): Handler =>
    async (turn: FakeTurn) => {
      await turn.line(init);
      await turn.line(message('working', tokens));
      await turn.line(message('half way', 0));
    };
  async function kill(project: Repo, bin: string, args: readonly string[]): Promise<void> {
    const running = startRalph(args, { cwd: project.dir, path: [bin] });
    await running.until('half way');
    running.process.kill('SIGKILL');
    await running.finished;
  }
  const resume = async (project: Repo, bin: string, ...args: string[]) => {
    const { stdout, code } = await ralph(['resume', '--json', ...args], { cwd: project.dir, path: [bin] });
    return { code, told: JSON.parse(stdout) as LoopResult };
  };

  test('has its tokens counted when it is resumed, once, and stops when they are too many', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs(3_000), hangs(3_000), speaks(DONE));
    // The limit comes later: a turn in which it is reached may be over before it is killed.
    await kill(project, agent.bin, ['run', '-p', 'go', '--agent', 'claude']);
    await kill(project, agent.bin, ['resume']);
    const { code, told } = await resume(project, agent.bin, '--max-tokens', '5000');
    expect([code, told.stopReason, told.totalTokens?.input, agent.calls.length]).toEqual([
      1,
      'budget_exhausted',
      6_000,
      2,
    ]);
    const again = await ralph(['resume'], { cwd: project.dir, path: [agent.bin] });
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('--max-tokens 12000')]);
    const more = await resume(project, agent.bin, '--max-tokens', '12000');
    expect([more.told.stopReason, more.told.totalTokens?.input]).toEqual(['promise_accepted', 6_100]);
  });

  test('has its cost counted by the estimate', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs(1_000_000), speaks(DONE));
    await kill(project, agent.bin, ['run', '-p', 'go', '--agent', 'claude', '--max-cost', '4.5']);
    const { told } = await resume(project, agent.bin);
    expect([told.stopReason, told.totalCost]).toEqual(['promise_accepted', expect.closeTo(4.01)]);
  });

  test('is not out of time because the clock was set in between', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', hangs(10), speaks(DONE));
    await kill(project, agent.bin, ['run', '-p', 'go', '--agent', 'claude', '--max-time', '600']);
    setClockForward(project, 'half way', 86_400_000);
    const { told } = await resume(project, agent.bin, '--accept-changes');
    expect([told.stopReason, told.totalDuration < 100]).toEqual(['promise_accepted', true]);
  });

  /** As if it had been set when the words were said: every stamp from there on is later. */
  function setClockForward(project: Repo, words: string, by: number): void {
    const path = recordOf(project, runsOf(project)[0] ?? '').events;
    let isLater = false;
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const changed = lines.map(line => {
      isLater ||= line.includes(words);
      const entry = JSON.parse(line);
      const at = isLater ? new Date(Date.parse(entry.at) + by).toISOString() : entry.at;
      return JSON.stringify({ ...entry, at });
    });
    writeFileSync(path, `${changed.join('\n')}\n`);
  }
});

describe('a turn that only met a limit', () => {
  const limited: Handler = async turn => {
    await turn.line(init);
    const message = "You've hit your limit · resets in 3 days";
    await turn.line(result({ is_error: true, result: message, api_error_status: 429, total_cost_usd: 0 }));
    turn.exit(1);
  };

  test('is no iteration: the run can be resumed with the one it was allowed', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', limited, speaks(DONE));
    const { code, told } = await run(project, agent.bin, '--agent', 'claude', '-m', '1', '--max-wait', '60');
    expect([code, told.stopReason, told.iterations]).toEqual([1, 'rate_limited', []]);
    const { stdout } = await ralph(['resume', '--json'], { cwd: project.dir, path: [agent.bin] });
    const again = JSON.parse(stdout) as LoopResult;
    expect([again.stopReason, again.iterations.map(each => each.iteration)]).toEqual([
      'promise_accepted',
      [1],
    ]);
  });

  test('counts when it had worked before', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', async turn => {
      await turn.line(init);
      await turn.line(text('I have begun.'));
      await turn.line(result({ is_error: true, result: 'limit', api_error_status: 429 }));
      turn.exit(1);
    });
    const { told } = await run(project, agent.bin, '--agent', 'claude', '--max-wait', '0');
    expect([told.stopReason, told.iterations.length]).toEqual(['rate_limited', 1]);
  });
});

describe('a timeout of any length', () => {
  test('is kept, and does not fire at once when it is longer than a timer of Node can be', async () => {
    const project = repo({ 'PROMPT.md': 'go' });
    const long = 2_147_484;
    project.settings({ lingerTimeout: long, idleTimeout: long, iterationTimeout: long, maxTime: 9e9 });
    const agent = await fakeAgent('worker', async turn => {
      await turn.print('working\n');
      await turn.shell('sleep 0.3');
      await turn.print(`${DONE}\n`);
      turn.exit();
    });
    const args = ['run', '-f', 'PROMPT.md', '--agent', 'worker', '--json'];
    const { stdout } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
    expect(JSON.parse(stdout)).toMatchObject({
      stopReason: 'promise_accepted',
      iterations: [{ error: null }],
    });
  });

  test('holds for a check, too', async () => {
    const project = repo();
    project.settings({ checkTimeout: 2_147_484 });
    const agent = await fakeAgent('worker', says('<promise>COMPLETE</promise>'));
    const args = [
      'loop',
      'x',
      '--agent',
      'worker',
      '--check',
      'sleep 0.3',
      '--json',
      '--max-iterations',
      '1',
    ];
    const { stdout } = await ralph(args, { cwd: project.dir, path: [agent.bin] });
    expect(JSON.parse(stdout).iterations[0].checkResults[0]).toMatchObject({ passed: true, exitCode: 0 });
  });
});

describe('--max-time', () => {
  test('does not wait long for an agent that ignores every signal', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', async turn => {
      for (const signal of ['SIGTERM', 'SIGINT']) await turn.ignore(signal);
    });
    const { told } = await run(project, agent.bin, '--agent', 'worker', '--max-time', '2');
    expect([told.stopReason, told.totalDuration < 60]).toEqual(['timeout', true]);
  });

  test('ends a check that is running, which then proves nothing, and resuming runs it again', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    const agent = await fakeAgent('worker', async turn => {
      await turn.write('made', 'yes');
      await turn.print('<promise>COMPLETE</promise>');
      turn.exit();
    });
    const check = 'test -e .ralph/free || sleep 1000';
    const args = ['loop', 'x', '--agent', 'worker', '--check', check, '--json', '--max-time', '6'];
    const stopped = await ralph(args, { cwd: project.dir, path: [agent.bin] });
    const told = JSON.parse(stopped.stdout) as LoopResult;
    expect([told.stopReason, told.iterations.length, told.iterations[0]?.checkResults]).toEqual([
      'timeout',
      1,
      [],
    ]);
    expect(told.detail).toMatch(/^([6-9]|\d\d+) s of 6 s have passed, and the checks were not done\.$/);
    const again = await ralph(['resume'], { cwd: project.dir, path: [agent.bin] });
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/--max-time \d+/)]);
    project.write('.ralph/free', '');
    const resumed = await ralph(['resume', '--max-time', '60', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(JSON.parse(resumed.stdout)).toMatchObject({ stopReason: 'all_checks_passed' });
    expect(agent.calls.length).toBe(1);
  });

  test('is not less on the ledger than it was when it stopped the run, however long opening took', async () => {
    const project = repo();
    const agent = await fakeAgent('worker', says('<promise>COMPLETE</promise>'));
    // A slow disk: git takes its time where the run is opened.
    const git = `#!/bin/sh\ncase "$*" in *ls-files*) sleep 0.3;; esac\nPATH='${process.env.PATH}' exec git "$@"\n`;
    writeFileSync(join(agent.bin, 'git'), git, { mode: 0o755 });
    const args = ['loop', 'x', '--agent', 'worker', '--check', 'sleep 1000', '--max-time', '2'];
    const options = { cwd: project.dir, path: [agent.bin] };
    const { stdout } = await ralph([...args, '--protect', 'a/**'], options);
    // On a busy machine the turn is still on when it is over.
    expect(stdout).toMatch(/ ([2-9]|\d\d+) s of 2 s have passed|The turn was ended by --max-time/);
    const again = await ralph(['resume'], options);
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/--max-time \d+/)]);
  });
});

describe('a process that may not open enough files', () => {
  // Too few to ask git, to start the agent, and to keep from it what was open before.
  test.each([
    [24, ''],
    [28, ''],
    [60, 'exec 200>/dev/null; '],
  ])('ends in a sentence with what to do (%i, %s)', async (files, before) => {
    const project = repo({ 'agent.sh': `echo '${DONE}'` });
    const words = [process.execPath, BIN, 'loop', 'go', '--check', 'true', '--agent', 'sh agent.sh'];
    const limited = ['-c', `${before}ulimit -n ${files}; exec "$@"`, 'sh', ...words];
    const { status, stdout, stderr } = spawnSync('bash', limited, {
      cwd: project.dir,
      env: testEnv({}),
      encoding: 'utf8',
      // A watch that nobody ends keeps it for 30 s.
      timeout: 25_000,
    });
    const said = (stdout + stderr).replace(/\s+/g, ' ');
    expect([1, 2]).toContain(status);
    expect(said).toContain('too many open files; allow more of them with `ulimit -n');
    expect(said).not.toMatch(/Node\.js v|a bug in Ralph| at \S+ \(/);
  });
});

describe('what is printed without end', () => {
  test('on stderr and by a check is kept from filling the disk: beginning and end stay', async () => {
    const flood = 'echo BEGIN; yes | head -c 150000000; echo THE END';
    const agent = `echo yes > made\n{ ${flood}; } >&2\necho '<promise>COMPLETE</promise>'\n`;
    const project = repo({ 'agent.sh': agent });
    const args = ['loop', 'x', '--agent', 'sh agent.sh', '--check', flood, '--json'];
    const { stdout, stderr } = await ralph(args, { cwd: project.dir });
    const told = JSON.parse(stdout) as LoopResult;
    expect(told.stopReason).toBe('all_checks_passed');
    expect(told.iterations[0]?.checkResults[0]?.output).toContain('THE END');
    const folder = project.path(`.ralph/runs/${told.runId}/iterations/0001`);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const long = files.map(file => join(folder, file)).filter(file => statSync(file).size > 1e6);
    expect(long.length).toBe(2);
    for (const file of long) {
      expect(statSync(file).size).toBeLessThan(64 * 1024 * 1024);
      const text = readFileSync(file, 'utf8');
      expect([text.startsWith('BEGIN\ny\n'), text.endsWith('y\nTHE END\n')]).toEqual([true, true]);
      expect(text).toMatch(/\[\.\.\. \d{8,} bytes left out \.\.\.\]/);
    }
    expect(stderr.replace(/\s+/g, ' ')).toContain('is longer than 64 MiB');
  });
});

describe('a Ralph that was stopped (SIGSTOP) for longer than the idle timeout', () => {
  test('reads what came meanwhile before it judges', async () => {
    const project = repo();
    const { open: said, opened: hasSaid } = createGate();
    const { open: goOn, opened: isStopped } = createGate();
    const agent = await fakeAgent('worker', async turn => {
      await turn.print('working\n');
      said();
      await isStopped;
      await turn.print(`${DONE}\n`);
      await turn.shell('sleep 2.5');
      turn.exit();
    });
    const running = startRalph(['run', '-p', 'go', '--agent', 'worker', '--idle-timeout', '2', '--json'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    await hasSaid;
    running.process.kill('SIGSTOP');
    goOn();
    const [call] = agent.calls;
    await gone(call?.pid ?? 0);
    running.process.kill('SIGCONT');
    const { stdout } = await running.finished;
    expect(JSON.parse(stdout)).toMatchObject({
      stopReason: 'promise_accepted',
      iterations: [{ error: null }],
    });
  });

  /** It has exited, and Ralph, which is stopped, has not seen it yet. */
  async function gone(pid: number): Promise<void> {
    const state = () =>
      existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0] : 'Z';
    while (state() !== 'Z') await new Promise(resolve => setTimeout(resolve, 20));
  }
});

test('what is used is on the ledger with its estimate, so that every reader can count it', async () => {
  const project = repo();
  const agent = await fakeAgent('codex', codexTurn(1_000_000, 0));
  await run(project, agent.bin, '--agent', 'codex', '--max-cost', '1');
  const usage = only(ledgerOf(project), 'agent')
    .map(({ event }) => event)
    .filter(({ kind }) => kind === 'usage');
  expect(usage).toMatchObject([{ estimate: { cost: 2, source: 'estimated' } }]);
});
