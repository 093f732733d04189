import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EndedTurn } from '../../../src/domain/run/event.ts';
import {
  findStandstill,
  formatStandstill,
  type IterationTrace,
  type StandstillLimits,
  traceOf,
} from '../../../src/domain/run/standstill.ts';

const LIMITS: StandstillLimits = { refused: 1, 'no-change': 5, thrashing: 6, costly: 10 };
const NEVER: StandstillLimits = { refused: 0, 'no-change': 0, thrashing: 0, costly: 0 };
/** One letter an iteration: what the files were. */
const trees = (letters: string, over: Partial<IterationTrace> = {}): IterationTrace[] =>
  [...letters].map(letter => ({ tree: letter === '-' ? null : letter, green: 0, ...over }));
/** Every iteration changes the files; these are its costs. */
const spending = (costs: readonly number[], green: readonly number[] = []): IterationTrace[] =>
  costs.map((cost, at) => ({ tree: String(at), green: green[at] ?? 0, cost }));

describe('files', () => {
  test.each([
    ['ABCDEFGHIJ', undefined],
    ['AAAAA', undefined],
    ['AAAAAA', { kind: 'no-change', iterations: 5, stop: false }],
    ['XAAAAAAAA', { kind: 'no-change', iterations: 7, stop: false }],
    ['AAAAAAAAA', { kind: 'no-change', iterations: 8, stop: true }],
    ['AAAAAAAAB', undefined],
    ['------------', undefined],
    ['AAAA-AAAA', undefined],
    ['ABABA', undefined],
    ['ABABAB', { kind: 'thrashing', iterations: 6, stop: false }],
    ['XYABABAB', { kind: 'thrashing', iterations: 6, stop: false }],
    ['ABABABAB', { kind: 'thrashing', iterations: 8, stop: true }],
    ['ABABABC', undefined],
    ['ABCABCABC', undefined],
  ])('%s', (letters, expected) => {
    expect(findStandstill(trees(letters), LIMITS)).toEqual(expected);
  });
});

describe('tool calls that are refused', () => {
  /** `r`: a turn that was refused something and changed nothing; `.`: any other. */
  const turns = (letters: string): IterationTrace[] =>
    [...letters].map((letter, at) => ({
      tree: String(at),
      green: 0,
      ...(letter === 'r' && { refused: ['Write'] }),
    }));
  test.each([
    ['.', undefined],
    ['r', { kind: 'refused', iterations: 1, stop: false, tools: ['Write'] }],
    ['r.', undefined],
    ['r.r', { kind: 'refused', iterations: 1, stop: false, tools: ['Write'] }],
    ['rr', { kind: 'refused', iterations: 2, stop: true, tools: ['Write'] }],
    ['..rr', { kind: 'refused', iterations: 2, stop: true, tools: ['Write'] }],
  ])('%s', (letters, expected) => {
    expect(findStandstill(turns(letters), LIMITS)).toEqual(expected);
  });

  const turn = (over: Partial<EndedTurn>): EndedTurn => ({
    outcome: { kind: 'completed' },
    claim: { found: false },
    steps: 1,
    toolCalls: 2,
    usage: { costSource: 'unknown' },
    ...over,
  });
  const refused = { calls: 1, tools: ['Write'] };
  test.each([
    ['nothing was refused', turn({}), 'A', 'A', undefined],
    ['the files are as they were', turn({ refused }), 'A', 'A', ['Write']],
    ['a file changed', turn({ refused }), 'A', 'B', undefined],
    ['nobody looks at the files, and another call was let through', turn({ refused }), null, null, undefined],
    ['nobody looks at the files, and none was', turn({ refused, toolCalls: 1 }), null, null, ['Write']],
    ['nobody knows how many there were', turn({ refused, toolCalls: null }), null, null, undefined],
  ])('%s', (_, ended, before, tree, expected) => {
    const { outcome, claim } = ended;
    expect(traceOf(ended, { outcome, claim, checks: [], tree }, before).refused).toEqual(expected);
  });

  test('a warning does not hide that the run ends for another reason', () => {
    const history = [...trees('AAAAAAAA'), { tree: 'A', green: 0, refused: ['Write'] }];
    expect(findStandstill(history, LIMITS)).toMatchObject({ kind: 'no-change', stop: true });
  });
});

describe('money', () => {
  const dear = [1, 1, 1, 1, 1, 2, 2, 2, 2, 2];
  test.each([
    ['grows without a green check', spending([0, ...dear]), { iterations: 10, stop: false, costs: [1, 2] }],
    ['goes on growing', spending([0, ...dear, 3, 3, 3, 3, 3]), { iterations: 15, stop: true }],
    ['is told at first, however late it grows', spending([...Array(20).fill(1), 30]), { stop: false }],
    ['stays the same', spending(Array(20).fill(1)), undefined],
    ['shrinks', spending([0, ...dear.toReversed()]), undefined],
    ['grows, and a check turned green on the way', spending([0, ...dear], [0, 0, 0, 0, 1]), undefined],
    [
      'grows since the last new green check',
      spending([9, 9, ...dear], [0, 2, 1, 1]),
      { iterations: 10, stop: false },
    ],
    ['is unknown for one of them', [...spending([0, ...dear.slice(1)]), { tree: 'x', green: 0 }], undefined],
    ['was never spent', spending(Array(20).fill(0)), undefined],
  ])('that %s', (_, history, expected) => {
    const found = findStandstill(history, LIMITS);
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject({ kind: 'costly', ...expected });
  });
});

const moment: fc.Arbitrary<IterationTrace> = fc.record(
  {
    tree: fc.constantFrom('A', 'B', null),
    green: fc.nat(3),
    cost: fc.double({ min: 0, max: 9, noNaN: true }),
  },
  { requiredKeys: ['tree', 'green'] },
);

test('each detector can be switched off, and nobody is stopped who was not told before', () => {
  fc.assert(
    fc.property(fc.array(moment, { maxLength: 30 }), fc.nat(6), (history, after) => {
      expect(findStandstill(history, NEVER)).toBeUndefined();
      const limits = { refused: after, 'no-change': after, thrashing: after, costly: after };
      const told = history.map((_, at) => findStandstill(history.slice(0, at + 1), limits));
      for (const [at, found] of told.entries()) {
        if (!found?.stop) continue;
        expect(told.slice(0, at).some(before => before?.kind === found.kind && !before.stop)).toBe(true);
      }
    }),
  );
});

test('work that changes the files each time at a steady price is never stopped, however long it takes', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 1, max: 1.4, noNaN: true }), { maxLength: 60 }), costs => {
      expect(findStandstill(spending(costs), LIMITS)).toBeUndefined();
    }),
  );
});

test('the evidence is in the sentence', () => {
  expect(formatStandstill({ kind: 'costly', iterations: 15, stop: true, costs: [0.1, 0.314] })).toBe(
    '15 iterations made no further check pass, and the cost rose: $0.10 each at first, $0.31 now.',
  );
});
