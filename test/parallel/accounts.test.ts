/** After a limit one run tries alone, and each further one follows when the one before it works. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAccounts } from '../../src/parallel/accounts.ts';
import { NOW } from '../run/turns/world.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: NOW }));
afterEach(() => void vi.useRealTimers());

const SOON = NOW + 1_000;
const LONG = 3_600_000;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function accounts() {
  const limits: [string, number][] = [];
  const made = createAccounts({
    clock: { now: () => Date.now(), ticks: () => Date.now() - NOW },
    onLimit: (agent, until) => limits.push([agent, until]),
  });
  const stop = new AbortController();
  /** Says when it may begin. */
  const enter = (agent = 'claude', longest = LONG) => {
    const state = { isIn: false, works() {}, leave() {} };
    void made.enter(agent, stop.signal, longest).then(entry => Object.assign(state, entry, { isIn: true }));
    return state;
  };
  return { ...made, enter, limits, stop };
}

describe('before any limit', () => {
  test('all begin at once', async () => {
    const { enter } = accounts();
    const all = [enter(), enter(), enter()];
    await pass(0);
    expect(all.map(({ isIn }) => isIn)).toEqual([true, true, true]);
  });
});

describe('a limit', () => {
  test('keeps new attempts of this agent waiting until it ends, and no other agent', async () => {
    const { enter, limited } = accounts();
    limited('claude', SOON);
    const [claude, codex] = [enter(), enter('codex')];
    await pass(999);
    expect([claude.isIn, codex.isIn]).toEqual([false, true]);
    await pass(50);
    expect(claude.isIn).toBe(true);
  });

  test('lets one try alone, and the others follow one by one when the one before works', async () => {
    const { enter, limited } = accounts();
    limited('claude', SOON);
    const all = [enter(), enter(), enter()];
    const begun = () => all.filter(({ isIn }) => isIn).length;
    await pass(5_000);
    expect(begun()).toBe(1);
    all.find(({ isIn }) => isIn)?.works();
    await pass(100);
    expect(begun()).toBe(2);
    await pass(5_000);
    expect(begun()).toBe(2);
    all.filter(({ isIn }) => isIn)[1]?.works();
    await pass(100);
    expect(begun()).toBe(3);
  });

  test('of which somebody has worked is forgotten when nobody waits any more', async () => {
    const { enter, limited } = accounts();
    limited('claude', SOON);
    const first = enter();
    await pass(1_050);
    first.works();
    const [second, third] = [enter(), enter()];
    await pass(0);
    expect([second.isIn, third.isIn]).toEqual([true, true]);
  });

  test('is still taken care of when the one that tried left without having worked', async () => {
    const { enter, limited } = accounts();
    limited('claude', SOON);
    const first = enter();
    await pass(1_050);
    first.leave();
    const [second, third] = [enter(), enter()];
    await pass(5_000);
    expect([second.isIn, third.isIn]).toEqual([true, false]);
  });

  test('is not ended by the work of one that had begun before it', async () => {
    const { enter, limited } = accounts();
    const early = enter();
    await pass(0);
    limited('claude', SOON);
    early.works();
    early.leave();
    const [second, third] = [enter(), enter()];
    await pass(2_000);
    expect([second.isIn, third.isIn]).toEqual([true, false]);
  });

  test('is told once, and again only when it lasts longer', () => {
    const { limited, limits, until } = accounts();
    limited('claude', SOON);
    limited('claude', SOON);
    limited('claude', SOON - 500);
    limited('claude', SOON + 500);
    expect(limits).toEqual([
      ['claude', SOON],
      ['claude', SOON + 500],
    ]);
    expect(until('claude')).toBe(SOON + 500);
    expect(until('codex')).toBe(0);
  });
});

describe('nobody waits for ever', () => {
  test('after the longest wait it tries, whatever is known', async () => {
    const { enter, limited } = accounts();
    limited('claude', NOW + LONG);
    const one = enter('claude', 200);
    await pass(199);
    expect(one.isIn).toBe(false);
    await pass(51);
    expect(one.isIn).toBe(true);
  });

  test('a run that is stopped does not wait', async () => {
    const { enter, limited, stop } = accounts();
    limited('claude', NOW + LONG);
    const one = enter();
    stop.abort();
    await pass(0);
    expect(one.isIn).toBe(true);
  });
});

test('new lanes are begun as long as one of the agents is free', async () => {
  const { isLimited, limited } = accounts();
  limited('claude', SOON);
  expect(isLimited(['claude', 'codex'])).toBe(false);
  limited('codex', SOON + 1_000);
  expect(isLimited(['claude', 'codex'])).toBe(true);
  await pass(1_000);
  expect(isLimited(['claude', 'codex'])).toBe(false);
});
