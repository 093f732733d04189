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

  test('that nobody wants are never held: only their head and their length remain', () => {
    const cuts: [string, number][] = [];
    const asked: number[] = [];
    const lines = split(
      [
        Buffer.from('skip me '),
        ...Array.from({ length: 100 }, () => Buffer.alloc(1000, 'y')),
        Buffer.from('\nshort\n'),
      ],
      {
        isSkippable: head => {
          asked.push(head.length);
          return head.startsWith('skip');
        },
        cut: (head, bytes) => cuts.push([head.slice(0, 8), bytes]),
      },
      { longBytes: 2000, maxBytes: 1_000_000 },
    );
    expect({ lines, cuts, asked }).toEqual({
      lines: ['short'],
      cuts: [['skip me ', 100_008]],
      asked: [2000],
    });
  });

  test('longer than the most that may be held are cut and told', () => {
    const cuts: number[] = [];
    const lines = split(
      [Buffer.alloc(5000, 'z'), Buffer.from('\nok\n')],
      { cut: (_, bytes) => cuts.push(bytes) },
      { longBytes: 100, maxBytes: 1000 },
    );
    expect({ lines, cuts }).toEqual({ lines: ['ok'], cuts: [5000] });
  });
});
