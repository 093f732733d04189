/** The board of a parallel run in words: what each lane does, what is waited for, and how it got there. */
import { describe, expect, test } from 'vitest';
import { laneBranch, parentOf } from '../../src/domain/lanes/board.ts';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { displayWidth } from '../../src/platform/text.ts';
import { boardLines } from '../../src/report/board-lines.ts';
import { boardView, type Moment } from '../../src/report/board-view.ts';
import { junitOfChecks } from '../../src/report/junit.ts';
import { laneLines } from '../../src/report/lane-words.ts';
import { live, liveLine, NO_RUN } from '../../src/report/live-line.ts';
import { proofs } from '../../src/report/proofs.ts';
import { createRunFold } from '../../src/report/run-fold.ts';
import { sarifOf } from '../../src/report/sarif.ts';
import { DEFAULT_STYLE } from '../../src/report/style.ts';
import { TERMINAL_WORDS } from '../../src/report/words.ts';
import { loopResult, RUN_STARTED } from './events.ts';

const START = Date.parse('2026-03-01T10:00:00Z');
const RUN = '20260301-100000-k3f9';
const MINUTE = 60_000;
const usage = (cost: number) => ({ cost, costSource: 'agent' }) as const;

const lane = (id: string, title: string, needs: readonly string[] = []) => ({
  id,
  title,
  priority: 1,
  needs,
  files: [],
});

const BOARD_SET: RunEvent = {
  type: 'board-set',
  base: 'b'.repeat(40),
  tip: 'b'.repeat(40),
  branch: 'ralph/shop',
  lanes: [
    lane('US-1', 'The cart'),
    lane('US-2', 'The \x1b[31mdiscount'),
    lane('US-3', 'Mail '.repeat(40).trim(), ['US-1']),
  ],
};

const started = (story: string, nth = ''): RunEvent => ({
  type: 'story-started',
  story,
  child: `${RUN}.${story}${nth}`,
  from: 'b'.repeat(40),
});
const step = (story: string, mode: string, number: number, reserved = 0): RunEvent => ({
  type: 'story-step',
  story,
  mode,
  number,
  reserved,
});
const ended = (story: string, cost: number, why?: string): RunEvent => ({
  type: 'story-ended',
  story,
  child: `${RUN}.${story}`,
  reason: why === undefined ? 'all_stories_approved' : 'stuck',
  ...(why !== undefined && { why }),
  ledger: null,
  usage: usage(cost),
});
const queued = (story: string): RunEvent => ({ type: 'queued', story, head: 'a'.repeat(40), patch: 'p' });
const candidate = (story: string, number: number): RunEvent => ({
  type: 'candidate',
  story,
  number,
  tip: 'b'.repeat(40),
  commit: 'c'.repeat(40),
});
const checked = (story: string, number: number, passed: boolean): RunEvent => ({
  type: 'candidate-checked',
  story,
  number,
  commit: 'c'.repeat(40),
  passed,
  duration: 2,
  results: [],
});
const landed = (story: string, number: number): RunEvent => ({
  type: 'landed',
  story,
  number,
  commit: 'c'.repeat(40),
  tree: 't',
});
const sentBack = (story: string): RunEvent => ({
  type: 'sent-back',
  story,
  number: 2,
  why: 'conflict',
  files: ['src/cart.js'],
  others: ['The cart'],
  detail: 'the end of the output',
});

/** An event a minute. */
function viewOf(...events: readonly RunEvent[]) {
  const fold = createRunFold();
  for (const [at, event] of [{ ...RUN_STARTED, runId: RUN }, BOARD_SET, ...events].entries())
    fold.add({ seq: at + 1, at: new Date(START + at * MINUTE).toISOString(), ...event } as never);
  return fold.view();
}

function columnsOf(view: ReturnType<typeof viewOf>, more: Partial<Moment> = {}) {
  const board = boardView(view, { now: (view.lastAt ?? 0) + 5_000, isRunning: true, ...more });
  return Object.fromEntries(
    (board?.columns ?? [])
      .filter(({ lanes }) => lanes.length > 0)
      .map(({ name, lanes }) => [
        name,
        lanes.map(({ id, facts, why }) => [id, facts.join(' · '), why].join('|')),
      ]),
  );
}

