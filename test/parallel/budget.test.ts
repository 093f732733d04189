/** One budget for all lanes: what a turn reserves, what the others may do meanwhile, and when all is spent. */
import { describe, expect, test } from 'vitest';
import type { Limits } from '../../src/domain/run/limits.ts';
import type { Usage } from '../../src/domain/turn/usage.ts';
import { createAccounts } from '../../src/parallel/accounts.ts';
import { type Before, createBudget } from '../../src/parallel/budget.ts';
import { handClock } from '../run/turns/world.ts';

const NOTHING = { cost: 0, tokens: 0, turns: 0 };

function budget(limits: Partial<Limits>, before: Partial<Before> = {}) {
  const accounts = createAccounts({ clock: handClock(), onLimit() {} });
  const all = { maxIterations: 0, maxFailures: 3, stuckAfter: 0, ...limits };
  const { of: lane, room } = createBudget(all, { spent: NOTHING, ...before }, accounts);
  /** A turn of a lane that is paid for, from its beginning to its end. */
  const turn = (name: string, cost: number) => {
    expect(lane(name).reserve()).toBe('yes');
    lane(name).charge({ usage: dollars(cost), outcome: { kind: 'completed' } });
  };
  return { lane, turn, room };
}

const dollars = (cost: number): Usage => ({ cost, costSource: 'agent' });

describe('a reservation', () => {
  test('holds what the dearest turn has cost so far', () => {
    const { lane, turn } = budget({ maxCost: 10 });
    for (const cost of [2, 1, 0.1]) turn('A', cost);
    lane('A').reserve();
    expect([lane('A').held(), lane('B').held()]).toEqual([2, 0]);
  });

  test('makes the others wait when what is left is held, and lets them go on when it is over', () => {
    const { lane, turn, room } = budget({ maxCost: 5 });
    turn('A', 2); // 3 are left
    expect(lane('A').reserve()).toBe('yes'); // 1 is not held
    expect(lane('B').reserve()).toBe('wait');
    expect(room()).toBe('wait');
    lane('A').charge({ usage: dollars(0.5), outcome: { kind: 'completed' } });
    expect(lane('B').reserve()).toBe('yes');
  });

  test('of the only one that asks may be all that is left', () => {
    const { lane, turn } = budget({ maxCost: 5 });
    turn('A', 4);
    expect(lane('A').reserve()).toBe('yes');
    expect(lane('A').held()).toBe(1);
  });

  test('that is asked for again by the same lane is one, not two', () => {
    const { lane, turn } = budget({ maxCost: 7 });
    turn('A', 3);
    expect([lane('A').reserve(), lane('A').reserve()]).toEqual(['yes', 'yes']);
    expect(lane('A').held()).toBe(3);
  });

  test('is given back when the run of its lane is over, whatever it held', () => {
    const { lane, turn } = budget({ maxCost: 5 });
    turn('A', 3);
    lane('A').reserve();
    expect(lane('B').reserve()).toBe('wait');
    lane('A').release();
    expect(lane('B').reserve()).toBe('yes');
  });

  test('counts turns: no more of them begin than there may be', () => {
    const { lane } = budget({ maxIterations: 2 });
    expect(['A', 'B', 'C'].map(name => lane(name).reserve())).toEqual(['yes', 'yes', 'wait']);
  });

  test('is never refused where there is no limit', () => {
    const { lane, turn, room } = budget({});
    turn('A', 1_000);
    expect(['A', 'B', 'C'].map(name => lane(name).reserve())).toEqual(['yes', 'yes', 'yes']);
    expect(room()).toBe('yes');
  });
});

describe('while nobody knows what a turn costs', () => {
  test.each([2, 4, 8])('one of %i lanes goes first, and holds all that is left', count => {
    const { lane } = budget({ maxCost: 1 });
    const names = Array.from({ length: count }, (_, at) => `L${at}`);
    const paid = names.map(name => lane(name).reserve());
    expect(paid).toEqual(['yes', ...names.slice(1).map(() => 'wait')]);
    lane('L0').charge({ usage: dollars(1), outcome: { kind: 'completed' } });
    expect(lane('L1').reserve()).toMatchObject({ detail: '$1.00 of $1.00 spent.' });
  });

  test('a turn in which nothing was done does not show it', () => {
    const { lane } = budget({ maxCost: 1 });
    lane('A').reserve();
    lane('A').charge({ usage: { costSource: 'unknown' }, outcome: { kind: 'completed' }, idle: true });
    expect([lane('A').reserve(), lane('B').reserve()]).toEqual(['yes', 'wait']);
  });

  test('an agent that never says what it costs holds nobody up for ever', () => {
    const { lane } = budget({ maxCost: 1 });
    lane('A').reserve();
    lane('A').charge({ usage: { costSource: 'unknown' }, outcome: { kind: 'completed' } });
    expect([lane('A').reserve(), lane('B').reserve()]).toEqual(['yes', 'yes']);
  });

  test('what turns cost before a resumption is known', () => {
    const before = { spent: { ...NOTHING, cost: 3 }, dearest: { cost: 1, tokens: 0, turns: 1 } };
    const { lane } = budget({ maxCost: 5.5 }, before);
    expect(['A', 'B', 'C'].map(name => lane(name).reserve())).toEqual(['yes', 'yes', 'wait']);
  });

  test('only what has a cap is held back', () => {
    const { lane } = budget({ maxTokens: 100 });
    lane('A').reserve();
    expect(lane('A').held()).toBe(0);
    expect(lane('B').reserve()).toBe('wait');
  });
});

describe('all is spent', () => {
  test.each<[string, Partial<Limits>, typeof NOTHING, string, string]>([
    ['money', { maxCost: 5 }, { ...NOTHING, cost: 5 }, 'budget_exhausted', '$5.00 of $5.00 spent.'],
    ['tokens', { maxTokens: 90 }, { ...NOTHING, tokens: 91 }, 'budget_exhausted', '91 of 90 tokens used.'],
    ['turns', { maxIterations: 3 }, { ...NOTHING, turns: 3 }, 'max_iterations', '3 of 3 iterations used.'],
  ])('%s, also where it was spent before a resumption', (_, limits, spent, reason, detail) => {
    const { lane, room } = budget(limits, { spent });
    expect(lane('A').reserve()).toEqual({ reason, detail });
    expect(room()).toEqual({ reason, detail });
  });

  test('is not said while somebody holds the rest: it may come back', () => {
    const { lane, turn, room } = budget({ maxCost: 5 });
    turn('A', 4);
    lane('A').reserve();
    expect(room()).toBe('wait');
  });
});

describe('inside of a turn', () => {
  test('what others hold may not be spent', () => {
    const { lane, turn } = budget({ maxCost: 10 });
    turn('A', 3);
    lane('A').reserve();
    lane('B').reserve(); // 7 are left, and 3 of them are B's
    expect(lane('A').overdrawn(dollars(3.99))).toBeUndefined();
    expect(lane('A').overdrawn(dollars(4))).toBe('max-cost');
  });

  test('tokens are a limit of their own', () => {
    const { lane } = budget({ maxTokens: 100 });
    lane('A').reserve();
    const tokens = { input: 80, output: 20, cacheRead: 0, cacheWrite: 0 };
    expect(lane('A').overdrawn({ tokens, costSource: 'unknown' })).toBe('max-tokens');
    expect(lane('A').overdrawn({ tokens: { ...tokens, output: 19 }, costSource: 'unknown' })).toBeUndefined();
  });
});
