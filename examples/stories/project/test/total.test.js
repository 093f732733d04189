import assert from 'node:assert/strict';
import { test } from 'node:test';
import { total } from '../src/total.js';

test('a receipt adds up', () => {
  assert.equal(total(['12.50', '0.05']), 1255);
  assert.equal(total([]), 0);
});
