/** Runs the checks of an iteration: in order or at once, each to its end or its timeout, again where that is asked for. */
import { constants } from 'node:os';
import { relative } from 'node:path';
import { type Check, type CheckResult, slugsOf } from '../domain/check.ts';
import type { Emit } from '../domain/event.ts';
import { createRedactor } from '../domain/secrets.ts';
import { leftOutNotice, openCapped } from '../platform/capped-file.ts';
import { type Clock, secondsSince } from '../platform/clock.ts';
import type { Confinement } from '../platform/confinement.ts';
import { ensureFolder } from '../platform/files.ts';
import { type ProcessEnd, startConfined } from '../platform/process.ts';
import { redactFile } from '../platform/redact-file.ts';
import { shellCommand } from '../platform/shell.ts';
import { startTimer } from '../platform/timer.ts';
import type { IterationPaths } from '../store/paths.ts';
import { type Excerpt, excerptOf } from './excerpt.ts';

export interface CheckRound {
  readonly checks: readonly Check[];
  readonly paths: IterationPaths;
  /** The place of a log where the user looks for it; the one in the run's folder where there is none. */
  publish?(log: string, slug: string): string;
  readonly cwd: string;
  /** What `logFile` is relative to. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What agents and checks run in; only the part for checks is of interest here. */
  readonly sandbox?: { readonly checks: Confinement };
  /** How much of the output is kept for the prompt, and which end of it. */
  readonly excerpt: Excerpt;
  readonly parallel: boolean;
  readonly retries: number;
  readonly clock: Clock;
  readonly emit: Emit;
  /** No further check is started. */
  readonly stopping: AbortSignal;
  /** The one that runs is ended at once. */
  readonly abort: AbortSignal;
  /** Milliseconds until the time of the run is up: then the one that runs is ended, and no other is started. Absent: no limit. */
  timeLeft?(): number;
}

/** In the order of the configuration. Fewer results than checks only when `stopping` fired or the time is up. */
export async function runChecks(round: CheckRound): Promise<readonly CheckResult[]> {
  const slugs = slugsOf(round.checks.map(({ command }) => command));
  if (round.checks.length > 0) ensureFolder(round.paths.checks);
  const one = async (check: Check, index: number): Promise<CheckResult | undefined> => {
    if (round.stopping.aborted || isTimeUp(round)) return undefined;
    round.emit({ type: 'check-started', index, command: check.command });
    const result = await untilItPasses(round, check, index, slugs[index] ?? String(index));
    // What we ended ourselves is no evidence.
    if (result) round.emit({ type: 'check-ended', result });
    return result;
  };
  const results: (CheckResult | undefined)[] = [];
  if (round.parallel) results.push(...(await Promise.all(round.checks.map(one))));
  else for (const [index, check] of round.checks.entries()) results.push(await one(check, index));
  return results.filter(result => result !== undefined);
}

async function untilItPasses(
  round: CheckRound,
  check: Check,
  index: number,
  slug: string,
): Promise<CheckResult | undefined> {
  let result = await runCheck(round, check, index, slug);
  for (let failed = 1; failed <= round.retries && result?.passed === false; failed++) {
    if (round.stopping.aborted) break;
    const next = await runCheck(round, check, index, slug);
    result = next?.passed ? { ...next, flaked: failed } : next;
  }
  return result;
}

function isTimeUp({ timeLeft }: CheckRound): boolean {
  return timeLeft !== undefined && timeLeft() <= 0;
}

/** undefined: it was ended with the run, or the time was up before it had ended: that says nothing about it. */
async function runCheck(
  round: CheckRound,
  check: Check,
  index: number,
  slug: string,
): Promise<CheckResult | undefined> {
  const { clock, abort } = round;
  const began = clock.ticks();
  const log = round.paths.check(slug);
  const file = openCapped(log, 'anew');
  const child = await startConfined<'aborted' | 'time-is-up'>(round.sandbox?.checks, {
    argv: shellCommand(check.command),
    cwd: round.cwd,
    env: round.env,
    stdout: file.fd,
    stderr: file.fd,
    ...(check.timeout > 0 && { timeout: check.timeout * 1000 }),
  });
  const stop = () => child.stop('aborted', 'at-once');
  abort.addEventListener('abort', stop);
  if (abort.aborted) stop();
  const deadline = round.timeLeft && startTimer(round.timeLeft(), () => child.stop('time-is-up', 'at-once'));
  const { end, endedBy } = await child.done;
  deadline?.clear();
  abort.removeEventListener('abort', stop);
  const leftOut = file.close();
  if (leftOut > 0) warnOfLength(round, check, leftOut);

  const redact = createRedactor(round.env);
  redactFile(log, redact);
  if (endedBy === 'time-is-up' || endedBy === 'aborted') return undefined;
  const timedOut = endedBy === 'timeout';
  const exitCode = timedOut ? TIMED_OUT : exitCodeOf(end);
  const { text, cut } = excerptOf(log, round.excerpt);
  const { command, failAction, hint } = check;
  return {
    index,
    command,
    failAction,
    ...(hint && { hint }),
    passed: exitCode === 0,
    exitCode,
    timedOut,
    duration: secondsSince(clock, began),
    output: redact(text),
    outputCut: cut,
    logFile: relative(round.root, round.publish?.(log, slug) ?? log),
  };
}

function warnOfLength({ emit }: CheckRound, { command }: Check, bytes: number): void {
  emit({ type: 'notice', level: 'warning', text: leftOutNotice(`What \`${command}\` printed`, bytes) });
}

/** As timeout(1) has it. */
const TIMED_OUT = 124;

function exitCodeOf(end: ProcessEnd): number {
  if (end.kind === 'exited') return end.code;
  if (end.kind === 'signalled') return 128 + constants.signals[end.signal];
  return 127;
}
