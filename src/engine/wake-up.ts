/** Ends a wait when something has happened: whoever waits for it waits no longer than a moment. */
import { pause } from './wait.ts';

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
