import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { AGENT_ENDED, AGENT_STARTED, agent, checkResult, RUN_STARTED, toolEnd, toolStart } from './events.ts';
import { block, formatted } from './formatted.ts';

const FILE = `package main\n\n${'x'.repeat(29)}\n${'y\n'.repeat(42)}`;

const SEED: readonly RunEvent[] = [
  toolStart('t1', 'Read', '/path/to/file.go'),
  toolEnd('t1', FILE),
  agent({
    kind: 'todo',
    items: [
      { text: 'Read the file', status: 'done' },
      { text: 'Edit the code', status: 'active' },
      { text: 'Run tests', status: 'pending' },
    ],
  }),
  AGENT_ENDED,
];

describe('the picture of the seed', () => {
  test('with emoji', () => {
    expect(formatted(SEED, { maxOutputLines: 1 })).toEqual(
      block(`
⏺ Read(/path/to/file.go)
✅ Result ← Read (45 lines, 128 chars)
  ⎿  package main

📋 Todo List
  ✅ Read the file
  🔄 Edit the code ← ACTIVE
  ⏸️ Run tests
  📊 Progress: 1/3 (33%)

✅ Complete (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)
`),
    );
  });

  test('with markers in letters, nothing outside of ASCII', () => {
    const lines = formatted(SEED, { maxOutputLines: 1, emoji: false });
    expect(lines).toEqual(
      block(`
[TOOL] Read(/path/to/file.go)
[OK] Result <- Read (45 lines, 128 chars)
  |  package main

[TODO] Todo List
  [x] Read the file
  [>] Edit the code <- ACTIVE
  [ ] Run tests
  [=] Progress: 1/3 (33%)

[OK] Complete (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)
`),
    );
    expect(lines.join('')).toMatch(/^[\x20-\x7e]*$/);
  });

  test('in 40 columns the last line is wrapped, not cut', () => {
    expect(formatted(SEED, { maxOutputLines: 1, width: 40 }).slice(-3)).toEqual([
      '✅ Complete (cost: $5.76, tokens: 1.2M',
      '   in (850K cached) / 45K out, tools:',
      '   58, errors: 4, time: 6m7s)',
    ]);
  });

  test('with the time before each line', () => {
    expect(formatted(SEED, { maxOutputLines: 1, timestamps: true }).slice(1, 6)).toEqual([
      '[12:00:05] ⏺ Read(/path/to/file.go)',
      '[12:00:05] ✅ Result ← Read (45 lines, 128 chars)',
      '[12:00:05]   ⎿  package main',
      '',
      '[12:00:05] 📋 Todo List',
    ]);
  });

  test('in colour', () => {
    expect(formatted(SEED.slice(0, 2), { maxOutputLines: 1, color: true })).toEqual([
      '',
      '\x1b[36m⏺\x1b[39m \x1b[1mRead\x1b[22m(/path/to/file.go)',
      '\x1b[32m✅\x1b[39m Result ← Read (45 lines, 128 chars)',
      '  ⎿  \x1b[2mpackage main\x1b[22m',
    ]);
  });
});