describe('the columns', () => {
  test('say what each lane does, what it has cost and what it waits for', () => {
    const view = viewOf(
      started('US-1'),
      step('US-1', 'implement', 1),
      started('US-2'),
      step('US-2', 'review', 2),
    );
    expect(
      columnsOf(view, { children: { [`${RUN}.US-2`]: { cost: 0.5, until: START + 60 * MINUTE } } }),
    ).toEqual({
      Waiting: ['US-3|waits for US-1|'],
      Building: ['US-1|iteration 1, implement|'],
      Reviewing: [expect.stringMatching(/^US-2\|iteration 2, review · waits until \d\d:\d\d · \$0\.50\|$/)],
    });
  });

  test('a lane in the queue: its checks, or its place', () => {
    const before = [
      started('US-1'),
      ended('US-1', 1),
      queued('US-1'),
      started('US-2'),
      ended('US-2', 2),
      queued('US-2'),
    ];
    expect(columnsOf(viewOf(...before)).Queue).toEqual([
      'US-1|next to land · $1.00|',
      'US-2|number 2 in the queue · $2.00|',
    ]);
    expect(columnsOf(viewOf(...before, candidate('US-1', 1))).Queue?.[0]).toBe(
      'US-1|checks of candidate 1 for 5s · $1.00|',
    );
    expect(columnsOf(viewOf(...before, candidate('US-1', 1), checked('US-1', 1, true))).Queue?.[0]).toBe(
      'US-1|next to land · $1.00|',
    );
  });

  test('a lane that was sent back says why, until it is in the queue again', () => {
    const back = [started('US-1'), ended('US-1', 1), queued('US-1'), candidate('US-1', 1), sentBack('US-1')];
    const why = 'sent back because it conflicts with what has landed in src/cart.js (The cart)';
    expect(columnsOf(viewOf(...back)).Waiting?.[0]).toBe(
      `US-1|to be merged again · $1.00 · sent back once|${why}`,
    );
    const again = viewOf(...back, started('US-1', '.2'), step('US-1', 'merge-fix', 1));
    expect(columnsOf(again).Building).toEqual([
      `US-1|iteration 1, merge-fix · $1.00 · sent back once|${why}`,
    ]);
    expect(again.lanes.marks).toMatchObject([{ kind: 'sent-back', detail: 'the end of the output' }]);
  });

  test('a lane that needs the user says why; nothing runs in a run that is over', () => {
    const view = viewOf(
      started('US-1'),
      ended('US-1', 1, 'Stopped: stuck.'),
      started('US-2'),
      step('US-2', 'implement', 1),
    );
    expect(columnsOf(view, { isRunning: false })).toEqual({
      Waiting: ['US-3|waits for US-1|'],
      Building: ['US-2|iteration 1, implement · not running|'],
      'Needs you': ['US-1|$1.00|stuck: Stopped: stuck.'],
    });
  });

  test('whoever resumes the run tries again what needed the user', () => {
    const resumed: RunEvent = {
      ...RUN_STARTED,
      type: 'run-resumed',
      runId: RUN,
      iteration: 0,
      step: 'turn',
      repaired: [],
      changes: [],
    } as never;
    const view = viewOf(
      started('US-1'),
      ended('US-1', 1, 'Stopped.'),
      started('US-2'),
      step('US-2', 'implement', 1),
      resumed,
    );
    expect(columnsOf(view)['Needs you']).toBeUndefined();
    // What was cut off ended then, and not when it was resumed.
    expect(view.lanes.spans.map(({ from, to }) => Number(to) - from)).toEqual([0]);
  });
});

test('money: what is spent and what is reserved for turns that run', () => {
  const view = viewOf(
    started('US-1'),
    step('US-1', 'implement', 1, 0.3),
    started('US-2'),
    step('US-2', 'implement', 1, 0.2),
  );
  const money = (isRunning: boolean) =>
    boardView(view, { now: START, isRunning, children: { [`${RUN}.US-1`]: { cost: 1, until: null } } })
      ?.money;
  expect(money(true)).toBe('$1.00 spent, $0.50 reserved');
  expect(money(false)).toBe('$1.00 spent');
});

