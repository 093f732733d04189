import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../../src/domain/run/event.ts';
import { evidenceOf, next, resumedStep, type Step, stillSpent } from '../../../src/domain/run/next.ts';
import { runResult } from '../../../src/domain/run/result.ts';
import { fold, NOTHING_YET, type RunState, type Timed } from '../../../src/domain/run/state.ts';
import type { StopReason } from '../../../src/domain/run/stop-reason.ts';
import type { Run, Verdict } from '../../../src/domain/run/verdict.ts';
import { anyEvent } from '../../report/any-event.ts';
import { examples } from '../../rig/thorough.ts';

const RUN: Run = {
  rule: { kind: 'promise', text: 'COMPLETE' },
  limits: { maxIterations: 3, maxFailures: 3, stuckAfter: 3 },
  success: 'all_checks_passed',
  minToolCalls: 1,
};
const HEAD = { runId: 'r', command: 'loop', agent: 'a', maxIterations: 3, checks: ['c'], cwd: '/' } as const;
const USAGE = { cost: 1, costSource: 'agent' } as const;
const TURN = {
  outcome: { kind: 'completed' },
  claim: { found: false },
  steps: 1,
  toolCalls: 1,
  usage: USAGE,
} as const;
const CHECK = {
  command: 'c',
  index: 0,
  passed: false,
  exitCode: 1,
  output: 'x',
  duration: 1,
  log: 'l',
} as const;
const CONTINUE: Verdict = { kind: 'continue', feedback: [{ kind: 'claim-missing' }] };

const spent = (iterations: number) => ({
  iterations,
  failures: 0,
  toolCalls: 1,
  usage: USAGE,
  elapsed: iterations,
});
const judged = (iteration: number, verdict: Verdict = CONTINUE): RunEvent => ({
  type: 'judged',
  iteration,
  verdict,
  treeChanged: true,
  tree: 'A',
  repeats: 1,
  spent: spent(iteration),
});
const started = (iteration: number): RunEvent => ({ type: 'iteration-started', iteration });
const ended = (iteration: number, verdict: Verdict = CONTINUE): RunEvent => ({
  type: 'iteration-ended',
  iteration,
  claim: TURN.claim,
  verdict,
  usage: USAGE,
});
const checked = { type: 'check-ended', result: CHECK } as unknown as RunEvent;
const turned: RunEvent = { type: 'turn-ended', ...TURN };
const iteration = (number: number, verdict?: Verdict): readonly RunEvent[] => [
  started(number),
  turned,
  checked,
  judged(number, verdict),
  ended(number, verdict),
];
const BEGUN: readonly RunEvent[] = [
  { type: 'run-started', ...HEAD },
  { type: 'prepared', tree: 'A' },
];
const resumed: RunEvent = {
  type: 'run-resumed',
  ...HEAD,
  step: 'next',
  iteration: 1,
  repaired: [],
  changes: [],
};
const over = (stopReason: StopReason): RunEvent => ({ type: 'run-ended', result: { stopReason } as never });

function pastOf(...events: readonly RunEvent[]): RunState {
  return events.reduce(
    (state, event, at) => fold(state, { ...event, time: 1000 * (at + 1) } as Timed),
    NOTHING_YET,
  );
}

