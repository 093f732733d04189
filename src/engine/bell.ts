/** Rings when something has happened: whoever waits for it waits no longer than a moment. */
import { pause } from './wait.ts';

export function createBell(stopping?: AbortSignal) {
  let wake = () => {};
  let broken: unknown;
  const ring = () => wake();
  stopping?.addEventListener('abort', ring);
  return {
    ring,
    break(error: unknown) {
      broken = error;
      ring();
    },
    check() {
      if (broken !== undefined) throw broken;
    },
    async wait(ms: number): Promise<void> {
      const rung = new AbortController();
      wake = () => rung.abort();
      await pause(ms, rung.signal);
    },
  };
}
