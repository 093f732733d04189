/** A lane whose run is over: what it has proven goes into the queue, everything else needs the user. */
import { describe, expect, test } from 'vitest';
import { UNPROVEN } from '../../src/domain/checks/proof.ts';
import type { StopReason } from '../../src/domain/run/stop-reason.ts';
import { createAccounts } from '../../src/parallel/accounts.ts';
import { createBudget } from '../../src/parallel/budget.ts';
import type { LaneWork } from '../../src/parallel/lane-work.ts';
import { type Handed, handIn } from '../../src/parallel/lanes.ts';
import { createStopRequest } from '../../src/run/stop.ts';
import { only } from '../rig/ledger.ts';
import { lane, parallelRun } from './board.ts';

const NOTHING = { cost: 0, tokens: 0, turns: 0 };

interface Given {
  readonly reason?: StopReason;
  readonly work?: Partial<Handed>;
  readonly choose?: LaneWork['choose'];
  readonly isRepair?: boolean;
}

async function handedIn({ reason = 'all_checks_passed', work, choose, isRepair }: Given) {
  const run = parallelRun({ 'a.txt': 'a' });
  const { queueWorld, clock } = run;
  const head = run.work('base', { 'a.txt': 'A' });
  const kept: string[] = [];
  run.parts.emit({ type: 'story-started', story: 'A', child: 'r1.A', from: 'base' });
  await handIn(
    {
      ...{ ...queueWorld, stop: createStopRequest(), onChildEvent() {} },
      work: { ...queueWorld.work, ...(choose && { choose }) },
      budget: createBudget(
        { maxIterations: 0, maxFailures: 3, stuckAfter: 0 },
        { spent: NOTHING },
        createAccounts({ clock, onLimit() {} }),
      ),
    },
    lane('A', isRepair ? { sentBack: { why: 'red', files: [], others: [], detail: '' } } : {}),
    'r1.A',
    { commit: async () => head, keep: async child => void kept.push(child), ...work },
    { stopReason: reason, detail: null, proof: UNPROVEN, usage: { cost: 2, costSource: 'agent' } },
  );
  return { ...run, head, kept };
}

describe('a run that succeeded', () => {
  test('puts its commit into the queue, and keeps it from being collected', async () => {
    const { board, of, pins, head, kept } = await handedIn({});
    expect(board().queue).toMatchObject([{ story: 'A', head }]);
    expect(of('A')).toMatchObject({ state: 'queued', isRunning: false, used: { 'r1.A': { cost: 2 } } });
    expect([...pins.values()]).toEqual([head]);
    expect(kept).toEqual([]);
  });

  test('of several attempts waits to be chosen', async () => {
    const choose = async () => ({ lane: 'A', why: '' });
    const { board, of } = await handedIn({ choose });
    expect(board().queue).toEqual([]);
    expect(of('A')?.state).toBe('kept');
    // What was chosen, and sent back, is not compared again.
    const repaired = await handedIn({ choose, isRepair: true });
    expect(repaired.board().queue).toHaveLength(1);
  });

  test('whose work cannot be committed needs the user', async () => {
    const problem = { where: 'git', what: 'a ref is locked' };
    const { board, of } = await handedIn({ work: { commit: async () => problem } });
    expect(board().queue).toEqual([]);
    expect(of('A')).toMatchObject({ state: 'needs_you', why: expect.stringContaining('a ref is locked') });
  });

  test('for whose commit there is no room is handed in when the run is resumed', async () => {
    const problem = { where: 'git', what: 'error: No space left on device' };
    const { board, of, parts } = await handedIn({ work: { commit: async () => problem } });
    expect([board().queue, of('A')?.state]).toEqual([[], 'building']);
    expect(parts.disk.trouble()).toContain('No space left on device');
  });
});

test('a run that did not succeed needs the user, and its work stays reachable', async () => {
  const { board, of, kept, events } = await handedIn({ reason: 'stuck' });
  expect(board().queue).toEqual([]);
  expect(of('A')).toMatchObject({ state: 'needs_you', why: expect.stringMatching(/^stuck: ./) });
  expect(kept).toEqual(['r1.A']);
  expect(only(events, 'story-ended')).toMatchObject([{ usage: { cost: 2 } }]);
});
