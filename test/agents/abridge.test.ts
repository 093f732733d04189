/** A line of JSON without the middle of its long strings: nothing else about it changes, and what was left out is counted. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { abridged, createAbridger } from '../../src/agents/abridge.ts';
import { inChunksOf } from './reading.ts';

const HEAD = 4096;

const abridger = createAbridger();

/** What a line comes to when it arrives in these chunks. */
function abridge(chunks: readonly Buffer[]): string | undefined {
  for (const chunk of chunks) abridger.push(chunk, 0, chunk.length);
  return abridger.end();
}

/** Pieces that make a string hard to read: escapes, quotes, characters of one to four bytes, halves of pairs. */
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
  ...['","is_error":true,"', '"}', '\\"', 'x'.repeat(300), 'é'.repeat(700), 'y'.repeat(3_000)],
);
const text = fc.array(piece, { maxLength: 60 }).chain(parts =>
  // Long by repetition: fast-check would need too long for it.
  fc.nat({ max: 12 }).map(times => parts.join('').repeat(times)),
);
const value = fc.letrec(tie => ({
  any: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.constantFrom<unknown>(null, true, -1.5e3),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('any'), { maxLength: 3 }),
  object: fc.dictionary(fc.constantFrom('content', 'text', 'is_error', 'a"b', ''), tie('any'), {
    maxKeys: 4,
  }),
})).object;

describe('abridging', () => {
  test('keeps the structure, the beginning and the end of each string, and counts the rest, however the line is cut', () => {
    fc.assert(
      fc.property(value, fc.integer({ min: 1, max: 5_000 }), fc.boolean(), (json, size, spaced) => {
        const bytes = Buffer.from(
          spaced ? JSON.stringify(json, null, 1).replaceAll('\n', ' ') : JSON.stringify(json),
        );
        const short = JSON.parse(abridge(inChunksOf(size, bytes)) ?? '');
        agree(json, short);
      }),
      { numRuns: 300 },
    );
  });

  test.each([1, 2, 3, 5, 64, 1_024])('cuts strings of any length alike, in chunks of %i', size => {
    for (const unit of ['z', '\n', 'é', '😀', '\\', '"', '\u0001']) {
      for (const length of [4_095, 4_096, 4_097, 4_695, 4_696, 4_697, 5_295, 5_296, 5_297, 6_000, 9_000]) {
        const json = { before: 1, long: unit.repeat(length), after: [2] };
        agree(json, JSON.parse(abridge(inChunksOf(size, Buffer.from(JSON.stringify(json)))) ?? ''));
      }
    }
  });

  test('leaves half a line what it is: no JSON', () => {
    const whole = Buffer.from(JSON.stringify({ long: 'a\n'.repeat(20_000) }));
    for (const end of [3, 9, 10, 4_000, 4_107, 20_000, whole.length - 1]) {
      const half = abridge([whole.subarray(0, end)]) ?? '';
      expect(() => JSON.parse(half)).toThrow();
    }
    expect(JSON.parse(abridge([Buffer.from('{"next":"line"}')]) ?? '')).toEqual({ next: 'line' });
  });

  test('never holds more than it needs', () => {
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    const { arrayBuffers } = process.memoryUsage();
    abridger.push(Buffer.from('{"long":"'), 0, 9);
    for (let at = 0; at < 500; at++) abridger.push(megabyte, 0, megabyte.length);
    expect(process.memoryUsage().arrayBuffers - arrayBuffers).toBeLessThan(1024 * 1024);
    const end = Buffer.from('","id":7}');
    abridger.push(end, 0, end.length);
    const short = JSON.parse(abridger.end() ?? '');
    expect(abridged(short.long)).toMatchObject({ chars: expect.any(Number), newlines: 0 });
    expect(short.id).toBe(7);
  });

  test('gives up a line that is too long without its strings', () => {
    const list = Buffer.alloc(1024 * 1024, '0,');
    expect(abridge([Buffer.from('['), ...Array.from({ length: 20 }, () => list)])).toBeUndefined();
    expect(abridge([Buffer.from('[1]')])).toBe('[1]');
  });

  test('does not take for its own what a text says', () => {
    const text = '[0123456789abcdef 1000 50]';
    expect(abridged(text)).toEqual({ text, chars: 0, newlines: 0 });
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

function agreeOnText(whole: string, short: string): void {
  const { text, chars, newlines } = abridged(short);
  expect(text.length + chars).toBe(whole.length);
  expect(count(text) + newlines).toBe(count(whole));
  if (chars === 0) expect(text).toBe(whole);
  if (chars === 0) return;
  expect(whole.length).toBeGreaterThan(HEAD);
  expect(whole.startsWith(text.slice(0, HEAD))).toBe(true);
  // What follows the head is the end; where they meet is known by the mark only.
  const end = short.slice(short.lastIndexOf(`${chars} ${newlines}]`) + `${chars} ${newlines}]`.length);
  // There is none where nobody can tell which backslash begins an escape.
  if (!whole.slice(-600).includes('\\\\')) expect(end.length).toBeGreaterThan(80);
  expect(whole.endsWith(end)).toBe(true);
}

const count = (text: string) => text.split('\n').length - 1;