test('what is waited for: a limited account until it is not, the checks of the queue, the user', () => {
  const limited: RunEvent = { type: 'account-limited', agent: 'claude', until: START + 30 * MINUTE };
  const view = viewOf(
    limited,
    started('US-1'),
    ended('US-1', 1),
    queued('US-1'),
    candidate('US-1', 1),
    started('US-2'),
    ended('US-2', 1, 'x'),
  );
  const waits = (now: number) => boardView(view, { now, isRunning: true })?.waits;
  expect(waits(START + 8 * MINUTE)).toEqual([
    expect.stringMatching(/^claude is limited until \d\d:\d\d: nothing new is begun$/),
    'The queue: the checks of candidate 1 (US-1), for 2m0s',
    'You: 1 lane needs you',
  ]);
  expect(waits(START + 31 * MINUTE)?.[0]).toMatch(/^The queue/);
});

test('the history has a span for each step, and what the checks of each candidate said', () => {
  const { spans } = viewOf(
    started('US-1'),
    step('US-1', 'implement', 1),
    step('US-1', 'review', 2),
    ended('US-1', 1),
    queued('US-1'),
    candidate('US-1', 1),
    checked('US-1', 1, false),
    candidate('US-1', 2),
    checked('US-1', 2, true),
    landed('US-1', 2),
  ).lanes;
  expect(
    spans.map(({ kind, what, passed, from, to }) => [kind, what, passed, (Number(to) - from) / MINUTE]),
  ).toEqual([
    ['building', 'implement', undefined, 1],
    ['reviewing', 'review', undefined, 1],
    ['queued', '', undefined, 1],
    ['checks', 'candidate 1', false, 1],
    ['queued', '', undefined, 1],
    ['checks', 'candidate 2', true, 1],
    ['queued', '', undefined, 1],
  ]);
});

test('what landed counts as evidence, and what did not counts against the result', () => {
  const ends: RunEvent = {
    type: 'run-ended',
    result: loopResult({ success: false, stopReason: 'needs_you' }),
  };
  const view = viewOf(
    started('US-1'),
    candidate('US-1', 1),
    checked('US-1', 1, true),
    landed('US-1', 1),
    ends,
  );
  const found = proofs(view, { trust: { kind: 'intact' } as never, torn: 0 });
  expect(found.slice(0, 2)).toEqual([
    { holds: 'yes', text: '1 of 3 landed, each after every check passed on the commit that landed' },
    { holds: 'no', text: '2 of 3 did not land' },
  ]);
});

test.each([60, 80, 120])('fits %d columns, with titles that want to do something', width => {
  const view = viewOf(
    started('US-1'),
    ended(
      'US-1',
      1,
      'Stopped: it is stuck, and nobody knows why it is, although many have looked at it for long',
    ),
    started('US-2'),
    step('US-2', 'implement', 1),
  );
  const board = boardView(view, { now: START + MINUTE, isRunning: true });
  const lines = board ? boardLines(board, { ...DEFAULT_STYLE, width }) : [];
  expect(lines.length).toBeGreaterThan(6);
  expect(lines.filter(line => displayWidth(line) > width)).toEqual([]);
  expect(lines.join('')).not.toContain('\x1b');
});

