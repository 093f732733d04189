import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { displayWidth } from '../../src/platform/text.ts';
import { type LiveState, live, liveLine, NO_RUN } from '../../src/report/live-line.ts';
import { DEFAULT_STYLE } from '../../src/report/style.ts';
import {
  AGENT_ENDED,
  AGENT_STARTED,
  agent,
  checkResult,
  loopResult,
  RUN_STARTED,
  toolEnd,
  toolStart,
} from './events.ts';

/** One event a second. */
function told(...events: readonly RunEvent[]): LiveState {
  return events.reduce((state, event, at) => live(state, event, at * 1_000), NO_RUN);
}

function line(state: LiveState, now: number, width = 80): string {
  return liveLine(state, { ...DEFAULT_STYLE, width }, now);
}

const WORKING = [RUN_STARTED, { type: 'iteration-started', iteration: 2 }, AGENT_STARTED] as const;
const CHECK_STARTED: RunEvent = { type: 'check-started', index: 0, command: 'npm test' };
const GREEN: RunEvent = { type: 'check-ended', result: checkResult({ index: 1, passed: true }) };
const RED: RunEvent = { type: 'check-ended', result: checkResult({ index: 0 }) };

const limited = (until: number): RunEvent => ({
  type: 'waiting',
  agent: 'claude',
  trouble: { class: 'rate-limit', message: 'no' },
  until,
});

describe('what the agent is doing now', () => {
  test.each<[string, readonly RunEvent[]]>([
    ['waiting for claude', []],
    ['thinking', [agent({ kind: 'aside', from: 'thinking', text: 'Hm.' })]],
    [
      'writing: I fix it',
      [
        agent({ kind: 'text', text: 'Now\nI fix ', delta: true }),
        agent({ kind: 'text', text: 'it', delta: true }),
      ],
    ],
    ['Read(a.ts)', [toolStart('1', 'Read', 'a.ts')]],
    ['Read(a.ts)', [toolStart('1', 'Read', 'a.ts'), toolStart('2', 'Read', 'b.ts'), toolEnd('2', '')]],
    ['waiting for claude', [toolStart('1', 'Read', 'a.ts'), toolEnd('1', '')]],
    ['writing: Done.', [toolStart('1', 'Read', 'a.ts'), agent({ kind: 'text', text: 'Done.' })]],
    [
      'rate limit, retrying',
      [agent({ kind: 'trouble', retrying: true, trouble: { class: 'rate-limit', message: '' } })],
    ],
    [
      'writing the commit message',
      [{ ...AGENT_STARTED, purpose: 'commit-message' } as RunEvent, agent({ kind: 'text', text: 'Fix' })],
    ],
    ['rate limit: retrying in 40s', [limited(45_000)]],
    ['paused', [{ type: 'paused' }]],
    ['preparing', [{ type: 'paused' }, { type: 'continued' }]],
    [
      'waiting for codex',
      [{ type: 'agent-switched', from: 'claude', to: 'codex', why: 'limited' }, AGENT_STARTED as RunEvent],
    ],
    ['guardrail npm test', [CHECK_STARTED]],
    ['preparing', [{ type: 'iteration-started', iteration: 2 }]],
  ])('%s', (words, events) => {
    expect(line(told(...WORKING, ...events), 5_000)).toBe(`Iteration 2/10 · ${words} · 5s`);
  });

  test('says how long when it takes long', () => {
    const state = told(...WORKING, toolStart('1', 'Bash', 'npm test'));
    expect(line(state, 12_000)).toBe('Iteration 2/10 · Bash(npm test) · 12s');
    expect(line(state, 75_000)).toBe('Iteration 2/10 · Bash(npm test) · for 1m12s · 1m15s');
  });
});

