/** A line of JSON without the middle of its long strings: nothing else about it changes, and what was left out is counted. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { leftOutOf, shortenStrings } from '../../src/agents/long-lines.ts';

const KEPT = 64 * 1024;

/** As a line splitter does it: again and again, while the line grows by so many bytes. */
function shortenInSteps(line: Buffer, step: number): Buffer {
  let held = Buffer.alloc(0);
  for (let at = 0; at < line.length; at += step) {
    held = shortenStrings(Buffer.concat([held, line.subarray(at, at + step)])) as Buffer<ArrayBuffer>;
  }
  return held;
}

/** Pieces that make a string hard to cut: escapes, quotes, characters of one to four bytes, halves of pairs. */
const piece = fc.constantFrom(
  ...[
    'a',
    'plain words ',
    '\n',
    '\t',
    '"',
    '\\',
    '\\\\',
    '\\n',
    '\u0000',
    '\u2028',
    'é',
    '€',
    '😀',
    '\ud800',
  ],
  ...['","is_error":true,"', '"}', '\\"'],
);
/** Long by repetition, in the property itself: a counterexample can be read then. */
const text = fc.record({
  parts: fc.array(piece, { minLength: 1, maxLength: 12 }),
  length: fc.constantFrom(1, 20, 3 * KEPT, 6 * KEPT),
});
const longText = ({ parts, length }: { readonly parts: readonly string[]; readonly length: number }) =>
  parts.join('').repeat(Math.ceil(length / parts.join('').length));

describe('shortening', () => {
  test('keeps the structure, the two ends of each string, and counts the rest, however the line comes', () => {
    fc.assert(
      fc.property(
        fc.tuple(text, text, text),
        fc.integer({ min: KEPT, max: 12 * KEPT }),
        fc.boolean(),
        (texts, step, spaced) => {
          const [first, second, third] = texts.map(longText);
          const json = { a: first, 'b"': [{ is_error: true, c: second }, -1.5e3], '': third, exit: null };
          const line = spaced ? JSON.stringify(json, null, 1).replaceAll('\n', ' ') : JSON.stringify(json);
          agree(json, JSON.parse(shortenInSteps(Buffer.from(line), step).toString()));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('cuts strings of any length alike', () => {
    for (const unit of ['z', '\n', 'é', '😀', '\\', '"', '\u0001', '\ud800']) {
      for (const more of [-2, -1, 0, 1, 2, KEPT + 1]) {
        const json = { before: 1, long: unit.repeat(3 * KEPT + more), after: [2] };
        agree(json, JSON.parse(shortenStrings(Buffer.from(JSON.stringify(json))).toString()));
      }
    }
  });

  test('cuts nothing but strings, also behind a quote in one', () => {
    const json = { a: 'x"', b: Array.from({ length: 2 * KEPT }, () => 1), c: 'y\\' };
    expect(JSON.parse(shortenStrings(Buffer.from(JSON.stringify(json))).toString())).toEqual(json);
  });

  test('leaves half a line what it is: no JSON', () => {
    const whole = Buffer.from(JSON.stringify({ long: 'a\n'.repeat(200_000) }));
    for (const end of [3, 9, 10, KEPT, 4 * KEPT, whole.length - 1]) {
      expect(() => JSON.parse(shortenStrings(whole.subarray(0, end)).toString())).toThrow();
    }
  });

  test('holds little of a line that consists of one long string', () => {
    const whole = Buffer.from(JSON.stringify({ long: 'x'.repeat(5e6), id: 7 }));
    const short = shortenInSteps(whole, 1e6);
    expect(short.length).toBeLessThan(3 * KEPT);
    expect(JSON.parse(short.toString())).toMatchObject({ id: 7 });
  });
});

function agree(whole: unknown, short: unknown): void {
  if (typeof whole === 'string' && typeof short === 'string') agreeOnText(whole, short);
  else if (typeof whole !== 'object' || whole === null) expect(short).toEqual(whole);
  else {
    expect(Object.keys(short as object)).toEqual(Object.keys(whole));
    for (const [key, each] of Object.entries(whole)) agree(each, (short as Record<string, unknown>)[key]);
  }
}

/** The same text, or its two ends and the right counts. */
function agreeOnText(whole: string, short: string): void {
  const { kept, chars, newlines } = leftOutOf(short);
  expect(kept.length + chars).toBe(whole.length);
  expect(count(kept) + newlines).toBe(count(whole));
  if (chars === 0) expect(short === whole).toBe(true);
  if (chars === 0) return;
  const [head = '', tail = ''] = short.split(/ \[\.\.\. .* left out \.\.\.\] /);
  expect([whole.startsWith(head), whole.endsWith(tail)]).toEqual([true, true]);
  expect(Math.min(head.length, tail.length)).toBeGreaterThan(KEPT / 7);
}

const count = (text: string) => text.split('\n').length - 1;
