import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { markdownOf } from '../../src/report/markdown.ts';
import { createRunFold } from '../../src/report/run-fold.ts';
import { elapsed, lastChecks, type RunView } from '../../src/report/run-view.ts';
import { sarifOf } from '../../src/report/sarif.ts';
import { anyEvent } from './any-event.ts';
import { checkResult, loopResult, RUN_STARTED } from './events.ts';

const START = Date.parse('2026-03-01T10:15:00Z');

/** Events a second apart, numbered as a ledger numbers them. */
function entries(...events: readonly (RunEvent | { readonly type: string })[]) {
  return events.map((event, at) => ({
    seq: at + 1,
    at: new Date(START + at * 1000).toISOString(),
    prev: '',
    ...event,
  }));
}

function fold(...events: readonly (RunEvent | { readonly type: string })[]): RunView {
  const folding = createRunFold();
  for (const entry of entries(...events)) folding.add(entry);
  return folding.view();
}

const ENDED: RunEvent = {
  type: 'agent-ended',
  purpose: 'work',
  outcome: { kind: 'completed' },
  duration: 30,
  toolCalls: 4,
  toolErrors: 1,
  usage: { cost: 0.5, costSource: 'agent' },
};
const STARTED: RunEvent = {
  type: 'agent-started',
  purpose: 'work',
  command: 'claude',
  promptChars: 3,
  promptHead: 'abc',
};
const iteration = (number: number): RunEvent => ({ type: 'iteration-started', iteration: number });
const red = checkResult({ index: 1, command: 'npm run lint', exitCode: 2 });
const green = checkResult({ index: 0, passed: true, exitCode: 0 });
const startOf = ({ index, command }: { index: number; command: string }): RunEvent => ({
  type: 'check-started',
  index,
  command,
});

describe('a ledger as a view', () => {
  test('an iteration knows its time, its checks in their order, and why it was not done', () => {
    const view = fold(
      RUN_STARTED,
      iteration(1),
      STARTED,
      ENDED,
      startOf(red),
      startOf(green),
      { type: 'check-ended', result: red },
      { type: 'check-ended', result: green },
      {
        type: 'iteration-ended',
        iteration: 1,
        claim: { found: true },
        verdict: { kind: 'continue', feedback: [{ kind: 'check-failed', check: red }] },
        usage: { cost: 0.5, costSource: 'agent' },
      },
    );
    expect(view.iterations).toHaveLength(1);
    expect(view.iterations[0]).toMatchObject({
      number: 1,
      attempts: 1,
      seconds: { agent: 30, checks: 3, waiting: 0 },
      toolCalls: 4,
      toolErrors: 1,
      usage: { cost: 0.5 },
      total: { cost: 0.5 },
      claim: { found: true },
      stopReason: null,
      why: 'guardrail "npm run lint" failed with exit code 2',
    });
    expect(lastChecks(view).map(({ command, passed }) => [command, passed])).toEqual([
      ['npm test', true],
      ['npm run lint', false],
    ]);
    expect([view.phase, view.open, view.seconds]).toEqual([
      'between',
      null,
      { agent: 30, checks: 3, waiting: 0 },
    ]);
  });

  test('what is going on is told with its beginning', () => {
    expect(fold(RUN_STARTED, iteration(1), STARTED)).toMatchObject({
      phase: 'agent',
      open: { since: START + 2000 },
      iterations: [{ number: 1, outcome: null, endedAt: null }],
      ending: null,
    });
  });

  test('checks before the first iteration are the baseline', () => {
    const view = fold(RUN_STARTED, startOf(red), { type: 'check-ended', result: red }, iteration(1));
    expect(view.baseline.map(({ command }) => command)).toEqual(['npm run lint']);
    expect(view.iterations[0]?.checks).toEqual([]);
  });

  test('a hook only tells the end of an iteration, and of the checks those that were red', () => {
    const view = fold(RUN_STARTED, {
      type: 'iteration-ended',
      iteration: 3,
      claim: { found: false },
      verdict: { kind: 'continue', feedback: [{ kind: 'check-failed', check: red }] },
      usage: { costSource: 'unknown' },
    });
    expect(view.iterations).toMatchObject([
      { number: 3, attempts: 0, checks: [{ command: 'npm run lint', passed: false }], endedAt: START + 1000 },
    ]);
  });

  test('an iteration that begins again is the same one', () => {
    const view = fold(RUN_STARTED, iteration(1), STARTED, iteration(1), STARTED, ENDED);
    expect(view.iterations.map(({ number, attempts }) => [number, attempts])).toEqual([[1, 2]]);
  });

  test('a wait counts as such until the agent starts again, and the agent that takes over is known', () => {
    const view = fold(
      RUN_STARTED,
      iteration(1),
      STARTED,
      ENDED,
      {
        type: 'waiting',
        agent: 'claude',
        trouble: { class: 'rate-limit', message: 'too many' },
        until: START + 64_000,
      },
      { type: 'agent-switched', from: 'claude', to: 'codex', why: 'limited' },
      STARTED,
      { type: 'paused' },
      { type: 'continued' },
    );
    expect(view.iterations[0]).toMatchObject({ seconds: { waiting: 3 }, attempts: 2, agent: 'codex' });
    expect(view.remarks.map(({ level, text }) => [level, text])).toEqual([
      ['warning', expect.stringMatching(/^claude: rate limit\. Retrying in 1m0s/)],
      ['info', 'claude is rate-limited: using codex'],
      ['warning', 'Paused. Continue: `ralph continue`'],
      ['info', 'Continued'],
    ]);
  });

  test('a resumed run has not ended, and the time in between is not counted', () => {
    const head = { ...RUN_STARTED, iteration: 1, step: 'agent', repaired: ['a torn line'], changes: [] };
    const folding = createRunFold();
    for (const entry of entries(RUN_STARTED, iteration(1), STARTED)) folding.add(entry);
    const late = new Date(START + 3_600_000).toISOString();
    folding.add({ ...head, type: 'run-resumed', seq: 4, at: late });
    folding.add({ ...entries(iteration(1))[0]!, seq: 5, at: late });
    const view = folding.view();
    expect([view.ending, view.seconds.agent, view.iterations.length]).toEqual([null, 0, 1]);
    expect(view.remarks.map(({ text }) => text)).toEqual([
      "Resumed: iteration 1 was cut off during the agent's turn: the turn is repeated, its changes are kept; a torn line",
    ]);
    const again = createRunFold();
    for (const entry of entries(RUN_STARTED, { type: 'run-ended', result: loopResult() })) again.add(entry);
    again.add({ ...head, type: 'run-resumed', seq: 3, at: late } as never);
    expect([again.view().ending, again.view().phase]).toEqual([null, 'between']);
  });

  test('the end of a run is there without a second copy of its iterations', () => {
    const view = fold(RUN_STARTED, { type: 'run-ended', result: loopResult() });
    expect(view.ending).toMatchObject({ stopReason: 'promise_accepted', totalCost: 5.76 });
    expect(view.ending).not.toHaveProperty('iterations');
    expect([view.phase, elapsed(view)]).toEqual(['ended', 367]);
  });

  test('an event of another version is shown as unknown, and so is a damaged one', () => {
    const view = fold(
      RUN_STARTED,
      { type: 'from-the-future', colour: 'blue' } as unknown as RunEvent,
      {
        type: 'check-ended',
        result: 'nothing',
      } as unknown as RunEvent,
    );
    expect(view.remarks.map(({ seq, type, text }) => [seq, type, text])).toEqual([
      [2, 'from-the-future', 'Unknown event "from-the-future": {"colour":"blue"}'],
      [3, 'check-ended', 'Unknown event "check-ended": {"result":"nothing"}'],
    ]);
  });
});