describe('the whole line', () => {
  const state = told(
    ...WORKING,
    AGENT_ENDED,
    RED,
    GREEN,
    toolStart('1', 'Bash', 'npm test -- --run test/日本語の試験.test.ts'),
  );

  test.each([
    [20, '2/10 · Bash(npm te…'],
    [30, '2/10 · Bash(npm test --… · 8s'],
    [40, '2/10 · Bash(npm test -- -… · 1✓ 1✗ · 8s'],
    [60, 'Iteration 2/10 · Bash(npm test -- --r… · 1✓ 1✗ · 8s · $5.76'],
    [80, 'Iteration 2/10 · Bash(npm test -- --run tes… · 1✓ 1✗ · 8s · 1.2M tokens · $5.76'],
    [
      200,
      'Iteration 2/10 · Bash(npm test -- --run test/日本語の試験.test.ts) · 1✓ 1✗ · 8s · 1.2M tokens · $5.76',
    ],
  ])('in %i columns', (width, expected) => {
    expect(line(state, 8_000, width)).toBe(expected);
    expect(displayWidth(line(state, 8_000, width))).toBeLessThan(width);
  });

  test('without emoji it is ASCII but for the text of others', () => {
    expect(liveLine(told(...WORKING, RED, GREEN), { ...DEFAULT_STYLE, emoji: false }, 9_000)).toBe(
      'Iteration 2/10 | waiting for claude | 1 ok 1 failed | 9s',
    );
  });

  test('in colour it is dim', () => {
    expect(liveLine(told(RUN_STARTED), { ...DEFAULT_STYLE, color: true }, 0)).toBe(
      '\x1b[2mpreparing · 0s\x1b[22m',
    );
  });

  test('there is none before and after a run', () => {
    expect(line(NO_RUN, 0)).toBe('');
    expect(line(told(RUN_STARTED, { type: 'run-ended', result: loopResult() }), 0)).toBe('');
  });
});

describe('tokens and cost', () => {
  const tokens = (input: number) => ({ input, output: 0, cacheRead: 0, cacheWrite: 0 });
  const part = (id: string, input: number) =>
    agent({ kind: 'usage', scope: 'part', id, tokens: tokens(input) });

  test('the last record of an id counts, different ids add up', () => {
    expect(line(told(...WORKING, part('a', 900), part('a', 1_000), part('b', 2_000)), 0)).toContain(
      '3K tokens',
    );
  });

  test('so does the cost', () => {
    const paid = (id: string, cost: number) => agent({ kind: 'usage', scope: 'part', id, cost });
    expect(line(told(...WORKING, paid('a', 0.25), paid('a', 0.5), paid('b', 1)), 0)).toContain('$1.50');
  });

  test('a total replaces what came before, and the end of the turn replaces both', () => {
    const total = agent({ kind: 'usage', scope: 'total', tokens: tokens(7_000), cost: 0.5 });
    expect(line(told(...WORKING, part('a', 1_000), total), 0)).toMatch(/7K tokens · \$0\.50$/);
    expect(line(told(...WORKING, part('a', 1_000), total, AGENT_ENDED), 0)).toMatch(
      /1\.2M tokens · \$5\.76$/,
    );
  });

  test('one turn without a price makes the cost a lower bound', () => {
    const unknown = { ...AGENT_ENDED, usage: { costSource: 'unknown' } } as RunEvent;
    expect(line(told(...WORKING, AGENT_ENDED, unknown), 0)).toContain('at least $5.76');
  });

  test('and so does a commit message', () => {
    const unknown = {
      ...AGENT_ENDED,
      purpose: 'commit-message',
      usage: { costSource: 'unknown' },
    } as RunEvent;
    expect(line(told(...WORKING, AGENT_ENDED, unknown), 0)).toContain('at least $5.76');
  });
});

test('the state stays small when an agent never ends its tools', () => {
  const flood = Array.from({ length: 1_000 }, (_, at) => toolStart(String(at), 'Read', 'a.ts'));
  expect(told(...WORKING, ...flood).tools.length).toBeLessThan(20);
});

test('a run that is resumed is shown with what it has done before', () => {
  const lane = { id: 'T1', title: 'one', priority: 1, needs: [], files: [] };
  const before = [
    RUN_STARTED,
    { type: 'board-set', base: 'a', tip: 'a', branch: null, lanes: [lane] },
  ] as const;
  const { type: _, ...head } = RUN_STARTED as Extract<RunEvent, { type: 'run-started' }>;
  const how = { step: 'lanes', iteration: 1, repaired: [], changes: [] } as const;
  const resumed: RunEvent = { ...head, type: 'run-resumed', ...how };
  expect(line(live(NO_RUN, resumed, 0, told(...before).run), 0)).toContain('0 of 1 landed');
});
