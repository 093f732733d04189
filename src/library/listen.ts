/** Those who listen to a run, and those who may stop it: the functions and the signal of a program. */
import type { RecordedEvent } from '../domain/run/event.ts';
import type { LoopResult } from '../domain/run/result.ts';
import type { RunState } from '../domain/run/state.ts';
import { errorMessage } from '../platform/error-words.ts';
import type { StopRequest } from '../run/stop.ts';
import type { RunOptions } from './config.ts';
import { anyOf, holds, type RunProgress } from './stop-when.ts';

type Listening = Pick<RunOptions, 'signal' | 'stopWhen' | 'onEvent' | 'onIteration'>;

export function createListener({ signal, stopWhen, onEvent, onIteration }: Listening, stop: StopRequest) {
  const condition = anyOf(...(stopWhen === undefined ? [] : [stopWhen].flat()));
  let failure: { readonly error: unknown } | undefined;
  const cancel = () => stop.request('cancelled', 'now', reasonOf(signal?.reason));
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  /** What a program throws ends the run, and is thrown to it when that is over. */
  const guarded = (call: () => void) => {
    try {
      call();
    } catch (error) {
      failure ??= { error };
      stop.request('cancelled', 'now', `A function of the program failed: ${errorMessage(error)}`);
    }
  };
  const ended = (past: RunState) => {
    const progress = progressOf(past);
    if (!progress) return;
    onIteration?.(progress.latest);
    const words = holds(condition, progress);
    if (words !== undefined) stop.request('cancelled', 'after-this-step', `stopWhen: ${words}`);
  };
  return {
    onEvent(event: RecordedEvent, past: RunState): void {
      guarded(() => onEvent?.(event));
      if (event.type === 'iteration-ended') guarded(() => ended(past));
    },
    onChildEvent(event: RecordedEvent): void {
      guarded(() => onEvent?.(event));
    },
    /** The result, unless a function of the program has failed. */
    conclude(result: LoopResult): LoopResult {
      if (failure) throw failure.error;
      return result;
    },
    close: () => signal?.removeEventListener('abort', cancel),
  };
}

function progressOf({ results, totals, time }: RunState): RunProgress | undefined {
  const latest = results.at(-1);
  if (!latest) return undefined;
  const { usage } = totals;
  return {
    latest,
    iterations: results,
    totalCost: usage?.cost ?? null,
    totalTokens: usage?.tokens ?? null,
    elapsed: time.elapsed,
  };
}

/** `abort()` without a reason says nothing that the stop reason does not. */
function reasonOf(reason: unknown): string | undefined {
  const isPlain = reason instanceof Error && reason.name === 'AbortError';
  return reason === undefined || isPlain ? undefined : errorMessage(reason);
}
