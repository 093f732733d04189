/** What the queue of events holds on to. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/run/event.ts';
import { createEventQueue } from '../../src/library/event-queue.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const EVENTS = 1_000;

/** A queue with events that nobody else holds, and a count of those that are still there. */
function filled() {
  const queue = createEventQueue();
  const kept: WeakRef<RecordedEvent>[] = [];
  for (let at = 0; at < EVENTS; at++) {
    const event: RecordedEvent = { type: 'paused', time: at, run: 'r', iteration: 1 };
    kept.push(new WeakRef(event));
    queue.push(event);
  }
  const count = async () => {
    // What was put into a WeakRef, or taken out of it, stays until that task is over.
    for (let task = 0; task < 3; task++) await new Promise(resolve => setImmediate(resolve));
    collect();
    return kept.filter(each => each.deref() !== undefined).length;
  };
  return { queue, count };
}

test('nothing is lost before it is read, and nothing is kept when it was', async () => {
  const { queue, count } = filled();
  expect(await count()).toBe(EVENTS);
  const reader = queue[Symbol.asyncIterator]();
  for (let at = 0; at < EVENTS - 10; at++) expect((await reader.next()).value.time).toBe(at);
  // The ones that are unread, and perhaps the one that was read last.
  expect(await count()).toBeLessThanOrEqual(11);
  expect((await reader.next()).value.time).toBe(EVENTS - 10);
});

test('a slow reader keeps its own, whatever others have read', async () => {
  const { queue, count } = filled();
  const slow = queue[Symbol.asyncIterator]();
  await slow.next();
  queue.end();
  for await (const event of queue) expect(event).toBeUndefined(); // it begins at the end
  expect(await count()).toBeGreaterThanOrEqual(EVENTS - 1);
  expect((await slow.next()).value.time).toBe(1);
});
