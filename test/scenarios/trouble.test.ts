/** Trouble through the real bin: limits, passing trouble, empty replies, and what is tried again without being counted. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { LoopResult } from '../../src/domain/run/result.ts';
import { init, result, speaks, text, toolResult, toolUse } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { ledgerOf, only } from '../rig/ledger.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';
const done = speaks(DONE);

/** As each CLI prints it when its model refuses: what the recordings of the real ones hold. */
const fails =
  (...records: readonly unknown[]): Handler =>
  async turn => {
    for (const record of records) await turn.line(record);
    turn.exit(1);
  };
const claudeFails = (message: string, status?: number): Handler =>
  fails(
    init,
    {
      type: 'assistant',
      message: {
        id: 'x',
        role: 'assistant',
        model: '<synthetic>',
        content: [{ type: 'text', text: message }],
      },
      error: 'rate_limit',
      is_api_error_message: true,
      ...(status !== undefined && { api_error_status: status }),
    },
    result({
      is_error: true,
      result: message,
      total_cost_usd: 0,
      usage: undefined,
      modelUsage: {},
      ...(status !== undefined && { api_error_status: status }),
    }),
  );
/** Limited for some seconds from the moment that it is asked, however long the machine took to come to that. */
function limited(seconds: number) {
  let resetsAt = Number.NaN;
  const handler: Handler = turn => {
    resetsAt = Math.ceil(Date.now() / 1000) + seconds;
    const info = { status: 'rejected', rateLimitType: 'five_hour', resetsAt };
    return fails(
      init,
      { type: 'rate_limit_event', rate_limit_info: info },
      result({ is_error: true, result: 'limit', api_error_status: 429 }),
    )(turn);
  };
  return { handler, until: () => resetsAt * 1000 };
}
const codexFails = (message: string): Handler =>
  fails(
    { type: 'thread.started', thread_id: 't' },
    { type: 'turn.started' },
    { type: 'error', message },
    { type: 'turn.failed', error: { message } },
  );
const codexSays: Handler = async turn => {
  await turn.line({ type: 'thread.started', thread_id: 't' });
  await turn.line({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: DONE } });
  await turn.line({ type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 1 } });
  turn.exit();
};

async function run(project: Repo, bins: readonly string[], ...args: string[]) {
  const { code, stdout, stderr } = await ralph(['run', '-p', `go, then ${DONE}`, '--json', ...args], {
    cwd: project.dir,
    path: bins,
  });
  return { code, result: JSON.parse(stdout) as LoopResult, stderr, events: ledgerOf(project) };
}

