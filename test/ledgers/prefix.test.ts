/**
 * A run that was cut off anywhere continues where it was: for every prefix of every recorded ledger, what the fold makes of it, and what is
 * next. No kill can find a moment between two lines that is not tried here.
 */
import { describe, expect, test } from 'vitest';
import { admit } from '../../src/domain/lanes/admit.ts';
import type { Board } from '../../src/domain/lanes/board.ts';
import { nextMerge } from '../../src/domain/lanes/queue.ts';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { next, type Step } from '../../src/domain/run/next.ts';
import { fold, NOTHING_YET, type RunState, type Timed } from '../../src/domain/run/state.ts';
import { isSuccess } from '../../src/domain/run/stop-reason.ts';
import type { Run } from '../../src/domain/run/verdict.ts';
import { PARALLEL, recordedEvents, STEPPED } from './recorded.ts';

/** The event that ends each step. */
const ENDS: Partial<Record<RunEvent['type'], Step['kind']>> = {
  prepared: 'prepare',
  'turn-ended': 'turn',
  judged: 'check',
  'iteration-ended': 'finish',
  restored: 'restore',
  'run-ended': 'end',
};

const foldAll = (state: RunState, events: readonly Timed[]) => events.reduce(fold, state);

/** As the commands have it, with the limits that the ledger names. */
function runOf(events: readonly Timed[]): Run {
  const judged = events.find(event => event.type === 'judged');
  const ended = events.find(event => event.type === 'run-ended');
  if (judged?.type !== 'judged' || ended?.type !== 'run-ended' || !isSuccess(ended.result.stopReason))
    throw new Error('the recorded run has no happy end');
  return {
    rule: { kind: 'promise', text: 'COMPLETE' },
    limits: judged.limits ?? { maxIterations: 25, maxFailures: 3, stuckAfter: 3 },
    success: ended.result.stopReason,
    minToolCalls: 0,
    goBack: { patience: 2 },
  };
}

/** What `ralph resume` writes first. */
function resumption(events: readonly Timed[], at: number): Timed {
  const [started] = events;
  if (started?.type !== 'run-started') throw new Error('a ledger begins with run-started');
  const last = events[at - 1] ?? started;
  return { ...started, type: 'run-resumed', step: 'next', iteration: 1, time: last.time } as Timed;
}

/** Where the step begins that `next` names: behind the event that ended the one before it. */
function startOf(events: readonly Timed[], step: Step): number {
  const iteration = 'iteration' in step ? step.iteration : undefined;
  const before: Partial<Record<Step['kind'], RunEvent['type']>> = {
    turn: 'iteration-ended',
    check: 'turn-ended',
    finish: 'judged',
    end: 'iteration-ended',
  };
  if (step.kind === 'restore') return events.findIndex(event => event.type === 'restore-started');
  const type = before[step.kind];
  if (type === undefined) return 1;
  const wanted = step.kind === 'turn' ? (iteration ?? 0) - 1 : iteration;
  const isIt = (event: Timed) =>
    event.type === type && (wanted === undefined || ('iteration' in event && event.iteration === wanted));
  const found = events.findLastIndex(isIt);
  return found === -1 ? events.findIndex(event => event.type === 'prepared') + 1 : found + 1;
}

/** The rest of the run, as it is performed after a resumption: a violation that was found before is not said again. */
function restAfter(resumed: RunState, events: readonly Timed[], run: Run): readonly Timed[] {
  const known = new Set(resumed.open?.violations.map(({ what }) => what));
  return events
    .slice(startOf(events, next(resumed, run)))
    .filter(event => event.type !== 'violation' || !known.delete(event.violation.what));
}

/** What must not depend on how often a run was cut off: what each iteration did and cost. */
function outcomeOf({ results, result, scm }: RunState) {
  return {
    ended: result?.stopReason,
    scm,
    results: results.map(({ iteration, mode, cost, tokens, toolCalls, allChecksPassed, violations }) => ({
      ...{ iteration, mode, cost, tokens, toolCalls, allChecksPassed },
      violations,
    })),
  };
}

