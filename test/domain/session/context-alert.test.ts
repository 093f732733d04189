import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AlertState, contextAlert, FRESH, windowOf } from '../../../src/domain/session/context-alert.ts';

const WINDOW = 200_000;
const at = (percent: number) => ({ used: (percent / 100) * WINDOW, window: WINDOW });

/** What is told as the context goes through these percentages. */
function told(percents: readonly number[]): readonly string[] {
  let state: AlertState = FRESH;
  return percents.flatMap(percent => {
    const decision = contextAlert(at(percent), state);
    state = decision.state;
    return decision.alert === undefined ? [] : [decision.alert.split(' ')[0] ?? ''];
  });
}

describe('the five thresholds', () => {
  test.each([
    ['nothing below the first', [0, 10, 49.9], []],
    [
      'once each',
      [50, 55, 60, 61, 70, 75, 80, 89, 90, 95, 100],
      ['[NOTICE]', '[NOTICE]', '[WARNING]', '[WARNING]', '[CRITICAL]'],
    ],
    ['a jump is told of at its highest only', [10, 85, 86], ['[WARNING]']],
    ['and the lower ones are not told of afterwards', [85, 55, 65], ['[WARNING]']],
    ['a compaction arms them again', [72, 12, 51, 91], ['[WARNING]', '[NOTICE]', '[CRITICAL]']],
    ['beyond the window', [130], ['[CRITICAL]']],
  ])('%s', (_, percents, expected) => {
    expect(told(percents)).toEqual(expected);
  });

  test('says how full it is, and what the seed says', () => {
    const { alert } = contextAlert({ used: 91_000, window: 100_000 }, FRESH);
    expect(alert).toMatch(
      /^\[CRITICAL\] Your context is about 91% full \(91k of 100k tokens\)\. Wrap up immediately\./,
    );
  });
});

test('while it only grows, nothing is told twice, and never more than five times', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 200, noNaN: true }), { maxLength: 40 }), percents => {
      const growing = percents.toSorted((a, b) => a - b);
      expect(told(growing).length).toBeLessThanOrEqual(5);
      // Asking again changes nothing.
      expect(told(growing.flatMap(percent => [percent, percent]))).toEqual(told(growing));
    }),
  );
});

test.each([
  ['claude-opus-5-5', 1_000_000],
  ['claude-sonnet-4-5[1m]', 1_000_000],
  ['claude-sonnet-4-5', 200_000],
  ['gemini-2.5-pro', 1_048_576],
  ['gpt-5.5', 400_000],
  ['something-else', 200_000],
])('%s takes %i tokens', (model, window) => {
  expect(windowOf(model)).toBe(window);
});
