import { expect, test } from 'vitest';
import { DURATION_PATTERN, parseDuration } from '../../../src/domain/text/duration.ts';

test.each([
  ['90', 90],
  ['0', 0],
  ['1.5', 1.5],
  ['90s', 90],
  ['1h30m', 5_400],
  ['1h 30m', 5_400],
  ['1.5h', 5_400],
  ['500ms', 0.5],
  ['1m500ms', 60.5],
  ['2d12h', 216_000],
  [' 1w ', 604_800],
  ['90 s', 90],
  ['', undefined],
  [' ', undefined],
  ['h', undefined],
  ['30m1h', undefined],
  ['1h1h', undefined],
  ['1h30', undefined],
  ['-5', undefined],
  ['-5s', undefined],
  ['1e3', undefined],
  ['5 minutes', undefined],
  ['1y', undefined],
  ['Infinity', undefined],
])('%j is %s seconds, and the schema says the same', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
  expect(new RegExp(DURATION_PATTERN).test(text)).toBe(seconds !== undefined);
});
