/** A request to stop a run: by a signal, by a message, by the library's caller, or because the disk fails. */
import type { StopReason } from '../domain/run/stop-reason.ts';

export interface StopRequest {
  /** Fired by the first request: no further step is begun. */
  readonly stopping: AbortSignal;
  /** Fired by one that does not wait: whatever runs is ended now. */
  readonly abort: AbortSignal;
  /** Fired by one more of these: also what takes away what was made is ended. */
  readonly insisted: AbortSignal;
  /** The first reason stays. */
  request(reason: StopReason, how: 'now' | 'after-this-step', detail?: string): void;
  /** undefined: nobody has asked. */
  requested(): { readonly reason: StopReason; readonly detail?: string } | undefined;
}

export function createStopRequest(): StopRequest {
  const stopping = new AbortController();
  const abort = new AbortController();
  const insisted = new AbortController();
  let first: ReturnType<StopRequest['requested']>;
  return {
    stopping: stopping.signal,
    abort: abort.signal,
    insisted: insisted.signal,
    request(reason, how, detail) {
      first ??= { reason, ...(detail !== undefined && { detail }) };
      stopping.abort();
      if (how === 'now') (abort.signal.aborted ? insisted : abort).abort();
    },
    requested: () => first,
  };
}

/** Ended by whoever does not want to wait. A verdict that came first is the run's own end: nobody resumes that to learn what is left out here. */
export function isBrokenOff({ abort, requested }: StopRequest, reason: StopReason): boolean {
  return abort.aborted && requested()?.reason === reason;
}