describe('what is next', () => {
  const stop: Verdict = { kind: 'stop', reason: 'max_iterations', detail: '3 of 3' };
  const kinds: readonly (readonly [string, readonly RunEvent[], Partial<Step>])[] = [
    ['in a run that has just begun', [], { kind: 'prepare' }],
    ['when it is prepared', BEGUN, { kind: 'turn', iteration: 1, feedback: [] }],
    ['when the turn has ended', [...BEGUN, started(1), turned], { kind: 'check', iteration: 1 }],
    [
      'when a check is still to be run',
      [...BEGUN, started(1), turned, checked],
      { kind: 'check', iteration: 1 },
    ],
    [
      'when it was judged',
      [...BEGUN, started(1), turned, checked, judged(1)],
      { kind: 'finish', iteration: 1 },
    ],
    ['when an iteration is over', [...BEGUN, ...iteration(1)], { kind: 'turn', iteration: 2 }],
    [
      'when the verdict was to stop',
      [...BEGUN, ...iteration(1, { kind: 'stop', reason: 'blocked' })],
      { kind: 'end', reason: 'blocked' },
    ],
  ];

  test.each(kinds)('%s', (_, events, step) => {
    expect(next(pastOf(...events), RUN)).toMatchObject(step);
  });

  test('is the same for a run that was cut off there and resumed, but that what was judged is judged again', () => {
    const events = [...BEGUN, ...iteration(1), ...iteration(2), started(3), turned, checked, judged(3)];
    for (let at = 1; at <= events.length; at++) {
      const here = next(pastOf(...events.slice(0, at)), RUN);
      const again = next(pastOf(...events.slice(0, at), resumed), RUN);
      expect([at, again.kind]).toEqual([at, here.kind === 'finish' ? 'check' : here.kind]);
    }
  });

  test('a turn that a signal or a crash broke off is taken again, under the same number, and what it used is counted', () => {
    const broken = { ...TURN, outcome: { kind: 'ended', by: 'interrupt' } } as const;
    const state = pastOf(
      ...BEGUN,
      ...iteration(1),
      started(2),
      { type: 'turn-ended', ...broken },
      over('interrupted'),
    );
    const after = fold(state, { ...resumed, time: 99_000 } as Timed);
    expect(next(after, RUN)).toMatchObject({ kind: 'turn', iteration: 2 });
    expect(resumedStep(after, RUN)).toEqual({ step: 'agent', iteration: 2 });
    expect([state.totals.usage?.cost, after.totals.usage?.cost]).toEqual([1, 2]);
    const taken = fold(after, { ...started(2), time: 100_000 } as Timed);
    expect(taken.totals.usage?.cost).toBe(2);
  });

  test('a failed turn is judged while the run runs, and taken again when the run was cut off before', () => {
    const failed = {
      ...TURN,
      outcome: { kind: 'failed', trouble: { class: 'crash', message: 'x' } },
    } as const;
    const events: readonly RunEvent[] = [...BEGUN, started(1), { type: 'turn-ended', ...failed }];
    expect(next(pastOf(...events), RUN).kind).toBe('check');
    expect(next(pastOf(...events, resumed), RUN).kind).toBe('turn');
  });

  test('a limit that was reached ends a resumed run, unless there is more of it now', () => {
    const events = [...BEGUN, ...iteration(1), ...iteration(2), ...iteration(3, stop)];
    const more = { ...RUN, limits: { ...RUN.limits, maxIterations: 4 } };
    expect(next(pastOf(...events), RUN).kind).toBe('end');
    expect(next(pastOf(...events), more)).toMatchObject({ kind: 'turn', iteration: 4 });
    expect(stillSpent(pastOf(...events), RUN.limits)?.reason).toBe('max_iterations');
    expect(next(pastOf(...events, over('max_iterations'), resumed), more)).toMatchObject({
      kind: 'turn',
      iteration: 4,
    });
  });

  test('success is never believed: proven work that was cut off before the run could end is checked again', () => {
    const done: Verdict = { kind: 'stop', reason: 'all_checks_passed' };
    const green = { ...checked, result: { ...CHECK, passed: true } } as unknown as RunEvent;
    const proven = [...BEGUN, started(1), turned, green, judged(1, done)];
    const cut = [
      [...BEGUN, started(1), turned, green, resumed],
      [...proven, resumed],
      [...proven, over('interrupted'), resumed],
      [...proven, ended(1, done), resumed],
      [...proven, ended(1, done), over('interrupted'), resumed],
      [...proven, resumed, green, judged(1, done), ended(1, done), resumed],
    ];
    for (const events of cut) {
      const state = pastOf(...events);
      expect(next(state, RUN)).toEqual({ kind: 'check', iteration: 1 });
      expect([state.open?.checks, state.results]).toEqual([[], []]);
    }
  });

  test('what is judged again counts once', () => {
    const done: Verdict = { kind: 'stop', reason: 'all_checks_passed' };
    const first = [...BEGUN, ...iteration(1), started(2), turned, checked, judged(2, done)];
    const again = [checked, judged(2, done), ended(2, done)];
    const whole = pastOf(...first, ended(2, done));
    const cut = [
      pastOf(...first, resumed, ...again),
      pastOf(...first, ended(2, done), resumed, ...again),
      pastOf(...first, resumed, resumed, checked, judged(2, done), resumed, ...again),
    ];
    for (const state of cut) {
      expect(state.totals).toEqual(whole.totals);
      expect(state.traces).toEqual(whole.traces);
      expect(state.repeated).toEqual(whole.repeated);
      expect(state.results.map(each => each.iteration)).toEqual([1, 2]);
    }
  });

  test('a run that was blocked and is resumed asks the agent again', () => {
    const blocked: Verdict = { kind: 'stop', reason: 'blocked', detail: 'no key' };
    const state = pastOf(...BEGUN, ...iteration(1, blocked), over('blocked'), resumed);
    expect(next(state, RUN)).toMatchObject({
      kind: 'turn',
      iteration: 2,
      feedback: [{ kind: 'check-failed' }],
    });
  });

  test('a run that was stuck starts to count repeats and standstill anew', () => {
    const stuck: Verdict = { kind: 'stop', reason: 'stuck' };
    const before = pastOf(...BEGUN, ...iteration(1), ...iteration(2, stuck), over('stuck'));
    const after = fold(before, { ...resumed, time: 99_000 } as Timed);
    expect([before.repeated?.times, before.traces.length]).toEqual([2, 2]);
    expect([after.repeated, after.traces.length]).toEqual([undefined, 0]);
  });

  test('words to the agent are owed again by an iteration that was cut off, and not by one that was judged', () => {
    const told: RunEvent = { type: 'hint-delivered', iteration: 1, hint: 'h', text: 'listen' };
    const again = pastOf(...BEGUN, started(1), told, resumed, started(1));
    expect(again.open?.owed).toEqual([{ id: 'h', text: 'listen' }]);
    const later = pastOf(...BEGUN, started(1), told, turned, judged(1), ended(1), started(2));
    expect(later.open?.owed).toEqual([]);
  });
});