describe('a rate limit', () => {
  test.each<[string, string, Handler, Handler]>([
    ['claude', 'resets at', claudeFails("You've hit your limit · try again in 300ms", 429), done],
    [
      'codex',
      'try again',
      codexFails("You've hit your usage limit. Upgrade to Pro or try again in 0.3 seconds."),
      codexSays,
    ],
    ['gemini', 'retry in', geminiLimited, geminiSays],
    ['opencode', 'retry-after', opencodeLimited, opencodeSays],
  ])(
    'of %s is waited for, and the iteration is tried again with the same prompt and not counted',
    async (name, _, limited, free) => {
      const project = repo();
      const agent = await fakeAgent(name, limited, free);
      const { code, result: told, events } = await run(project, [agent.bin], '--agent', name);
      expect([code, told.stopReason, told.iterations.length]).toEqual([0, 'promise_accepted', 1]);
      expect(agent.calls.map(call => call.input)).toEqual([agent.calls[0]?.input, agent.calls[0]?.input]);
      expect(only(events, 'waiting')).toMatchObject([{ agent: name, trouble: { class: 'rate-limit' } }]);
      expect(only(events, 'agent-started').map(event => event.attempt)).toEqual([undefined, 2]);
      expect(told.waited).toBeGreaterThan(0);
      const folder = join(project.path('.ralph/runs'), told.runId, 'iterations/0001');
      expect(readFileSync(join(folder, 'agent.2.jsonl'), 'utf8')).toContain('DONE');
      expect(readFileSync(join(folder, 'agent.jsonl'), 'utf8')).not.toContain('DONE');
    },
  );

  test('that the structured field tells of is waited for until then', {
    tags: ['promise', 'P-rate-limit'],
  }, async () => {
    const project = repo();
    const limit = limited(4);
    const agent = await fakeAgent('claude', limit.handler, done);
    const { code, events } = await run(project, [agent.bin], '--agent', 'claude');
    expect(code).toBe(0);
    expect(only(events, 'waiting').map(event => event.until)).toEqual([limit.until()]);
    expect(Date.now()).toBeGreaterThanOrEqual(limit.until());
  });

  test('that lasts longer than --max-wait ends the run at once, with its own words and what to do', async () => {
    const project = repo();
    const agent = await fakeAgent(
      'claude',
      claudeFails("You've hit your weekly limit · resets in 3 days", 429),
    );
    const { code, result: told } = await run(project, [agent.bin], '--agent', 'claude', '--max-wait', '3600');
    expect([code, told.stopReason, agent.calls.length]).toEqual([1, 'rate_limited', 1]);
    expect(told.detail).toBe(
      "You've hit your weekly limit · resets in 3 days (it ends in 3 days, and --max-wait is 60 min). To fix it: wait for the limit to reset, raise --max-wait, or name another agent with --fallback.",
    );
  });

  test('that ends after --max-time is not waited for', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', claudeFails("You've hit your limit · resets in 2h", 429));
    const { result: told } = await run(project, [agent.bin], '--agent', 'claude', '--max-time', '60');
    expect([told.stopReason, told.detail]).toEqual([
      'rate_limited',
      expect.stringContaining('later than --max-time'),
    ]);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('is no longer waited for after one %s', async signal => {
    const project = repo();
    const agent = await fakeAgent('claude', claudeFails("You've hit your limit · resets in 2h", 429));
    const running = startRalph(['run', '-p', 'go', '--agent', 'claude'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    await running.until('Retrying in 2h0m');
    running.process.kill(signal);
    const { code, stdout } = await running.finished;
    expect([code, agent.calls.length]).toEqual([130, 1]);
    expect(stdout).toContain('Stop reason: interrupted');
  });

  test('is shown by ralph status, and ralph cancel ends the wait', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', claudeFails("You've hit your limit · resets in 2h", 429));
    const running = startRalph(['run', '-p', 'go', '--agent', 'claude'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    await running.until('Retrying in 2h0m');
    const status = await ralph(['status', '--json'], { cwd: project.dir });
    expect(JSON.parse(status.stdout).runs).toMatchObject([{ state: 'waiting', until: expect.any(Number) }]);
    const seen = await ralph(['status'], { cwd: project.dir });
    expect(seen.stdout).toMatch(/waiting until [\d -]*\d\d:\d\d/);
    expect((await ralph(['cancel'], { cwd: project.dir })).code).toBe(0);
    const { code, stdout } = await running.finished;
    expect([code, stdout]).toEqual([1, expect.stringContaining('Stop reason: cancelled')]);
  });

  test('in the words of the agent, in a tool, in a file or in a plain command is none', async () => {
    const project = repo({ 'LIMITS.md': '429 rate limit reached, try again at 4:06 AM\n' });
    const words = "You've hit your limit · resets 3pm. 429 Too Many Requests, retry-after: 3600";
    const agent = await fakeAgent('claude', async turn => {
      for (const record of [
        init,
        text(words),
        toolUse('t', 'Bash', { command: 'cat LIMITS.md' }),
        toolResult('t', '429 rate limit reached, try again at 4:06 AM', true),
        text(`${words} ${DONE}`),
        result({ result: words }),
      ])
        await turn.line(record);
      turn.exit();
    });
    const told = await run(project, [agent.bin], '--agent', 'claude');
    expect([told.code, only(told.events, 'waiting')]).toEqual([0, []]);
    const plain = repo();
    const worker = await fakeAgent('worker', async turn => {
      await turn.printError(`${words}\n`);
      turn.exit(1);
    });
    const crashed = await run(plain, [worker.bin], '--agent', 'worker');
    expect([crashed.result.stopReason, only(crashed.events, 'waiting')]).toEqual(['agent_failed', []]);
  });

  test('counts what the limited attempt has cost, and keeps what it did', async () => {
    const project = repo();
    const agent = await fakeAgent(
      'claude',
      async turn => {
        await turn.write('half', 'kept');
        for (const record of [
          init,
          toolUse('t', 'Write', { file_path: 'half' }),
          toolResult('t', 'ok'),
          result({
            is_error: true,
            result: 'limit, try again in 200ms',
            api_error_status: 429,
            total_cost_usd: 0.5,
          }),
        ])
          await turn.line(record);
        turn.exit(1);
      },
      done,
    );
    const { result: told } = await run(project, [agent.bin], '--agent', 'claude');
    expect(project.read('half')).toBe('kept');
    expect(told.totalCost).toBeCloseTo(0.51);
    expect(told.iterations).toMatchObject([{ toolCalls: 1, error: null }]);
  });

  test('does not hide from the budget what the attempt before it has used', async () => {
    const project = repo();
    const tokens = (input: number) => ({
      modelUsage: {
        m: { inputTokens: input, outputTokens: 0, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 },
      },
    });
    const limit = { is_error: true, result: 'limit, try again in 200ms', api_error_status: 429 };
    const agent = await fakeAgent(
      'claude',
      fails(init, text('half'), result({ ...limit, ...tokens(600) })),
      async turn => {
        await turn.line(init);
        const { message, ...record } = text('more');
        await turn.line({
          ...record,
          message: { ...message, usage: { ...message.usage, input_tokens: 500 } },
        });
        // and never ends
      },
    );
    const { result: told } = await run(project, [agent.bin], '--agent', 'claude', '--max-tokens', '1000');
    expect([told.stopReason, agent.calls.length]).toEqual(['budget_exhausted', 2]);
  });
});

describe('--fallback', () => {
  test('continues with the next agent and comes back when the limit has passed', {
    tags: ['promise', 'P-rate-limit'],
  }, async () => {
    const project = repo();
    const limit = limited(4);
    const claude = await fakeAgent('claude', limit.handler, done);
    const codex = await fakeAgent('codex', async turn => {
      await turn.line({ type: 'thread.started', thread_id: 't' });
      await turn.line({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'not yet' } });
      while (Date.now() <= limit.until()) await turn.shell(':'); // works until the other is free again
      await turn.line({ type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 1 } });
      turn.exit();
    });
    const {
      code,
      result: told,
      events,
    } = await run(project, [claude.bin, codex.bin], '--agent', 'claude', '--fallback', 'codex:gpt-x');
    expect([code, told.iterations.length]).toEqual([0, 2]);
    expect([claude.calls.length, codex.calls.length]).toEqual([2, 1]);
    expect(codex.calls[0]?.argv).toEqual(expect.arrayContaining(['-m', 'gpt-x']));
    expect(codex.calls[0]?.input).toBe(claude.calls[0]?.input);
    expect(only(events, 'agent-switched')).toMatchObject([
      { from: 'claude', to: 'codex:gpt-x', why: 'limited' },
      { from: 'codex:gpt-x', to: 'claude', why: 'free-again' },
    ]);
    expect(only(events, 'waiting')).toEqual([]);
  });

  test('waits for the first that is free when all are limited', async () => {
    const project = repo();
    const claude = await fakeAgent('claude', claudeFails("You've hit your limit · resets in 2h", 429));
    const codex = await fakeAgent(
      'codex',
      codexFails("You've hit your usage limit, try again in 0.3 seconds."),
      codexSays,
    );
    const { code, events } = await run(
      project,
      [claude.bin, codex.bin],
      '--agent',
      'claude',
      '--fallback',
      'codex',
    );
    expect([code, claude.calls.length, codex.calls.length]).toEqual([0, 1, 2]);
    expect(only(events, 'waiting')).toMatchObject([{ agent: 'codex' }]);
  });

  test('is still at work after a crash: the ledger knows who is limited', async () => {
    const project = repo();
    const claude = await fakeAgent('claude', claudeFails("You've hit your limit · resets in 2h", 429));
    const { open: begin, opened: begun } = createGate();
    const codex = await fakeAgent('codex', () => begin(), codexSays);
    const options = { cwd: project.dir, path: [claude.bin, codex.bin] };
    const running = startRalph(['run', '-p', 'go', '--agent', 'claude', '--fallback', 'codex'], options);
    await begun;
    running.process.kill('SIGKILL');
    await running.finished;
    const resumed = await ralph(['resume', '--json'], options);
    expect([resumed.code, claude.calls.length, codex.calls.length]).toEqual([0, 1, 2]);
    expect(JSON.parse(resumed.stdout)).toMatchObject({
      stopReason: 'promise_accepted',
      iterations: [{ iteration: 1 }],
    });
  });

  test('that is not there is told before anything starts', async () => {
    const project = repo();
    const claude = await fakeAgent('claude', done);
    const { code, stderr } = await ralph(
      ['run', '-p', 'go', '--agent', 'claude', '--fallback', 'codx,nobody'],
      {
        cwd: project.dir,
        path: [claude.bin],
      },
    );
    expect([code, claude.calls.length]).toEqual([2, 0]);
    expect(stderr).toContain('--fallback codx: there is no such command (did you mean codex?)');
    expect(stderr).toContain('--fallback nobody: there is no such command');
  });
});

describe('passing trouble', () => {
  test('is tried again after a while and not counted', { tags: ['promise', 'P-transient'] }, async () => {
    const project = repo();
    const agent = await fakeAgent('claude', claudeFails('API Error: 529 overloaded', 529), done);
    const { code, result: told, events } = await run(project, [agent.bin], '--agent', 'claude');
    expect([code, told.iterations.length, agent.calls.length]).toEqual([0, 1, 2]);
    expect(only(events, 'waiting')).toMatchObject([{ trouble: { class: 'transient', status: 529 } }]);
  });

  test('that does not pass is given up, as one failed turn', async () => {
    const project = repo();
    project.settings({ maxRetries: 1, maxFailures: 1 });
    const agent = await fakeAgent('claude', claudeFails('API Error: 500', 500));
    const { code, result: told } = await run(project, [agent.bin], '--agent', 'claude');
    expect([code, told.stopReason, told.iterations.length, agent.calls.length]).toEqual([
      1,
      'agent_failed',
      1,
      2,
    ]);
    expect(told.detail).toContain('API Error: 500 (it was tried 2 times). To fix it: try again later;');
  });

  test('an empty reply is tried again at once, with a cap', async () => {
    const project = repo();
    project.settings({ maxRetries: 2, maxFailures: 1 });
    const empty = fails(init, result({ total_cost_usd: 0.01 }));
    const fixed = await fakeAgent('claude', empty, empty, done);
    const told = await run(project, [fixed.bin], '--agent', 'claude');
    expect([told.code, told.result.iterations.length, fixed.calls.length]).toEqual([0, 1, 3]);
    expect(told.result.totalCost).toBeCloseTo(0.03);
    const silent = await fakeAgent('claude', empty);
    const other = repo();
    other.settings({ maxRetries: 2, maxFailures: 1 });
    const gaveUp = await run(other, [silent.bin], '--agent', 'claude');
    expect([gaveUp.result.stopReason, silent.calls.length]).toEqual(['agent_failed', 3]);
  });
});

test('a full context counts, and the next iteration is told to take smaller steps', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', claudeFails('Prompt is too long', 400), done);
  const { code, result: told } = await run(project, [agent.bin], '--agent', 'claude');
  expect([code, told.iterations.length]).toEqual([0, 2]);
  expect(agent.calls[1]?.input).toContain('work in smaller steps');
});

test.each([
  ['Invalid API key', 401, 'log in with `claude auth login`'],
  ['model: nonsense-9 not found', 404, 'name another model'],
  ['OAuth token has expired. Please obtain a new token.', undefined, 'log in with `claude auth login`'],
  [
    'API Error: Unable to connect to API: Self-signed certificate detected',
    undefined,
    'trust the certificate',
  ],
] as const)('%j stops at once with what to do', async (message, status, advice) => {
  const project = repo();
  const agent = await fakeAgent('claude', claudeFails(message, status), done);
  const other = await fakeAgent('codex', codexSays);
  const { code, result: told } = await run(
    project,
    [agent.bin, other.bin],
    '--agent',
    'claude',
    '--fallback',
    'codex',
  );
  expect([code, told.stopReason, agent.calls.length, other.calls.length]).toEqual([1, 'agent_failed', 1, 0]);
  expect(told.detail).toContain(advice);
});

test('a refused key is one in text mode, too, where gemini prints a stack behind it', async () => {
  const project = repo();
  const agent = await fakeAgent('gemini', async turn => {
    await turn.printError(
      [
        'Error when talking to Gemini API Full report available at: /tmp/x.json _ApiError: {"error":{"code":401,"message":"no","status":"INVALID_ARGUMENT"}}',
        '    at throwErrorIfNotOK (file:///bundle/chunk.js:267833:24) {',
        '  status: 401',
        '}',
        'An unexpected critical error occurred:[object Object]',
        '',
      ].join('\n'),
    );
    turn.exit(145);
  });
  const { result: told } = await run(project, [agent.bin], '--agent', 'gemini', '--no-stream-agent-output');
  expect([told.stopReason, agent.calls.length]).toEqual(['agent_failed', 1]);
  expect(told.detail).toContain('log in with gemini itself');
});

test('the commit message comes from the agent at work', async () => {
  const project = repo();
  project.settings({ scm: { command: 'git', tasks: ['commit'] }, agent: 'claude', fallback: ['codex'] });
  const claude = await fakeAgent('claude', claudeFails("You've hit your limit · resets in 2h", 429));
  const codex = await fakeAgent('codex', async turn => {
    if (!turn.argv.includes('--json')) {
      const file = turn.argv[turn.argv.indexOf('-o') + 1] ?? '';
      await turn.write(file, 'Make the file');
      return turn.exit();
    }
    await turn.write('made', 'yes');
    return codexSays(turn);
  });
  const { code } = await run(project, [claude.bin, codex.bin]);
  expect([code, claude.calls.length, project.git('log', '-1', '--format=%s').trim()]).toEqual([
    0,
    1,
    'Make the file',
  ]);
});

async function geminiLimited(turn: Parameters<Handler>[0]): Promise<void> {
  const message = `[API Error: You exceeded your current quota. Please retry in 0.3s.]\nPlease wait and try again later.`;
  await turn.line({
    type: 'result',
    timestamp: new Date().toISOString(),
    status: 'error',
    error: { type: 'unknown', message },
    stats: {},
  });
  turn.exit(173);
}

async function geminiSays(turn: Parameters<Handler>[0]): Promise<void> {
  await turn.line({ type: 'message', role: 'assistant', content: DONE, delta: true });
  await turn.line({
    type: 'result',
    timestamp: new Date().toISOString(),
    status: 'success',
    stats: { tool_calls: 0 },
  });
  turn.exit();
}

async function opencodeLimited(turn: Parameters<Handler>[0]): Promise<void> {
  const data = { message: 'slow down', statusCode: 429, responseHeaders: { 'retry-after': '0.3' } };
  await turn.line({
    type: 'error',
    timestamp: Date.now(),
    sessionID: 's',
    error: { name: 'APIError', data },
  });
  turn.exit(1);
}

async function opencodeSays(turn: Parameters<Handler>[0]): Promise<void> {
  await turn.line({
    type: 'text',
    timestamp: Date.now(),
    sessionID: 's',
    part: { type: 'text', text: DONE },
  });
  await turn.line({
    type: 'step_finish',
    timestamp: Date.now(),
    sessionID: 's',
    part: { type: 'step-finish', reason: 'stop', tokens: {} },
  });
  turn.exit();
}
