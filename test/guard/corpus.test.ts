/** Every command of the corpus gets the verdict that is written beside it. */
import { describe, expect, test } from 'vitest';
import { judgeCommand } from '../../src/guard/guard.ts';
import { CATEGORIES } from '../../src/guard/rule.ts';
import { readCorpus, WORLD } from './corpus.ts';

const corpus = readCorpus();

test('it is large enough, and as many of its commands are innocent as not', () => {
  const innocent = corpus.filter(({ expected }) => expected === 'ok').length;
  expect(corpus.length).toBeGreaterThan(1_200);
  expect(innocent).toBeGreaterThan(500);
  expect(corpus.length - innocent).toBeGreaterThan(500);
});

describe.each([['0', 'a working day'], ...Object.entries(CATEGORIES)])('%s %s', number => {
  const samples = corpus.filter(({ category }) => category === Number(number));
  test.each(samples)('$expected: $command', ({ expected, command }) => {
    const findings = judgeCommand(command, WORLD);
    expect([findings[0]?.tier ?? 'ok', findings]).toEqual([expected, expect.anything()]);
  });
});
