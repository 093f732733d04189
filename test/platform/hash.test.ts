import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hmacOf, sha256Of } from '../../src/platform/sha256.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('the hash in JavaScript is the one of node, for every length around a block', () => {
  for (let length = 0; length < 260; length++) {
    const bytes = Buffer.alloc(length, length);
    expect(hex(sha256Of(bytes))).toBe(createHash('sha256').update(bytes).digest('hex'));
  }
});

test('and for any bytes, with a key and without', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.uint8Array({ maxLength: 200 }), (bytes, key) => {
      expect(hex(sha256Of(bytes))).toBe(createHash('sha256').update(bytes).digest('hex'));
      expect(hex(hmacOf(key, bytes))).toBe(createHmac('sha256', key).update(bytes).digest('hex'));
    }),
  );
});
