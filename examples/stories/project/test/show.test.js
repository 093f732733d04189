import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showAmount } from '../src/show.js';

test('an amount has two decimals', () => {
  assert.match(showAmount(1250), /^12[.,]50$/);
  assert.match(showAmount(5), /^0[.,]05$/);
});