describe('the loop', () => {
  test('a run, its guardrails and why it continues', () => {
    const events: RunEvent[] = [
      RUN_STARTED,
      { type: 'iteration-started', iteration: 1 },
      AGENT_STARTED,
      { type: 'check-started', index: 0, command: 'npm test' },
      { type: 'check-ended', result: checkResult() },
      {
        type: 'check-ended',
        result: checkResult({ command: 'npm run lint', passed: true, exitCode: 0, duration: 1.2 }),
      },
      {
        type: 'iteration-ended',
        iteration: 1,
        claim: { found: false },
        verdict: {
          kind: 'continue',
          feedback: [
            { kind: 'violation', violation: { what: 'test/sum.test.js', restored: true } },
            { kind: 'check-failed', check: checkResult() },
          ],
        },
        usage: { costSource: 'unknown' },
      },
      { type: 'notice', level: 'info', text: 'Received signal, shutting down...' },
      { type: 'notice', level: 'debug', text: 'not shown' },
    ];
    expect(formatted(events, { width: 80 })).toEqual(
      block(`
⏺ ralph run · claude (opus) · up to 10 iterations
  Run 20260301-101500-k3f9 in /home/ada/sum
  Guardrails: npm test · npm run lint

── Iteration 1 of 10 ───────────────────────────────────────────────────────────

⏺ Guardrail "npm test"
❌ Guardrail "npm test" failed with exit code 1 (0.8s), APPEND
  ⎿  FAIL test/sum.test.js
     expected 3 to be 4
     1 failed, 12 passed
     Log: .ralph/guardrail_1_npm_test.log
✅ Guardrail "npm run lint" passed (1.2s)

🔄 Not done: test/sum.test.js is protected: the agent's change was undone;
   guardrail "npm test" failed with exit code 1

· Received signal, shutting down...
`),
    );
  });

  test.each([
    [40, 40],
    [200, 80],
    [Number.POSITIVE_INFINITY, 80],
  ])('at %d columns the rule of an iteration is %i wide', (width, expected) => {
    expect(formatted([{ type: 'iteration-started', iteration: 2 }], { width })[1]).toHaveLength(expected);
  });

  test('without a limit none is shown; an iteration that is repeated says so', () => {
    const events: RunEvent[] = [
      { ...RUN_STARTED, command: 'loop', maxIterations: Number.POSITIVE_INFINITY, checks: [] } as RunEvent,
      { type: 'iteration-started', iteration: 3 },
      { type: 'iteration-started', iteration: 3 },
    ];
    const lines = formatted(events);
    expect(lines[1]).toBe('⏺ ralph loop · claude (opus)');
    expect(lines[3]).toBe('  Checks: none');
    expect(lines[5]).toMatch(/^── Iteration 3 ──/);
    expect(lines[7]).toMatch(/^── Iteration 3 \(again\) ──/);
  });

  test('only `ralph run` has fail actions', () => {
    const loop = { ...RUN_STARTED, command: 'loop' } as RunEvent;
    const lines = formatted([
      loop,
      { type: 'check-ended', result: checkResult({ timedOut: true, exitCode: 143 }) },
    ]);
    expect(lines).toContain('❌ Check "npm test" timed out (0.8s)');
  });

  test('unknown cost and tokens are never zero', () => {
    const ended = { ...AGENT_ENDED, usage: { costSource: 'unknown' } } as RunEvent;
    expect(formatted([ended])[1]).toBe('✅ Complete (cost: unknown, tools: 58, errors: 4, time: 6m7s)');
  });

  test('a turn that failed says why, once', () => {
    const trouble = { class: 'quota', message: 'Credit balance is too low', status: 402 } as const;
    const failed = { ...AGENT_ENDED, outcome: { kind: 'failed', trouble } } as RunEvent;
    expect(formatted([failed], { width: 60 })[1]).toBe(
      '❌ Failed: quota exhausted, HTTP 402: Credit balance is too',
    );
    expect(formatted([agent({ kind: 'trouble', trouble, retrying: false }), failed], { width: 200 })).toEqual(
      [
        '',
        '❌ Quota exhausted, HTTP 402: Credit balance is too low',
        '',
        '❌ Failed (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)',
      ],
    );
  });

  test('a turn that Ralph ended says by what', () => {
    const ended = { ...AGENT_ENDED, outcome: { kind: 'ended', by: 'idle-timeout' } } as RunEvent;
    expect(formatted([ended], { width: 200 })[1]).toMatch(/^🔸 Ended by --idle-timeout \(cost/);
  });

  test('trouble that the agent gets over is a retry', () => {
    const trouble = { class: 'rate-limit', message: 'Too many requests', status: 429 } as const;
    expect(formatted([agent({ kind: 'trouble', trouble, retrying: true })])[1]).toBe(
      '🔁 Rate limit, HTTP 429: Too many requests (the agent retries)',
    );
  });
});

test('what was undone, blocked, settled and committed is a line each', () => {
  const events: readonly RunEvent[] = [
    { type: 'violation', violation: { what: 'test/a.test was changed', restored: true } },
    { type: 'denied', what: 'a connection to example.org' },
    { type: 'stories-updated', iteration: 1, hash: 'h', done: 1, total: 3 },
    { type: 'scm', task: 'commit', outcome: 'done', detail: 'Count quantities' },
    { type: 'scm', task: 'push', outcome: 'failed', detail: 'no remote' },
  ];
  expect(formatted(events)).toEqual(
    block(`
❌ test/a.test is protected: the agent's change was undone

🔸 Blocked by the sandbox: a connection to example.org

📊 1 of 3 done

✅ commit: Count quantities
❌ push failed: no remote
`),
  );
});
