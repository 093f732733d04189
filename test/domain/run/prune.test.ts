import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { choosePruned, parseAge } from '../../../src/domain/run/prune.ts';

const run = (id: string, over: Partial<{ state: string; resumable: boolean; startedAt: number }> = {}) => ({
  id,
  state: 'done',
  resumable: false,
  startedAt: 0,
  ...over,
});

describe('which runs go', () => {
  test('those beyond the latest, and only the old ones', () => {
    const runs = [run('1', { startedAt: 1 }), run('2', { startedAt: 5 }), run('3', { startedAt: 9 })];
    const ids = (rule: { keep?: number; before?: number }) =>
      choosePruned(runs, { force: false, ...rule }).go.map(({ id }) => id);
    expect(ids({ keep: 1 })).toEqual(['1', '2']);
    expect(ids({ before: 5 })).toEqual(['1']);
    expect(ids({ keep: 2, before: 9 })).toEqual(['1']);
    expect(ids({ keep: 9 })).toEqual([]);
  });

  test('never one that is alive; one that can be resumed only when it is asked for', () => {
    const states = ['running', 'waiting', 'paused', 'stopped'];
    const runs = states.map(state => run(state, { state, resumable: state === 'stopped' }));
    expect(choosePruned(runs, { force: false }).go).toEqual([]);
    expect(choosePruned(runs, { force: false }).spared.length).toBe(4);
    expect(choosePruned(runs, { force: true }).go.map(({ id }) => id)).toEqual(['stopped']);
  });

  test('the latest `keep` always stay, whatever else is asked', () => {
    const any = fc.array(
      fc.record({
        id: fc.string(),
        state: fc.constantFrom('done', 'stopped', 'crashed', 'running'),
        resumable: fc.boolean(),
        startedAt: fc.nat(),
      }),
    );
    fc.assert(
      fc.property(any, fc.nat({ max: 9 }), fc.boolean(), (runs, keep, force) => {
        const { go } = choosePruned(runs, { keep, force });
        const latest = keep === 0 ? [] : runs.slice(-keep);
        expect(go.some(each => latest.includes(each) || each.state === 'running')).toBe(false);
      }),
    );
  });
});

test.each([
  ['30d', 2_592_000_000],
  ['12h', 43_200_000],
  ['2w', 1_209_600_000],
  ['90s', 90_000],
  ['d', undefined],
  ['30', undefined],
  ['-1d', undefined],
  ['1y', undefined],
])('the age %s is %s', (text, age) => {
  expect(parseAge(text)).toBe(age);
});
