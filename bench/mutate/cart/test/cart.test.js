import assert from 'node:assert/strict';
import test from 'node:test';
import { checkout, discount, shipping } from '../cart.js';

const options = { country: 'DE', today: '2026-11-15', reserve() {} };
const book = { id: 'book', price: 1999, count: 2 };

test('an order with delivery', () => {
  assert.deepEqual(checkout([book], options), { sum: 3998, reduced: 3998, delivery: 490, total: 4488 });
});

test('delivery is free for large orders', () => {
  assert.equal(checkout([{ ...book, count: 5 }], options).delivery, 0);
  assert.equal(shipping(2000, 'FR'), 990);
});

test('a coupon takes ten percent off', () => {
  const coupon = { percent: 10, until: '2026-12-31' };
  assert.equal(checkout([book], { ...options, coupon }).reduced, 3598);
});

test('an old coupon is worth nothing', () => {
  assert.equal(discount(5000, { amount: 500, until: '2025-01-01' }, '2026-11-15'), 0);
});

test('an empty cart', () => {
  assert.throws(() => checkout([], options), /empty/);
});
