import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLineSplitter, type LineSink, LONG_LINE } from '../../src/platform/lines.ts';

function split(chunks: readonly Buffer[], sink: Partial<LineSink> = {}) {
  const lines: string[] = [];
  const splitter = createLineSplitter({ line: line => lines.push(line), ...sink });
  for (const chunk of chunks) {
    const reused = Buffer.from(chunk);
    splitter.push(reused);
    reused.fill('?');
  }
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

  test('that are long are shortened while they come, and never much of them is held', () => {
    const chunk = Buffer.alloc(65_536, 'x');
    const held: number[] = [];
    const shorten = (bytes: Buffer) => {
      held.push(bytes.length);
      return Buffer.concat([bytes.subarray(0, 3), Buffer.from('-'), bytes.subarray(-3)]);
    };
    const chunks = [
      Buffer.from('abc'),
      ...Array.from({ length: 800 }, () => chunk),
      Buffer.from('xyz\nnext\n'),
    ];
    expect(split(chunks, { shorten })).toEqual([expect.stringMatching(/^abc-xxxx*yz$/), 'next']);
    expect(held.length).toBeGreaterThan(40);
    expect(Math.max(...held)).toBeLessThanOrEqual(LONG_LINE + chunk.length);
  });

  test('that cannot be shortened much are tried each time they have doubled', () => {
    const chunk = Buffer.alloc(LONG_LINE, 'x');
    let times = 0;
    const shorten = (bytes: Buffer) => {
      times++;
      return bytes;
    };
    const [line] = split([...Array.from({ length: 16 }, () => chunk), Buffer.from('\n')], { shorten });
    expect([line?.length, times]).toEqual([16 * LONG_LINE, 3]);
  });
});
