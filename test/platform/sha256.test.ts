import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/platform/hash.ts';
import { sha256Here } from '../../src/platform/sha256.ts';

const wanted = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex');

test('is what Node makes of any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), bytes => sha256Here(bytes) === wanted(bytes)),
    { numRuns: 500 },
  );
});

test.each([0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 100_000])('also at %i bytes', length => {
  const bytes = new Uint8Array(length).fill(0xa5);
  expect(sha256Here(bytes)).toBe(wanted(bytes));
});

test('a text is hashed as UTF-8, however many there are and however long', () => {
  for (const text of [...Array(100).keys()].map(i => `é 🎉 ${i}`).concat('x'.repeat(50_000)))
    expect(sha256(text)).toBe(wanted(text));
});
