/** Runs the checks of an iteration: in order or at once, each to its end or its timeout, again where that is asked for. */
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { relative } from 'node:path';
import { type Check, type CheckResult, slugsOf } from '../domain/check.ts';
import type { Emit } from '../domain/event.ts';
import { createRedactor } from '../domain/secrets.ts';
import { type Clock, secondsSince } from '../platform/clock.ts';
import type { Confinement } from '../platform/confinement.ts';
import { ensureFolder } from '../platform/files.ts';
import { type ProcessEnd, startConfined } from '../platform/process.ts';
import { redactFile } from '../platform/redact-file.ts';
import { shellCommand } from '../platform/shell.ts';
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
}

/** In the order of the configuration. Fewer results than checks only when `stopping` fired. */
export async function runChecks(round: CheckRound): Promise<readonly CheckResult[]> {
  const slugs = slugsOf(round.checks.map(({ command }) => command));
  if (round.checks.length > 0) ensureFolder(round.paths.checks);
  const one = async (check: Check, index: number): Promise<CheckResult | undefined> => {
    if (round.stopping.aborted) return undefined;
    round.emit({ type: 'check-started', index, command: check.command });
    const result = await untilItPasses(round, check, index, slugs[index] ?? String(index));
    round.emit({ type: 'check-ended', result });
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
): Promise<CheckResult> {
  let result = await runCheck(round, check, index, slug);
  for (let failed = 1; failed <= round.retries && !result.passed && !round.stopping.aborted; failed++) {
    const next = await runCheck(round, check, index, slug);
    result = next.passed ? { ...next, flaked: failed } : next;
  }
  return result;
}

async function runCheck(round: CheckRound, check: Check, index: number, slug: string): Promise<CheckResult> {
  const { clock, abort } = round;
  const began = clock.ticks();
  const log = round.paths.check(slug);
  const fd = openSync(log, 'w', 0o600);
  const child = await startConfined<'aborted'>(round.sandbox?.checks, {
    argv: shellCommand(check.command),
    cwd: round.cwd,
    env: round.env,
    stdout: fd,
    stderr: fd,
    ...(check.timeout > 0 && { timeout: check.timeout * 1000 }),
  });
  const stop = () => child.stop('aborted', 'at-once');
  abort.addEventListener('abort', stop);
  if (abort.aborted) stop();
  const { end, endedBy } = await child.done;
  abort.removeEventListener('abort', stop);
  closeSync(fd);

  const redact = createRedactor(round.env);
  redactFile(log, redact);
  const timedOut = endedBy === 'timeout';
  const exitCode = timedOut ? TIMED_OUT : exitCodeOf(end);
  const { text, cut } = excerptOf(log, round.excerpt);
  const { command, failAction, hint } = check;
  return {
    index,
    command,
    failAction,
    ...(hint && { hint }),
    passed: exitCode === 0 && endedBy === undefined,
    exitCode,
    timedOut,
    duration: secondsSince(clock, began),
    output: redact(text),
    outputCut: cut,
    logFile: relative(round.root, round.publish?.(log, slug) ?? log),
  };
}

/** As timeout(1) has it. */
const TIMED_OUT = 124;

function exitCodeOf(end: ProcessEnd): number {
  if (end.kind === 'exited') return end.code;
  if (end.kind === 'signalled') return 128 + constants.signals[end.signal];
  return 127;
}