describe.each(STEPPED)('%s', name => {
  const events = recordedEvents(name);
  const run = runOf(events);
  const calm = foldAll(NOTHING_YET, events);
  const places = events.map((_, at) => at + 1).slice(0, -1);

  test('the step that is cut off is the one that is next', () => {
    for (const at of places) {
      const following = events.slice(at).find(({ type }) => ENDS[type] !== undefined);
      const step = next(foldAll(NOTHING_YET, events.slice(0, at)), run);
      expect(step.kind, `after line ${at}, ${events[at - 1]?.type}`).toBe(
        ENDS[following?.type ?? 'run-ended'],
      );
    }
  });

  test('a resumed run takes no step that is over, but for checks that had succeeded', () => {
    for (const at of places) {
      const prefix = events.slice(0, at);
      const before = next(foldAll(NOTHING_YET, prefix), run);
      const after = next(foldAll(NOTHING_YET, [...prefix, resumption(events, at)]), run);
      const expected = isProvenAt(prefix) ? 'check' : before.kind === 'finish' ? 'check' : before.kind;
      expect(after.kind, `after line ${at}, ${events[at - 1]?.type}`).toBe(expected);
    }
  });

  test('cut off anywhere, resumed, and left alone, it comes to the same', () => {
    for (const at of places) {
      const resumed = foldAll(NOTHING_YET, [...events.slice(0, at), resumption(events, at)]);
      const whole = foldAll(resumed, restAfter(resumed, events, run));
      expect(outcomeOf(whole), `after line ${at}, ${events[at - 1]?.type}`).toEqual(outcomeOf(calm));
    }
  });

  test('cut off twice in the same place, it is counted once', () => {
    for (const at of places) {
      const twice = [...events.slice(0, at), resumption(events, at), resumption(events, at)];
      const resumed = foldAll(NOTHING_YET, twice);
      const whole = foldAll(resumed, restAfter(resumed, events, run));
      expect(outcomeOf(whole), `after line ${at}`).toEqual(outcomeOf(calm));
    }
  });

  test('nothing that was counted is lost: iterations and money never go down', () => {
    let before = NOTHING_YET;
    for (const event of events) {
      const state = fold(before, event);
      expect(state.results.length).toBeGreaterThanOrEqual(before.results.length);
      expect(state.totals.usage?.cost ?? 0).toBeGreaterThanOrEqual(before.totals.usage?.cost ?? 0);
      before = state;
    }
  });
});

/** The verdict of the last iteration was success: it is believed only after its checks have run again. */
function isProvenAt(prefix: readonly Timed[]): boolean {
  const verdict = prefix.findLast(event => event.type === 'judged' || event.type === 'iteration-started');
  return verdict?.type === 'judged' && verdict.verdict.kind === 'stop' && isSuccess(verdict.verdict.reason);
}

const ROOM = { slots: 2, isLimited: false, hasMoney: true };
const NOTHING_CHECKED = { checking: new Set<number>(), checked: new Map(), slots: 1 };

describe.each(PARALLEL)('%s', name => {
  const events = recordedEvents(name);
  const boardAt = (at: number): Board | undefined =>
    foldAll(NOTHING_YET, [...events.slice(0, at), resumption(events, at)]).board;
  const places = events.map((_, at) => at + 1).filter(at => boardAt(at) !== undefined);

  test('a lane that has landed is not begun again, and none is forgotten', () => {
    for (const at of places) {
      const board = boardAt(at) as Board;
      const landed = board.landed.map(({ story }) => story);
      const isOver = board.lanes.every(({ state }) => state === 'landed' || state === 'kept');
      const begun = admit(board, ROOM);
      const queued = board.queue.map(({ story }) => story);
      const open = board.lanes.filter(({ state }) => state === 'building' || state === 'reviewing');
      expect(new Set(landed).size, `after line ${at}`).toBe(landed.length);
      expect(landed.filter(id => begun.includes(id) || queued.includes(id))).toEqual([]);
      expect(
        isOver || begun.length + queued.length + open.length > 0,
        `after line ${at}, ${events[at - 1]?.type}, nothing is left to do`,
      ).toBe(true);
    }
  });

  test('nothing lands without its checks having run on what lands', () => {
    for (const at of places) {
      const board = boardAt(at) as Board;
      const action = nextMerge(board, NOTHING_CHECKED);
      expect(action?.kind, `after line ${at}`).not.toBe('land');
      for (const { commit } of board.landed) expect(Object.keys(board.green)).toContain(commit);
    }
  });

  test('the tip is what landed last', () => {
    for (const at of places) {
      const { tip, landed, base } = boardAt(at) as Board;
      const first = events.find(event => event.type === 'board-set');
      const start = first?.type === 'board-set' ? first.tip : base;
      expect(tip, `after line ${at}`).toBe(landed.at(-1)?.commit ?? start);
    }
  });
});

describe('session', () => {
  const events = recordedEvents('session');

  test('each hook is a process of its own: what it finds is what the one before it left', () => {
    let before = NOTHING_YET;
    for (const [at, event] of events.entries()) {
      const state = fold(before, event);
      expect(state, `line ${at + 1}`).toEqual(foldAll(NOTHING_YET, events.slice(0, at + 1)));
      expect(state.results.length - before.results.length).toBe(event.type === 'iteration-ended' ? 1 : 0);
      before = state;
    }
    expect(before.result?.stopReason).toBe('promise_accepted');
    expect(before.results.map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
  });
});
