import { expect, test } from 'vitest';
import { dollars } from '../../src/domain/turn/usage.ts';
import { compact, counted, duration, grouped, wholeSeconds } from '../../src/report/numbers.ts';

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1K'],
  [1_234, '1.2K'],
  [9_960, '10K'],
  [45_000, '45K'],
  [850_000, '850K'],
  [999_400, '999K'],
  [999_600, '1M'],
  [1_200_000, '1.2M'],
  [12_345_678, '12M'],
  [2_500_000_000, '2.5B'],
])('%i tokens are %s', (count, words) => {
  expect(compact(count)).toBe(words);
});

test.each([
  [0, '0.0s'],
  [0.84, '0.8s'],
  [1.2, '1.2s'],
  [9.97, '10s'],
  [42, '42s'],
  [59.7, '1m0s'],
  [367, '6m7s'],
  [7_500, '2h5m'],
  [-3, '0.0s'],
  [Number.NaN, '0.0s'],
])('%d seconds are %s', (seconds, words) => {
  expect(duration(seconds)).toBe(words);
});

test('a ticking clock has no decimals', () => {
  expect(wholeSeconds(3.2)).toBe('3s');
  expect(wholeSeconds(-1)).toBe('0s');
});

test.each([
  [0, '$0.00'],
  [0.00001, '<$0.0001'],
  [0.0042, '$0.0042'],
  [0.05, '$0.0500'],
  [0.42, '$0.42'],
  [5.757, '$5.76'],
])('%d dollars are %s', (amount, words) => {
  expect(dollars(amount)).toBe(words);
});

test('counts read as people say them', () => {
  expect(grouped(5321)).toBe('5,321');
  expect([counted(1, 'line'), counted(0, 'line'), counted(45, 'line')]).toEqual([
    '1 line',
    '0 lines',
    '45 lines',
  ]);
});
