/** A check that is a function of the program that uses the library: as a command that ends with 0 or 1. */
import { writeSync } from 'node:fs';
import type { CheckContext, CheckFunction, CheckOutcome } from '../domain/check.ts';
import { errorMessage } from '../platform/error-words.ts';
import { startTimer } from '../platform/timer.ts';

export interface CheckCall {
  readonly context: Omit<CheckContext, 'signal'>;
  /** Milliseconds; absent: no limit. */
  readonly timeout?: number | undefined;
  /** Milliseconds until the time of the run is up; absent: no limit. */
  readonly timeLeft?: number | undefined;
  /** The run ends at once. */
  readonly abort: AbortSignal;
  /** The log that its output is written to. */
  readonly fd: number;
}

export type CallEnd = 'timeout' | 'time-is-up' | 'aborted';

/** It cannot be ended from outside: what it still does after its signal has fired counts for nothing. */
export async function callCheck(
  check: CheckFunction,
  { context, timeout, timeLeft, abort, fd }: CheckCall,
): Promise<{ readonly exitCode: number; readonly endedBy?: CallEnd }> {
  const ending = new AbortController();
  const ended = new Promise<CallEnd>(resolve => {
    ending.signal.addEventListener('abort', () => resolve(ending.signal.reason as CallEnd));
  });
  const end = (by: CallEnd) => ending.abort(by);
  const onAbort = () => end('aborted');
  abort.addEventListener('abort', onAbort);
  if (abort.aborted) onAbort();
  const timers = [
    ...(timeout === undefined ? [] : [startTimer(timeout, () => end('timeout'))]),
    ...(timeLeft === undefined ? [] : [startTimer(timeLeft, () => end('time-is-up'))]),
  ];
  const answer = Promise.resolve().then(() => check({ ...context, signal: ending.signal }));
  const outcome = await Promise.race([answer.then(outcomeOf, failed), ended]);
  for (const timer of timers) timer.clear();
  abort.removeEventListener('abort', onAbort);
  if (typeof outcome === 'string') return { exitCode: 1, endedBy: outcome };
  if (outcome.output) writeSync(fd, outcome.output);
  return { exitCode: outcome.passed ? 0 : 1 };
}

/** A function of JavaScript may answer anything. */
function outcomeOf(value: unknown): CheckOutcome {
  const { passed, output } = (value ?? {}) as Partial<CheckOutcome>;
  if (typeof passed !== 'boolean')
    return {
      passed: false,
      output: 'The check answered nothing that has `passed: true` or `passed: false`.',
    };
  return { passed, output: output === undefined ? '' : String(output) };
}

function failed(error: unknown): CheckOutcome {
  return { passed: false, output: errorMessage(error) };
}
