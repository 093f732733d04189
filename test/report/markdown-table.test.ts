/** What a title, a file or a reason says is no link: in a table of Markdown, and in a message of SARIF. */
import { expect, test } from 'vitest';
import { markdownOfAll } from '../../src/report/markdown.ts';
import { createRunFold } from '../../src/report/run-fold.ts';
import type { RunsFigures } from '../../src/report/runs-figures.ts';
import { sarifOf } from '../../src/report/sarif.ts';

const figuresOf = (title: string) =>
  ({
    ...{ ended: 1, done: 0, successRate: 0, iterationsToDone: null, cost: 1, storiesVerified: 0 },
    ...{ costPerStory: null, reviewsPerStory: null, seconds: { agent: 1, checks: 1, waiting: 1 } },
    runs: [
      {
        ...{ id: '20260101-000000-aaaa', title, state: 'stopped', stopReason: 'max_iterations' },
        ...{ ledger: { kind: 'intact' }, iterations: 1, cost: 12.5, tokens: 1_200, elapsed: 3 },
      },
    ],
  }) as unknown as RunsFigures;

/** As GitHub reads it: a backslash takes the sign behind it along. */
function cellsOf(title: string): readonly string[] {
  const line = markdownOfAll(figuresOf(title)).split('\n').at(-2) ?? '';
  return [...line.matchAll(/(?:\\.|[^|\\])+/g)].map(([cell]) => cell.trim());
}

const withoutCode = (cell: string) => cell.replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, '');

test.each([
  '7 www.evil.example/pay now',
  '1 www.evil.example',
  'x\\| https://evil.example',
  'x\\\\| @everybody',
  'x\\\\\\| @everybody',
  '| @everybody',
  'a`b | https://evil.example',
])('%j', title => {
  const cells = cellsOf(title);
  expect(cells).toHaveLength(7);
  expect(withoutCode(cells[1] ?? '')).toBe('');
});

test('what Ralph itself says of a run is no code', () => {
  expect(cellsOf('Make it')).toEqual([
    ...['20260101-000000-aaaa', 'Make it', 'out of iterations', '1', '$12.50', '1.2K', '3.0s'],
  ]);
});

test.each(['[x](http://e)', '\\[x](http://e)', '\\\\[x](http://e)', '[x\\]y](1)'])('in SARIF: %j', what => {
  const fold = createRunFold();
  const violation = { what, restored: false };
  fold.add({ seq: 1, at: '2026-01-01T00:00:00.000Z', type: 'violation', violation } as never);
  const trust = { kind: 'intact' } as const;
  const [{ results }] = JSON.parse(sarifOf(fold.view(), { trust, torn: 0 }, '0')).runs;
  expect(results[0].message.text).toContain('x');
  expect(results[0].message.text).not.toMatch(/\]\(/);
});
