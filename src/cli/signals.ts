/** The first SIGINT or SIGTERM lets the current step finish; the second ends everything at once. */

export interface StopRequest {
  /** Fired by the first signal: no further step is begun. */
  readonly stopping: AbortSignal;
  /** Fired by the second: whatever runs is ended now. */
  readonly abort: AbortSignal;
  /** As the second signal. */
  endNow(): void;
  /** Stops listening. */
  dispose(): void;
}

/** `isUrgent` is asked at the first signal: whoever sent it may not want to wait for the step to finish. */
export function listenForSignals(
  say: (text: string) => void,
  isUrgent: () => boolean = () => false,
): StopRequest {
  const soft = new AbortController();
  const hard = new AbortController();
  const onSignal = () => {
    if (!soft.signal.aborted) {
      say('Received signal, shutting down...\n');
      soft.abort();
      if (isUrgent()) hard.abort();
    } else hard.abort();
  };
  const endNow = () => {
    soft.abort();
    hard.abort();
  };
  // The terminal has gone: nobody is left to press Ctrl-C a second time.
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', endNow);
  return {
    stopping: soft.signal,
    abort: hard.signal,
    endNow,
    dispose: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('SIGHUP', endNow),
  };
}
