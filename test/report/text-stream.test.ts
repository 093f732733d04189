import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTextStream } from '../../src/report/format.ts';

function streamed(pieces: readonly string[], width: number): readonly string[] {
  const stream = createTextStream(() => width);
  return [...pieces.flatMap(piece => stream.add(piece)), ...stream.end()];
}

test('words that come in pieces are rows when they are full', () => {
  const stream = createTextStream(() => 10);
  expect(stream.add('The qui')).toEqual([]);
  expect(stream.add('ck brown f')).toEqual(['The quick']);
  expect(stream.add('ox\njumps')).toEqual(['brown fox']);
  expect(stream.end()).toEqual(['jumps']);
  expect(stream.end()).toEqual([]);
});

test('a space at the end of a piece is not lost', () => {
  expect(streamed(['The quick brown ', 'fox jumps ', 'over'], 12)).toEqual([
    'The quick',
    'brown fox',
    'jumps over',
  ]);
});

test('an escape sequence that comes in two pieces is still one', () => {
  expect(streamed(['a\x1b[3', '1mb'], 80)).toEqual(['ab']);
});

test('the rows do not depend on how the words were cut', () => {
  const words = fc.array(fc.constantFrom('a', 'is', 'word', 'wörter', '日本', '\n', ' ', '- item'), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(
      words,
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 20, max: 40 }),
      (parts, size, width) => {
        const text = parts.join(' ').replace(/ +/g, ' ');
        const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        const flat = (rows: readonly string[]) => rows.join(' ').replace(/\s+/g, ' ').trim();
        expect(flat(streamed(pieces, width))).toBe(flat(streamed([text], width)));
      },
    ),
  );
});

test('invisible characters without end do not pile up', () => {
  const stream = createTextStream(() => 80);
  let rows = 0;
  for (let piece = 0; piece < 1_000; piece++) rows += stream.add('\u200b'.repeat(100)).length;
  expect(rows).toBeGreaterThan(10);
});