describe('the final block', () => {
  const outcome = (id: string, state: 'landed' | 'needs_you', why?: string) => ({
    id,
    title: 'The cart',
    state,
    commit: state === 'landed' ? 'c'.repeat(40) : null,
    returns: state === 'landed' ? 2 : 0,
    iterations: 3,
    cost: 1.5,
    runs: [`${RUN}.${id}`, `${RUN}.${id}.2`],
    ...(why !== undefined && { why }),
  });

  test('says what landed, and how to look at what did not', () => {
    const lanes = [outcome('US-1', 'landed'), outcome('US-2', 'needs_you', 'stuck: Stopped.')];
    const integrated = { branch: 'ralph/shop', commit: 'c'.repeat(40) };
    expect(
      laneLines({ runId: RUN, lanes }, { cwd: '/home/ada/my shop', integrated }, TERMINAL_WORDS),
    ).toEqual([
      '- Landed: 1 of 2',
      '  - US-1 The cart: cccccccccccc, $1.50, sent back twice',
      '- Not landed:',
      '  - US-2 The cart: needs you, $1.50. stuck: Stopped.',
      `    Look: \`ralph log ${RUN}.US-2.2\``,
      `    Work: \`git -C '/home/ada/my shop' log --stat ralph/${RUN}/_int..ralph/${RUN}/US-2\``,
      '- Branch: ralph/shop is at cccccccccccc, with all that has landed',
    ]);
  });

  test('says why the branch was not moved, and where the work is when nobody tried', () => {
    const lanes = [outcome('US-1', 'landed')];
    const problem = 'branch ralph/shop: it has moved. What has landed is on X: git merge X';
    const moved = { branch: 'ralph/shop', commit: 'c', problem };
    expect(
      laneLines({ runId: RUN, lanes }, { cwd: '/shop', integrated: moved }, TERMINAL_WORDS).slice(-2),
    ).toEqual([
      `- Branch: ralph/shop was not moved. ${problem}`,
      `    Merge: \`git -C /shop merge ralph/${RUN}/_int\``,
    ]);
    expect(laneLines({ runId: RUN, lanes }, {}, TERMINAL_WORDS).at(-1)).toBe(
      `- Branch: what has landed is on ralph/${RUN}/_int`,
    );
  });
});

test('the live line says how many lanes are where', () => {
  const events = [
    RUN_STARTED,
    BOARD_SET,
    started('US-1'),
    step('US-1', 'review', 2),
    started('US-2'),
    step('US-2', 'implement', 1),
  ];
  const state = events.reduce((before, event) => live(before, event, START), NO_RUN);
  expect(liveLine(state, DEFAULT_STYLE, START + 3_000)).toBe('1 building, 1 reviewing, 0 of 3 landed · 3s');
});

test('the id of a run says what it belongs to, and which branch it is on', () => {
  expect([parentOf(RUN), parentOf(`${RUN}.US-1.2`)]).toEqual([undefined, RUN]);
  expect(laneBranch(`${RUN}.US-1.2`)).toBe(`ralph/${RUN}/US-1`);
});

describe('for programs', () => {
  const INTACT = { trust: { kind: 'intact' }, torn: 0 } as const;
  const ending = (stopReason: 'needs_you' | 'all_stories_approved'): RunEvent => ({
    type: 'run-ended',
    result: loopResult({ runId: RUN, stopReason, iterations: [] }),
  });
  const before = [
    started('US-1'),
    ended('US-1', 1),
    queued('US-1'),
    candidate('US-1', 1),
    checked('US-1', 1, true),
    landed('US-1', 1),
    started('US-2'),
    ended('US-2', 1, 'it asks for <a key>'),
  ];

  test('each story is a case of the JUnit file, and a result of the SARIF file where it did not land', () => {
    const view = viewOf(...before, ending('needs_you'));
    const junit = junitOfChecks(view, new Map(), INTACT);
    expect(junit).toContain('tests="3" failures="2"');
    expect(junit).toContain('<testcase classname="ralph.story" name="US-1 The cart" time="0.000"/>');
    expect(junit).toContain(
      '<failure message="did not land: needs you">stuck: it asks for &lt;a key&gt;</failure>',
    );
    const { results } = JSON.parse(sarifOf(view, INTACT, '0')).runs[0];
    expect(
      results.map((each: { ruleId: string; message: { text: string } }) => [each.ruleId, each.message.text]),
    ).toEqual([
      ['not-landed', 'US-2 The discount did not land: needs you (stuck: it asks for <a key>).'],
      ['not-landed', expect.stringMatching(/^US-3 .* did not land: not begun\.$/)],
    ]);
  });

  test('an attempt that was not taken is no failure of a run that is done', () => {
    const view = viewOf(...before, ending('all_stories_approved'));
    expect(junitOfChecks(view, new Map(), INTACT)).toContain('tests="3" failures="0"');
    expect(JSON.parse(sarifOf(view, INTACT, '0')).runs[0].results).toEqual([]);
  });
});