describe('laws of the view', () => {
  const ledger = fc.array(anyEvent, { maxLength: 30 }).map(events => entries(RUN_STARTED, ...events));

  test('it does not matter where a view was handed on, or that it went through JSON', () => {
    fc.assert(
      fc.property(ledger, fc.nat(), (all, cut) => {
        const at = cut % (all.length + 1);
        const whole = createRunFold();
        for (const entry of all) whole.add(entry);
        const first = createRunFold();
        for (const entry of all.slice(0, at)) first.add(entry);
        const second = createRunFold(JSON.parse(JSON.stringify(first.view())));
        for (const entry of all.slice(at)) second.add(entry);
        expect(JSON.parse(JSON.stringify(second.view()))).toEqual(JSON.parse(JSON.stringify(whole.view())));
      }),
    );
  });

  test('whatever a line holds, nothing throws and time never runs backwards', () => {
    const types = ['run-started', 'iteration-ended', 'check-ended', 'agent-ended', 'run-ended', 'violation'];
    const torn = fc
      .record({
        type: fc.constantFrom(...types, 'x'),
        rest: fc.dictionary(
          fc.constantFrom(
            'result',
            'claim',
            'verdict',
            'usage',
            'outcome',
            'violation',
            'iteration',
            'event',
          ),
          fc.jsonValue(),
        ),
      })
      .map(({ type, rest }) => ({ ...rest, type }));
    fc.assert(
      fc.property(fc.array(fc.oneof(anyEvent, torn), { maxLength: 30 }), events => {
        const view = fold(...(events as RunEvent[]));
        const reading = { id: 'x', state: 'stopped', view, stories: [], result: null } as const;
        const integrity = { trust: { kind: 'intact' }, torn: 0 } as const;
        expect(() => markdownOf({ ...reading, integrity })).not.toThrow();
        expect(() => sarifOf(view, integrity, '0.0.0')).not.toThrow();
        for (const { seconds } of [view, ...view.iterations])
          expect(Math.min(seconds.agent, seconds.checks, seconds.waiting)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test('a view that was handed out does not change when more is added', () => {
    const folding = createRunFold();
    for (const entry of entries(RUN_STARTED, iteration(1))) folding.add(entry);
    const before = folding.view();
    const copy = structuredClone(before);
    folding.add({ ...entries(iteration(2))[0]!, seq: 3 });
    expect(before).toEqual(copy);
    expect(folding.view().iterations).toHaveLength(2);
  });
});
