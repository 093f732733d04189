import { expect, test } from 'vitest';
import {
  mutationFeedback,
  mutationScore,
  quoteCode,
  shownSurvivors,
} from '../../../src/domain/checks/mutation.ts';

const survivor = (line: number, file = 'src/cart.js') => ({
  file,
  line,
  change: '`sum >= 100` changed to `sum > 100`',
});

test('the agent is told what its checks would not notice, and what to do', () => {
  expect(mutationFeedback([survivor(8)], ['npm test'])).toBe(
    'Your checks would not notice this: `src/cart.js:8`, `sum >= 100` changed to `sum > 100`; `npm test` stayed green. Add a test that fails for it, or say in one sentence why it makes no difference.',
  );
  expect(mutationFeedback([survivor(8), survivor(9)], ['npm test', 'npm run lint'])).toBe(
    [
      'Your checks would not notice these changes; `npm test`, `npm run lint` stayed green:',
      '- `src/cart.js:8`, `sum >= 100` changed to `sum > 100`',
      '- `src/cart.js:9`, `sum >= 100` changed to `sum > 100`',
      'Add a test that fails for each, or say in one sentence why it makes no difference.',
    ].join('\n'),
  );
  expect(mutationFeedback([], ['npm test'])).toBe('');
});

test('seven for a file are shown, and how many more there are', () => {
  const all = [...Array.from({ length: 9 }, (_, line) => survivor(line)), survivor(1, 'b.js')];
  const { shown, more } = shownSurvivors(all);
  expect([shown.length, more]).toEqual([8, [{ file: 'src/cart.js', count: 2 }]]);
  expect(mutationFeedback(all, ['x'])).toContain('- and 2 more in `src/cart.js`');
});

test.each([
  [0, 0, null],
  [3, 1, 66],
  [200, 1, 99],
  [5, 0, 100],
])('of %i mutants with %i survivors the score is %s', (mutants, survivors, score) => {
  expect(mutationScore(mutants, survivors)).toBe(score);
});

test('code with backticks in it is quoted with more of them', () => {
  expect([quoteCode('a'), quoteCode('`${a}`')]).toEqual(['`a`', '`` `${a}` ``']);
});
