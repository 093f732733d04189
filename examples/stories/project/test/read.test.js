import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAmount } from '../src/read.js';

test('an amount is read as cents', () => {
  assert.equal(readAmount('12.50'), 1250);
  assert.equal(readAmount('0.05'), 5);
});

test('what is no amount throws', () => {
  assert.throws(() => readAmount('twelve'));
});
