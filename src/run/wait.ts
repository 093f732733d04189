/** Waiting: by the wall clock for a moment that was stated, by the steady clock for a while, and never longer than allowed. */
import type { Clock } from '../platform/clock.ts';

export interface Wait {
  /** Milliseconds by the steady clock. */
  readonly ms: number;
  /** A moment on the wall clock, in milliseconds since 1970: when it has passed, the wait is over, also after a sleep of the machine. */
  readonly until?: number;
  /** Milliseconds by the steady clock that the wait never exceeds, however the wall clock is set. */
  readonly longest: number;
}

/** The clock may be set, the machine may sleep: look at it again that often. */
const LOOK_EVERY = 1_000;

/** Returns whether it waited to the end; false: `stopping` came first. */
export async function waitFor(
  { ms, until, longest }: Wait,
  clock: Clock,
  stopping: AbortSignal,
): Promise<boolean> {
  const began = clock.ticks();
  const left = () => {
    const passed = clock.ticks() - began;
    const wanted = until === undefined ? ms - passed : until - clock.now();
    return Math.min(wanted, longest - passed);
  };
  for (let rest = left(); rest > 0; rest = left()) {
    if (stopping.aborted) return false;
    await pause(Math.min(rest, LOOK_EVERY), stopping);
  }
  return !stopping.aborted;
}

/** Ends early when `stopping` comes. */
export function pause(ms: number, stopping: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer);
      stopping.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.ceil(ms));
    stopping.addEventListener('abort', done);
    if (stopping.aborted) done();
  });
}

/** Ends a wait when something has happened: whoever waits for it waits no longer than a moment. */
export function createWakeUp(stopping?: AbortSignal) {
  let end = () => {};
  let failure: unknown;
  const wake = () => end();
  stopping?.addEventListener('abort', wake);
  return {
    wake,
    fail(error: unknown) {
      failure = error;
      wake();
    },
    throwIfFailed() {
      if (failure !== undefined) throw failure;
    },
    async wait(ms: number): Promise<void> {
      const woken = new AbortController();
      end = () => woken.abort();
      await pause(ms, woken.signal);
    },
  };
}
