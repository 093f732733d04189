/** The first SIGINT or SIGTERM lets the current step finish; the second ends everything at once. */
import { createStopRequest } from '../engine/stop.ts';

export interface Signals {
  readonly stopping: AbortSignal;
  /** Stops listening. */
  dispose(): void;
}

export function listenForSignals(say: (text: string) => void, stop = createStopRequest()): Signals {
  const onSignal = () => {
    if (stop.stopping.aborted) return stop.request('interrupted', 'now');
    say('Received signal, shutting down... after this turn. Press Ctrl-C again to stop now.\n');
    stop.request('interrupted', 'after-this-step');
  };
  // The terminal is gone: nobody is left to press Ctrl-C a second time.
  const onHangUp = () => stop.request('interrupted', 'now');
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onHangUp);
  return {
    stopping: stop.stopping,
    dispose: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('SIGHUP', onHangUp),
  };
}
