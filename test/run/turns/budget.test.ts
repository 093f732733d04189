/** A run that shares its money begins no turn that is not paid for, and says what each has cost. */
import { describe, expect, test } from 'vitest';
import type { TurnReport } from '../../../src/agents/invoke.ts';
import type { EndedTurn } from '../../../src/domain/run/event.ts';
import { createAccounts } from '../../../src/parallel/accounts.ts';
import { createBudget } from '../../../src/parallel/budget.ts';
import type { Steps } from '../../../src/run/steps.ts';
import { baseSteps } from '../../../src/run/turns/base-steps.ts';
import { type Budget, takeExtra } from '../../../src/run/turns/budget.ts';
import { createProver } from '../../../src/run/turns/prover.ts';
import { createTreeWatch } from '../../../src/workspace/tree-watch.ts';
import { functionAgent, handClock, turnWorld } from './world.ts';

const TURN: EndedTurn = {
  ...{ outcome: { kind: 'completed' }, claim: { found: false }, steps: 1, toolCalls: 1 },
  usage: { cost: 4, costSource: 'agent' },
};

function steps(budget: Budget | undefined, ready?: Steps['ready']) {
  const spends = functionAgent(
    'one',
    async ({ emit }) => {
      emit({ kind: 'usage', scope: 'total', cost: 4 });
      return 'done';
    },
    { reports: { cost: 'step' } },
  );
  const { parts } = turnWorld({ agents: [spends] });
  return baseSteps(
    { ...parts, budget },
    {
      ...{
        tree: createTreeWatch(parts),
        prover: createProver(parts, { commands: [], checks: () => [] }),
        ...(ready && { ready }),
      },
      userChars: () => 0,
    },
  );
}

function sharing(maxCost: number, ready?: Steps['ready']) {
  const limits = { maxCost, maxIterations: 0, maxFailures: 3, stuckAfter: 0 };
  const accounts = createAccounts({ clock: handClock(), onLimit() {} });
  const { of: shared } = createBudget(limits, { spent: NOTHING }, accounts);
  return { shared, both: steps(shared('A'), ready) };
}

const NOTHING = { cost: 0, tokens: 0, turns: 0 };

describe('before a turn', () => {
  test('the money decides, when the run itself is ready', async () => {
    const { both, shared } = sharing(9);
    expect(both.ready?.()).toBe('yes');
    await both.turn(1, '');
    expect(shared('B').reserve()).toBe('yes'); // 4 of the 5 that are left
    expect(both.ready?.()).toBe('wait');
  });

  test('nothing is held by a run that waits for something else', () => {
    const { both, shared } = sharing(9, () => 'wait');
    shared('B').charge(TURN); // from now on a turn holds 4
    expect(both.ready?.()).toBe('wait');
    expect(shared('A').held()).toBe(0);
  });
});

test('after a turn it is settled: what is spent is spent for all', async () => {
  const { both, shared } = sharing(4);
  both.ready?.();
  await both.turn(1, '');
  expect(shared('A').held()).toBe(0);
  expect(both.ready?.()).toMatchObject({ reason: 'budget_exhausted' });
});

test('a run of its own asks nobody', async () => {
  const alone = steps(undefined);
  expect(alone.ready()).toBe('yes');
  await alone.turn(1, '');
  expect(alone.ready()).toBe('yes');
});

describe('a turn that is no iteration', () => {
  const never = new AbortController().signal;
  const report = { turn: { usage: { cost: 1, costSource: 'agent' } } } as TurnReport;

  test('is paid for by the same budget, and counts no turn', async () => {
    const { shared } = sharing(5);
    shared('A').charge(TURN); // 1 is left
    expect(await takeExtra(shared('A'), never, async () => report)).toBe(report);
    expect(shared('A').reserve()).toMatchObject({ detail: '$5.00 of $5.00 spent.' });
  });

  test('waits for what others hold, and is not taken when all is spent', async () => {
    const { shared } = sharing(6);
    shared('A').charge(TURN);
    expect(shared('B').reserve()).toBe('yes');
    let hasBegun = false;
    const taken = takeExtra(shared('A'), never, async () => {
      hasBegun = true;
      return report;
    });
    await Promise.resolve();
    expect(hasBegun).toBe(false);
    shared('B').charge({ usage: { cost: 1, costSource: 'agent' } });
    expect(await taken).toBe(report);
    expect(await takeExtra(shared('A'), never, async () => report)).toBeUndefined();
  });

  test('does not wait for ever: whoever stops the run ends the wait', async () => {
    const { shared } = sharing(5);
    shared('B').reserve();
    expect(await takeExtra(shared('A'), AbortSignal.abort(), async () => report)).toBeUndefined();
  });
});
