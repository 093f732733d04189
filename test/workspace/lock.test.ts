/** Locks between processes: what a dead process, or a clock that was set, left behind does not hold anybody up. */
import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withLock } from '../../src/workspace/lock.ts';
import { createGate } from '../rig/gate.ts';
import { folder } from '../rig/repo.ts';

test.each([
  ['long ago', -3_600],
  ['in the future', 3_600],
])('an empty lock dated %s is nobody’s', async (_, seconds) => {
  const path = folder().path('lock');
  writeFileSync(path, '');
  const at = Date.now() / 1000 + seconds;
  utimesSync(path, at, at);
  expect(await withLock(path, async () => 'done')).toBe('done');
  expect(existsSync(path)).toBe(false);
});

test('of two at the same time one waits for the other', async () => {
  const path = folder().path('lock');
  const order: string[] = [];
  const { open: release, opened: held } = createGate();
  const first = withLock(path, async () => {
    await held;
    order.push('first');
  });
  const second = withLock(path, async () => void order.push('second'));
  release();
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second']);
});