describe('the state', () => {
  test('is plain data, whatever happened: what is written down and read again is the same', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), events => {
        const state = pastOf(...events);
        expect(JSON.parse(JSON.stringify(state))).toEqual(state);
      }),
      examples(200),
    );
  });

  test('folds on from anywhere: a state that was written down and read again ends as the whole would', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), fc.nat(60), (events, cut) => {
        const timed = events.map((event, at) => ({ ...event, time: 1000 * at }) as Timed);
        const whole = timed.reduce(fold, NOTHING_YET);
        const half: RunState = JSON.parse(JSON.stringify(timed.slice(0, cut).reduce(fold, NOTHING_YET)));
        expect(timed.slice(cut).reduce(fold, half)).toEqual(whole);
      }),
      examples(200),
    );
  });

  test('counts time by the run itself; pauses and what lies between its parts are not counted', () => {
    const at = (time: number, event: RunEvent) => ({ ...event, time }) as Timed;
    const state = [
      at(1_000, { type: 'run-started', ...HEAD }),
      at(3_000, { type: 'paused' }),
      at(60_000, { type: 'continued' }),
      at(61_000, {
        type: 'waiting',
        agent: 'a',
        trouble: { class: 'rate-limit', message: '' },
        until: 66_000,
      }),
      at(66_000, started(1)),
      at(900_000, resumed),
      at(901_000, started(1)),
    ].reduce(fold, NOTHING_YET);
    expect(state.time).toMatchObject({ elapsed: 9, waited: 5, isPaused: false });
    expect(state.limits).toEqual({ a: 66_000 });
  });

  test('a run that waits says so until something happens, and a notice is nothing that happens', () => {
    const wait = { agent: 'a', trouble: { class: 'rate-limit', message: '' }, until: 9_000 } as const;
    const at = (time: number, event: RunEvent): Timed => ({ ...event, time });
    const waiting = [
      at(1_000, { type: 'waiting', ...wait }),
      at(3_000, { type: 'notice', level: 'info', text: 'still here' }),
    ].reduce(fold, NOTHING_YET);
    expect(waiting.waiting).toEqual(wait);
    const after = fold(waiting, at(6_000, { type: 'continued' }));
    expect([after.waiting, after.time.waited]).toEqual([undefined, 5]);
  });

  test('lists an iteration that was broken off in the result, as one whose checks did not all pass', () => {
    const state = pastOf(...BEGUN, ...iteration(1), started(2), turned);
    const ending = {
      runId: 'r',
      stopReason: 'interrupted',
      detail: undefined,
      duration: 5,
      place: undefined,
    } as const;
    expect(runResult(state, ending)).toMatchObject({
      success: false,
      totalCost: 2,
      iterations: [{ iteration: 1 }, { iteration: 2, allChecksPassed: false }],
    });
  });

  test('holds the evidence that was judged', () => {
    const { last } = pastOf(...BEGUN, ...iteration(1));
    expect(last && evidenceOf(last)).toMatchObject({ outcome: TURN.outcome, checks: [CHECK], repeats: 1 });
  });
});
