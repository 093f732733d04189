/** Ctrl-C. The first SIGINT or SIGTERM lets the current step finish; the second ends everything at once. */
import { createStopRequest } from '../run/stop.ts';
import { pause } from '../run/wait.ts';
import type { Output } from './output.ts';

export function listenForSignals(say: (text: string) => void, stop = createStopRequest()) {
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

/** For a command that ends with its work, or with Ctrl-C. */
export async function untilStopped<Result>(act: (stopping: AbortSignal) => Promise<Result>): Promise<Result> {
  const { stopping, dispose } = listenForSignals(() => {});
  try {
    return await act(stopping);
  } finally {
    dispose();
  }
}

const LOOK_EVERY = 1_000;

/** Shows it again whenever it changes: on a terminal in its place, elsewhere below each other; of more lines than fit, the last ones. `room`: how many do. */
export function watch(output: Output, look: (room: number) => Promise<string>): Promise<0> {
  const inPlace = output.humanIsTTY && !output.json;
  let shown = '';
  return untilStopped<0>(async stopping => {
    while (!stopping.aborted) {
      const next = await look(room());
      if (next !== shown && inPlace) output.draw(erased(shown));
      if (next !== shown) output.answer(inPlace ? fitting(next) : next);
      shown = inPlace ? fitting(next) : next;
      await pause(LOOK_EVERY, stopping);
    }
    return 0;
  });
}

function erased(shown: string): string {
  const lines = shown.split('\n').length - 1;
  return lines === 0 ? '' : `\x1b[${lines}F\x1b[J`;
}

function fitting(text: string): string {
  const lines = text.trimEnd().split('\n');
  return `${lines.slice(-room()).join('\n')}\n`;
}

/** Lines of the terminal; of another place as many as one shows that does not say. */
function room(): number {
  return (process.stdout.rows || 24) - 1;
}
