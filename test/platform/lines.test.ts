import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLineSplitter, type LineSink } from '../../src/platform/lines.ts';

function split(
  chunks: readonly Buffer[],
  sink: Partial<LineSink> = {},
  limits?: Parameters<typeof createLineSplitter>[1],
) {
  const lines: string[] = [];
  const splitter = createLineSplitter({ line: line => lines.push(line), ...sink }, limits);
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return lines;
}

function cutAt(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const cuts = [0, ...places.map(place => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

describe('lines', () => {
  test('come out the same wherever the stream is cut', () => {
    const line = fc.string({ unit: 'grapheme' }).map(text => text.replace(/[\r\n]/g, ''));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (lines, places) => {
        const bytes = Buffer.from(lines.map(each => `${each}\n`).join(''));
        expect(split(cutAt(bytes, places))).toEqual(lines);
      }),
    );
  });

  test.each([
    ['a last line without a line end', 'a\nb', ['a', 'b']],
    ['CRLF', 'a\r\nb\r\n', ['a', 'b']],
    ['empty lines', '\n\na\n', ['', '', 'a']],
    ['U+2028, which is no line end', 'a\u2028b\n', ['a\u2028b']],
    ['nothing', '', []],
  ])('with %s', (_, input, expected) => {
    expect(split([Buffer.from(input)])).toEqual(expected);
  });

  test('that are not UTF-8 do not get lost', () => {
    expect(split([Buffer.from([0x61, 0xff, 0xfe, 0x62, 10])])).toEqual(['a\ufffd\ufffdb']);
  });

  test('of 50 MB come out whole when they are wanted', () => {
    const chunk = Buffer.alloc(65_536, 'x');
    const chunks = [...Array.from({ length: 800 }, () => chunk), Buffer.from('\nnext\n')];
    const [long, next] = split(chunks);
    expect([long?.length, next]).toEqual([800 * 65_536, 'next']);
  });

  test('longer than the most that may be held are told and left out', () => {
    const long: [string, number][] = [];
    const lines = split(
      [Buffer.alloc(600, 'z'), Buffer.alloc(4400, 'z'), Buffer.from('\nok\n'), Buffer.from('half')],
      { tooLong: (head, bytes) => long.push([head, bytes]) },
      { maxBytes: 1000 },
    );
    expect({ lines, long }).toEqual({ lines: ['ok', 'half'], long: [['z'.repeat(600), 5000]] });
  });
});

describe('lines in passing', () => {
  const line = fc.tuple(
    fc.constantFrom('pass:', 'hold:', 'pa'),
    fc.string({ unit: 'grapheme', maxLength: 600 }),
  );

  test('come to whom they were given, wherever the stream is cut', () => {
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (parts, places) => {
        const lines = parts.map(([head, rest]) => head + rest.replace(/[\r\n]/g, ''));
        const bytes = Buffer.from(lines.map(each => `${each}\n`).join(''));
        const { seen, asked } = passed(cutAt(bytes, places));
        expect(seen).toEqual(lines.map(each => [each.startsWith('pass:') ? 'passed' : 'held', each]));
        // Told by the same bytes every time: the first 256, or all there are.
        expect(asked).toEqual(lines.map(each => Buffer.from(each).toString('latin1').slice(0, 256)));
      }),
    );
  });

  test('may end without a line end', () => {
    expect(passed([Buffer.from('pass:1\npass:2')]).seen).toEqual([
      ['passed', 'pass:1'],
      ['passed', 'pass:2'],
    ]);
  });

  test('are read while the chunks that they came in are used for something else', () => {
    const chunks = ['pas', 's:a', 'b\nho', 'ld:c', 'd\n'].map(text => Buffer.from(text));
    expect(passed(chunks, chunk => chunk.fill(0)).seen).toEqual([
      ['passed', 'pass:ab'],
      ['held', 'hold:cd'],
    ]);
  });
});

function passed(chunks: readonly Buffer[], after: (chunk: Buffer) => void = () => {}) {
  const seen: [string, string][] = [];
  const asked: string[] = [];
  let parts: Buffer[] = [];
  const splitter = createLineSplitter({
    line: text => seen.push(['held', text]),
    passing(head) {
      asked.push(head);
      if (!head.startsWith('pass:')) return undefined;
      return {
        push: (bytes, from, to) => parts.push(Buffer.from(bytes.subarray(from, to))),
        end() {
          seen.push(['passed', Buffer.concat(parts).toString()]);
          parts = [];
        },
      };
    },
  });
  for (const chunk of chunks) {
    splitter.push(chunk);
    after(chunk);
  }
  splitter.end();
  return { seen, asked };
}
