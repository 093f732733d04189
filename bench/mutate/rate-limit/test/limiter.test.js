import assert from 'node:assert/strict';
import test from 'node:test';
import { Limiter } from '../limiter.js';

function limiter() {
  const clock = { time: 0 };
  return { clock, limiter: new Limiter({ capacity: 2, perSecond: 1, now: () => clock.time }) };
}

test('as many as the bucket holds, then no more', () => {
  const { limiter: limit } = limiter();
  assert.deepEqual(limit.take('a'), { allowed: true, retryAfter: 0 });
  assert.equal(limit.take('a').allowed, true);
  assert.equal(limit.take('a').allowed, false);
});

test('it fills again with time', () => {
  const { limiter: limit, clock } = limiter();
  limit.take('a', 2);
  clock.time = 1500;
  assert.equal(limit.take('a').allowed, true);
  assert.equal(limit.take('a').allowed, false);
});

test('clients do not share a bucket', () => {
  const { limiter: limit } = limiter();
  limit.take('a', 2);
  assert.equal(limit.take('b').allowed, true);
});

test('full buckets are forgotten', () => {
  const { limiter: limit, clock } = limiter();
  limit.take('a');
  clock.time = 10_000;
  assert.equal(limit.sweep(), 1);
});
