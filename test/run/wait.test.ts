/** Clocks that jump and machines that sleep: what a wait makes of them. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { pause, waitFor } from '../../src/run/wait.ts';

const NOW = Date.UTC(2026, 10, 15);
const never = new AbortController().signal;

/** Each look at the wall clock finds the next of these offsets from NOW, the last one from then on. */
function wall(...offsets: readonly number[]) {
  let looks = 0;
  return {
    clock: {
      now: () => NOW + (offsets[Math.min(looks++, offsets.length - 1)] ?? 0),
      ticks: () => performance.now(),
    },
    looks: () => looks,
  };
}

const HOUR = 3_600_000;

describe('a stated moment', () => {
  test('that passed while the machine slept ends the wait at the next look', async () => {
    const { clock, looks } = wall(0, 2 * HOUR);
    expect(await waitFor({ ms: HOUR, until: NOW + HOUR, longest: 6 * HOUR }, clock, never)).toBe(true);
    expect(looks()).toBe(2);
  });

  test('is not waited for longer than allowed when the clock is set back', async () => {
    const began = performance.now();
    const { clock } = wall(0, -24 * HOUR);
    expect(await waitFor({ ms: 50, until: NOW + 50, longest: 120 }, clock, never)).toBe(true);
    expect(performance.now() - began).toBeGreaterThanOrEqual(119);
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

test('a while is measured by the steady clock, whatever the wall shows', async () => {
  const began = performance.now();
  const { clock } = wall(0, 9 * HOUR, -9 * HOUR);
  expect(await waitFor({ ms: 80, longest: 6 * HOUR }, clock, never)).toBe(true);
  expect(performance.now() - began).toBeGreaterThanOrEqual(79);
});

test('whoever wants it to stop need not wait', async () => {
  const stop = new AbortController();
  const wait = waitFor({ ms: HOUR, longest: HOUR }, wall(0).clock, stop.signal);
  stop.abort();
  expect(await wait).toBe(false);
  expect(await waitFor({ ms: HOUR, longest: HOUR }, wall(0).clock, stop.signal)).toBe(false);
});

test('many pauses after each other leave nothing behind on the signal they watch', async () => {
  const { signal } = new AbortController();
  for (let each = 0; each < 30; each++) await pause(0, signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
