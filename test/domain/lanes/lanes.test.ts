/** The decisions of a parallel run: pure functions of its board. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { proofOfRun } from '../../../src/domain/checks/proof.ts';
import { admit, likelyFiles } from '../../../src/domain/lanes/admit.ts';
import {
  afterBoardEvent,
  type Board,
  boardUsage,
  type Lane,
  laneOutcome,
} from '../../../src/domain/lanes/board.ts';
import type { BoardEvent } from '../../../src/domain/lanes/board-event.ts';
import { checkSlots, nextMerge } from '../../../src/domain/lanes/queue.ts';
import { charge, newTally, overdrawn, reserve, type Tally } from '../../../src/domain/run/budget.ts';
import type { RunEvent } from '../../../src/domain/run/event.ts';
import { NOTHING_YET } from '../../../src/domain/run/state.ts';

const head = (id: string, more: Partial<Lane> = {}) => ({
  id,
  title: `Story ${id}`,
  priority: 1,
  needs: [],
  files: [],
  ...more,
});
const set = (...lanes: readonly ReturnType<typeof head>[]): BoardEvent => ({
  type: 'board-set',
  base: 'base',
  tip: 'tip',
  branch: 'main',
  lanes,
});
const play = (...events: readonly RunEvent[]): Board => {
  let board: Board | undefined;
  for (const [time, event] of events.entries())
    board = afterBoardEvent(board, { ...event, time: time * 1000 });
  if (!board) throw new Error('there is no board');
  return board;
};
const usage = { costSource: 'agent', cost: 1 } as const;
const started = (story: string): BoardEvent => ({
  type: 'story-started',
  story,
  child: `r.${story}`,
  from: 'tip',
});
const ended = (story: string, why?: string): BoardEvent => ({
  type: 'story-ended',
  story,
  child: `r.${story}`,
  reason: 'stuck',
  ledger: null,
  usage,
  ...(why !== undefined && { why }),
});
const queued = (story: string): BoardEvent => ({ type: 'queued', story, head: `head-${story}`, patch: 'p' });
const candidate = (story: string, number: number, tip: string): BoardEvent => ({
  type: 'candidate',
  story,
  number,
  tip,
  commit: `c${number}`,
});
const landed = (story: string, number: number): BoardEvent => ({
  type: 'landed',
  story,
  number,
  commit: `c${number}`,
  tree: 't',
});
const back = (story: string): BoardEvent => ({
  type: 'sent-back',
  story,
  number: 1,
  why: 'red',
  files: [],
  others: [],
  detail: 'red',
});
const held = ({ reserved }: Tally) => Object.values(reserved).reduce((sum, { cost }) => sum + cost, 0);
const ROOM = { slots: 4, isLimited: false, hasMoney: true };

describe('admit', () => {
  it('begins what is ready, by priority, and no more than there are slots', () => {
    const board = play(
      set(head('C', { priority: 3 }), head('A', { priority: 1 }), head('B', { priority: 2 })),
    );
    expect(admit(board, { ...ROOM, slots: 2 })).toEqual(['A', 'B']);
    expect(admit(board, ROOM)).toEqual(['A', 'B', 'C']);
  });

  it('waits until what a story depends on has landed, not only until it is built', () => {
    const two = [set(head('A'), head('B', { needs: ['A'] })), started('A')] as const;
    expect(admit(play(...two, ended('A'), queued('A')), ROOM)).toEqual([]);
    expect(
      admit(play(...two, ended('A'), queued('A'), candidate('A', 1, 'tip'), landed('A', 1)), ROOM),
    ).toEqual(['B']);
  });

  it('takes what was sent back first, also while the queue is full', () => {
    const ids = ['A', 'B', 'C', 'D', 'E'];
    const busy = play(
      set(...ids.map(id => head(id)), head('F', { priority: 0 })),
      ...ids.flatMap(id => [started(id), ended(id), queued(id)]),
      back('E'),
      queued('A'),
    );
    expect(busy.queue).toHaveLength(4);
    expect(admit(busy, ROOM)).toEqual(['E']);
  });

  it('prefers, among equals, work that touches other files; it never waits for that', () => {
    const board = play(
      set(head('A', { files: ['x'] }), head('B', { files: ['x'] }), head('C', { files: ['y'] })),
    );
    expect(admit(board, { ...ROOM, slots: 2 })).toEqual(['A', 'C']);
    expect(admit(board, ROOM)).toEqual(['A', 'C', 'B']);
  });

  it.each([{ isLimited: true }, { hasMoney: false }, { slots: 0 }])(
    'begins nothing where there is no room: %j',
    more => {
      expect(admit(play(set(head('A'))), { ...ROOM, ...more })).toEqual([]);
    },
  );

  it('finds the files that a text is likely to be about', () => {
    expect(likelyFiles(['Change src/login.ts and README.md, version 1.2.3, e.g. https://x.y'])).toEqual([
      'src/login.ts',
      'README.md',
    ]);
  });
});

describe('nextMerge', () => {
  const facts = { checking: new Set<number>(), checked: new Map(), slots: 1 };
  const one = [set(head('A'), head('B')), started('A'), ended('A'), queued('A')] as const;

  it('builds, checks, lands', () => {
    const waiting = play(...one);
    expect(nextMerge(waiting, facts)).toMatchObject({ kind: 'build', onto: 'tip' });
    const built = play(...one, candidate('A', 1, 'tip'));
    expect(nextMerge(built, facts)).toMatchObject({ kind: 'check', candidate: { commit: 'c1' } });
    expect(nextMerge(built, { ...facts, checking: new Set([1]) })).toBeUndefined();
    expect(nextMerge(built, { ...facts, checked: new Map([[1, 'green']]) })).toMatchObject({ kind: 'land' });
    expect(nextMerge(built, { ...facts, checked: new Map([[1, 'red']]) })).toMatchObject({
      kind: 'send-back',
    });
  });

  it('never lands what was merged onto another tip than there is now', () => {
    const stale = play(...one, candidate('A', 1, 'older'));
    expect(nextMerge(stale, { ...facts, checked: new Map([[1, 'green']]) })).toMatchObject({
      kind: 'build',
      onto: 'tip',
    });
  });

  it('checks ahead only with slots for it, each on top of the one before, and lands in order', () => {
    const two = play(...one, candidate('A', 1, 'tip'), started('B'), ended('B'), queued('B'));
    const ahead = { ...facts, slots: 2, checking: new Set([1]) };
    expect(nextMerge(two, { ...ahead, slots: 1 })).toBeUndefined();
    expect(nextMerge(two, ahead)).toMatchObject({ kind: 'build', entry: { story: 'B' }, onto: 'c1' });
    const both = afterBoardEvent(two, { ...candidate('B', 2, 'c1'), time: 9 }) as Board;
    expect(nextMerge(both, { ...ahead, checked: new Map([[2, 'green']]) })).toBeUndefined();
    expect(nextMerge(both, { ...ahead, checked: new Map([[1, 'red']]), checking: new Set() })).toMatchObject({
      kind: 'send-back',
      entry: { story: 'A' },
    });
  });

  it('checks ahead when the queue is slower than the work', () => {
    const pace = { lanes: 4, story: 100, cores: 8 };
    expect(checkSlots({ ...pace, checks: 10 })).toBe(1);
    expect(checkSlots({ ...pace, checks: 30 })).toBe(4);
    expect(checkSlots({ ...pace, checks: 30, cores: 2 })).toBe(2);
    expect(checkSlots({ ...pace, checks: undefined })).toBe(1);
  });

  it('whatever the facts, what lands was checked on the tip it lands on (property)', () => {
    const verdicts = fc.dictionary(fc.constantFrom('1', '2', '3'), fc.constantFrom('green', 'red'));
    fc.assert(
      fc.property(
        verdicts,
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.constantFrom('tip', 'c1', 'c2', 'x'), { minLength: 3, maxLength: 3 }),
        (seen, slots, tips) => {
          const ids = ['A', 'B', 'C'];
          const board = play(
            set(...ids.map(id => head(id))),
            ...ids.flatMap((id, at) => [
              started(id),
              ended(id),
              queued(id),
              candidate(id, at + 1, tips[at] ?? 'x'),
            ]),
          );
          const checked = new Map(
            Object.entries(seen).map(([number, verdict]) => [Number(number), verdict] as const),
          );
          const action = nextMerge(board, { checked: checked as never, checking: new Set(), slots });
          if (action?.kind !== 'land') return;
          expect(action.candidate.tip).toBe(board.tip);
          expect(checked.get(action.candidate.number)).toBe('green');
          expect(action.entry).toBe(board.queue[0]);
        },
      ),
    );
  });
});

describe('the budget', () => {
  const limits = { maxIterations: 0, maxFailures: 3, stuckAfter: 3 };
  const costs = (cost: number) => ({ cost, tokens: 0, turns: 1 });

  it('never reserves state the cap, whatever is asked for and spent (property)', () => {
    const step = fc.record({
      who: fc.constantFrom('a', 'b', 'c', 'd'),
      cost: fc.double({ min: 0, max: 0.5, noNaN: true }),
      ask: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        let tally = newTally({ ...limits, maxCost: 2 });
        for (const { who, cost, ask } of steps) {
          if (ask && !(who in tally.reserved)) [, tally] = reserve(tally, who);
          else if (who in tally.reserved) tally = charge(tally, who, costs(cost));
          const left = Math.max(0, 2 - tally.spent.cost);
          expect(held(tally)).toBeLessThanOrEqual(
            left + 1e-9 + (Object.keys(tally.reserved).length > 1 ? 0 : 0.5),
          );
        }
      }),
    );
  });

  it('is passed by no more than one turn where turns cost about the same, however many run at once (property)', () => {
    const cost = 0.3;
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 200 }), whos => {
        let tally = newTally({ ...limits, maxCost: 1 });
        for (const who of whos) {
          if (who in tally.reserved) tally = charge(tally, who, costs(cost));
          else [, tally] = reserve(tally, who);
        }
        const running = Object.keys(tally.reserved).length;
        expect(tally.spent.cost + running * cost).toBeLessThan(1 + cost);
      }),
    );
  });

  it('lets the last one have what is left, and then says what is spent', () => {
    const tally = charge(newTally({ ...limits, maxCost: 1, maxIterations: 10 }), 'a', costs(0.9));
    const [paid, next] = reserve(tally, 'a');
    expect(paid).toBe('yes');
    expect(held(next)).toBeCloseTo(0.1);
    expect(reserve(next, 'b')[0]).toBe('wait');
    expect(reserve(charge(tally, 'a', costs(0.2)), 'a')[0]).toMatchObject({
      ...{ reason: 'budget_exhausted', detail: '$1.10 of $1.00 spent.' },
    });
  });

  it('gives nobody what another has reserved', () => {
    const [paid, next] = reserve(charge(newTally({ ...limits, maxCost: 1 }), 'a', costs(0.4)), 'a');
    expect([paid, reserve(next, 'b')[0]]).toEqual(['yes', 'wait']);
  });

  it('counts the turns of all, and lets one that is no iteration pass', () => {
    const tally = newTally({ ...limits, maxIterations: 2 }, { cost: 0, tokens: 0, turns: 2 });
    expect(reserve(tally, 'a')[0]).toMatchObject({ reason: 'max_iterations' });
    expect(reserve(tally, 'a', 0)[0]).toBe('yes');
  });

  it('ends a turn that would take what others have reserved', () => {
    const reserved = { a: costs(0.4), b: costs(0.4) };
    const tally: Tally = { ...newTally({ ...limits, maxCost: 1 }), reserved };
    expect(overdrawn(tally, 'a', { cost: 0.5, costSource: 'agent' })).toBeUndefined();
    expect(overdrawn(tally, 'a', { cost: 0.6, costSource: 'agent' })).toBe('max-cost');
  });
});

describe('the proof', () => {
  const checked = (passed: boolean, results: readonly unknown[]): BoardEvent => ({
    type: 'candidate-checked',
    story: 'A',
    number: 1,
    commit: 'c1',
    passed,
    duration: 1,
    results: results as never,
  });
  const proofAfter = (...events: readonly BoardEvent[]) =>
    proofOfRun({ ...NOTHING_YET, board: play(set(head('A')), ...events, landed('A', 1)) });

  it('is clean only where every check passed on the very commit that landed', () => {
    expect(proofAfter(checked(true, [{ command: 'x' }]))).toMatchObject({
      level: 'clean',
      commit: 'c1',
      tree: 't',
    });
    expect(proofAfter()).toMatchObject({ level: 'claimed', tree: null });
    expect(proofAfter(checked(false, [{ command: 'x' }]))).toMatchObject({ level: 'claimed' });
    expect(proofAfter(checked(true, []))).toMatchObject({ level: 'claimed' });
    expect(proofAfter(checked(true, [{ command: 'x', isSetup: true }]))).toMatchObject({ level: 'claimed' });
  });
});

describe('the board', () => {
  it('knows what each has cost, over all its runs, also when one is told twice', () => {
    const twice = play(set(head('A')), started('A'), ended('A'), ended('A'), {
      ...ended('A'),
      child: 'r.A.2',
    } as BoardEvent);
    expect(boardUsage(twice)?.cost).toBe(2);
    expect(laneOutcome(twice.lanes[0] as Lane)).toMatchObject({ cost: 2, state: 'building' });
  });

  it('counts a turn once that was cut off with the run and taken again', () => {
    const step = (number: number): BoardEvent => ({
      type: 'story-step',
      story: 'A',
      mode: 'work',
      number,
      reserved: 0,
    });
    const again: BoardEvent = { ...started('A'), child: 'r.A.2' } as BoardEvent;
    const board = play(
      set(head('A')),
      started('A'),
      step(1),
      step(2),
      started('A'),
      step(2),
      step(3),
      again,
      step(1),
    );
    expect(board.lanes[0]?.iterations).toBe(4);
    const other = play(set(head('A')), started('A'), step(1), again, step(1));
    expect(other.lanes[0]?.iterations).toBe(2);
  });

  it('has what failed wait for the user, and try again when the run is resumed', () => {
    const failed = play(set(head('A')), started('A'), ended('A', 'it is stuck'));
    expect(failed.lanes[0]).toMatchObject({
      state: 'needs_you',
      why: 'stuck: it is stuck',
      isRunning: false,
    });
    const resumed = afterBoardEvent(failed, { type: 'run-resumed', time: 5 } as never);
    expect(resumed?.lanes[0]).toMatchObject({ state: 'building' });
    expect(resumed?.lanes[0]).not.toHaveProperty('why');
  });

  it('has one more lane for what its pull request asks for, under a name that is free', () => {
    const round = (why: 'checks' | 'conflict'): RunEvent => ({
      ...{ type: 'forge-round', why, names: ['x'], words: [], commit: 'c' },
    });
    const { lanes } = play(set(head('Round-1')), round('checks'), round('conflict'));
    expect(lanes.map(({ id, state, isRound = false }) => [id, state, isRound])).toEqual([
      ['Round-1', 'waiting', false],
      ['round-2', 'waiting', true],
      ['round-3', 'waiting', true],
    ]);
  });

  it('forgets how often it was sent back only when the user resumes', () => {
    const kept: BoardEvent = { type: 'lane-kept', story: 'A', why: 'three times', needsYou: true };
    const given = play(set(head('A')), started('A'), ended('A'), queued('A'), back('A'), back('A'), kept);
    expect(given.lanes[0]).toMatchObject({ state: 'needs_you', returns: 2 });
    expect(given.queue).toEqual([]);
    expect(afterBoardEvent(given, { type: 'run-resumed', time: 5 } as never)?.lanes[0]).toMatchObject({
      state: 'waiting',
      returns: 0,
    });
  });
});
