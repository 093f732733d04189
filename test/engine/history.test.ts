import { expect, test } from 'vitest';
import type { Past } from '../../src/domain/past.ts';
import type { StopReason } from '../../src/domain/stop-reason.ts';
import { createHistory } from '../../src/engine/history.ts';

const usage = { costSource: 'unknown' } as const;
const ending = { checks: [], tree: 'A', usage };

/** Four iterations that left the files as they were. */
function pastOf(stopReason?: StopReason): Past {
  const turn = { outcome: { kind: 'completed' }, claim: { found: false }, steps: 1, toolCalls: 1, usage };
  const judged = { treeChanged: true, tree: 'A', repeats: 1, spent: {} };
  const iterations = [1, 2, 3, 4].map(number => ({ number, turn, judged, checks: [] }));
  return { iterations, ...(stopReason && { result: { stopReason } }) } as unknown as Past;
}

const LIMITS = { 'no-change': 4, thrashing: 0, costly: 0 };

test('a run that goes on knows what its iterations before left behind', () => {
  expect(createHistory(LIMITS, pastOf())(ending)).toMatchObject({
    kind: 'no-change',
    iterations: 4,
    stop: false,
  });
  expect(createHistory(LIMITS)(ending)).toBeUndefined();
});

test('a run that had stopped as stuck begins anew, and one without limits is never stuck', () => {
  expect(createHistory(LIMITS, pastOf('stuck'))(ending)).toBeUndefined();
  expect(createHistory(undefined, pastOf())(ending)).toBeUndefined();
});
