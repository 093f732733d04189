/** The result of a parallel run: why it ended, what it cost, and what became of each lane. */
import { describe, expect, test } from 'vitest';
import type { Usage } from '../../src/domain/turn/usage.ts';
import { type Ended, endRun } from '../../src/parallel/ending.ts';
import { createMeter } from '../../src/run/meter.ts';
import { only } from '../rig/ledger.ts';
import { parallelRun } from './board.ts';

const cost = (dollars: number): Usage => ({ cost: dollars, costSource: 'agent' });

async function ended(how: Ended, prepare: (run: ReturnType<typeof parallelRun>) => void = () => {}) {
  const run = parallelRun({ 'a.txt': 'a' });
  prepare(run);
  const { stop, laneWork: work, events } = run;
  const { sandbox: _, ...parts } = run.parts;
  const flushed: number[] = [];
  const result = await endRun(
    { work, parts: run.queueWorld.parts, runId: 'r1' },
    {
      ...{ ...parts, runId: 'r1', stop, meter: createMeter(parts.clock, parts.past()) },
      flushed: async () => void flushed.push(events.length),
      restoreOwn: async () => ({ restored: [], lost: [] }),
    },
    how,
  );
  return { result, events, flushed };
}

const ranWith = (story: string, usage: Usage, why?: string) => (run: ReturnType<typeof parallelRun>) => {
  const { emit } = run.parts;
  emit({ type: 'story-started', story, child: `r1.${story}`, from: 'base' });
  emit({
    ...{ type: 'story-ended', story, child: `r1.${story}`, reason: 'stuck', usage, ledger: null },
    ...(why !== undefined && { why }),
  });
};

describe('the result', () => {
  test('adds up what the lanes have used, also those that are not over', async () => {
    const { result } = await ended({ reason: 'interrupted', open: [cost(3)] }, ranWith('A', cost(2)));
    expect(result.totalCost).toBe(5);
  });

  test('does not take an unknown cost for zero', async () => {
    expect((await ended({ reason: 'needs_you' })).result.totalCost).toBeNull();
    const { result } = await ended(
      { reason: 'needs_you', open: [{ costSource: 'unknown' }] },
      ranWith('A', cost(2)),
    );
    expect(result).toMatchObject({ totalCost: 2, unreportedCalls: 1 });
  });

  test('says what became of each lane, and where what has landed is', async () => {
    const { result } = await ended({ reason: 'needs_you' }, ranWith('B', cost(1), 'it gets nowhere'));
    expect(result.branch).toBe('ralph/r1/_int');
    expect(result.lanes).toMatchObject([
      { id: 'A', state: 'waiting', cost: null },
      { id: 'B', state: 'needs_you', cost: 1, why: 'stuck: it gets nowhere' },
      { id: 'C', state: 'waiting' },
    ]);
  });

  test('is the last line of the ledger, and is kept before the program ends', async () => {
    const { result, events, flushed } = await ended({ reason: 'needs_you', detail: 'A: it waits for B' });
    expect(events.at(-1)).toEqual({ type: 'run-ended', result });
    expect(result).toMatchObject({ stopReason: 'needs_you', detail: 'A: it waits for B' });
    expect(flushed).toEqual([events.length]);
  });

  test('moves no branch of the user where nothing has landed', async () => {
    const { events } = await ended({ reason: 'all_checks_passed' });
    expect(only(events, 'integrated')).toEqual([]);
  });
});
