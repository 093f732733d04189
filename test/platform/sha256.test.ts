import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
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
