/** A check on its way: a command behind its wall, or a function of the program that uses the library, which ends with 0 or 1. */
import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { Check, CheckContext, CheckOutcome } from '../domain/checks/check.ts';
import type { Command, Confinement } from '../platform/confinement.ts';
import { errorMessage } from '../platform/error-words.ts';
import { type ProcessEnd, startConfined } from '../platform/process.ts';
import { startTimer } from '../platform/timer.ts';

/** Why it was ended before it had ended by itself. */
export type EndedBy = 'timeout' | 'time-is-up' | 'aborted';

export interface RunningCheck {
  /** Ends it now. */
  stop(why: EndedBy): void;
  readonly done: Promise<{ readonly exitCode: number; readonly endedBy?: EndedBy | 'idle-timeout' }>;
}

/** `fd`: the log that its output is written to. `timeout`: seconds; 0: no limit. */
export async function startCommand(
  command: Command,
  { timeout }: Check,
  fd: number,
  confinement?: Confinement,
): Promise<RunningCheck> {
  const child = await startConfined<EndedBy>(confinement, {
    ...command,
    ...{ stdout: fd, stderr: fd },
    ...(timeout > 0 && { timeout: timeout * 1000 }),
  });
  return {
    stop: why => child.stop(why, 'at-once'),
    done: child.done.then(({ end, endedBy }) => ({ exitCode: exitCodeOf(end), ...(endedBy && { endedBy }) })),
  };
}

function exitCodeOf(end: ProcessEnd): number {
  if (end.kind === 'exited') return end.code;
  if (end.kind === 'signalled') return 128 + constants.signals[end.signal];
  return 127;
}

/** It cannot be ended from outside: what it still does after its signal has fired counts for nothing. */
export function startCall(
  context: Omit<CheckContext, 'signal'>,
  { call, timeout }: Check,
  fd: number,
): RunningCheck {
  const ending = new AbortController();
  const stop = (why: EndedBy) => ending.abort(why);
  const ended = new Promise<EndedBy>(resolve => {
    ending.signal.addEventListener('abort', () => resolve(ending.signal.reason as EndedBy));
  });
  const timer = timeout > 0 ? startTimer(timeout * 1000, () => stop('timeout')) : undefined;
  const answer = Promise.resolve().then(() => call?.({ ...context, signal: ending.signal }));
  const done = Promise.race([answer.then(outcomeOf, failed), ended]).then(outcome => {
    timer?.clear();
    if (typeof outcome === 'string') return { exitCode: 1, endedBy: outcome };
    if (outcome.output) writeSync(fd, outcome.output);
    return { exitCode: outcome.passed ? 0 : 1 };
  });
  return { stop, done };
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
