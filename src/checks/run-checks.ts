/** Runs the checks of an iteration, in order, each to its end or to its timeout. */
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { relative } from 'node:path';
import { type Check, type CheckResult, slugOf } from '../domain/check.ts';
import type { Emit } from '../domain/event.ts';
import { type Clock, secondsSince } from '../platform/clock.ts';
import { ensureFolder, fileSize, linkOver, readSlice } from '../platform/files.ts';
import { type ProcessEnd, startProcess } from '../platform/process.ts';
import { shellCommand } from '../platform/shell.ts';
import type { IterationPaths, ProjectPaths } from '../store/paths.ts';

export interface CheckRound {
  readonly checks: readonly Check[];
  readonly iteration: number;
  readonly project: ProjectPaths;
  readonly paths: IterationPaths;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How many characters of the output are kept for the prompt. */
  readonly outputChars: number;
  readonly clock: Clock;
  readonly emit: Emit;
  /** No further check is started. */
  readonly stopping: AbortSignal;
  /** The one that runs is ended at once. */
  readonly abort: AbortSignal;
}

/** Fewer results than checks only when `stopping` fired. */
export async function runChecks(round: CheckRound): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  const slugs = uniqueSlugs(round.checks);
  if (round.checks.length > 0) ensureFolder(round.paths.checks);
  for (const [index, check] of round.checks.entries()) {
    if (round.stopping.aborted) break;
    round.emit({ type: 'check-started', index, command: check.command });
    const result = await runCheck(round, check, index, slugs[index] ?? String(index));
    round.emit({ type: 'check-ended', result });
    results.push(result);
  }
  return results;
}

/** Two commands may have the same short form; their logs must not overwrite each other. */
function uniqueSlugs(checks: readonly Check[]): readonly string[] {
  const taken = new Set<string>();
  return checks.map(({ command }) => {
    const slug = slugOf(command);
    let name = slug;
    for (let number = 2; taken.has(name); number++) name = `${slug}_${number}`;
    taken.add(name);
    return name;
  });
}

async function runCheck(round: CheckRound, check: Check, index: number, slug: string): Promise<CheckResult> {
  const { clock, project, abort } = round;
  const began = clock.ticks();
  const log = round.paths.check(slug);
  const fd = openSync(log, 'w', 0o600);
  const child = startProcess<'aborted'>({
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

  const publicLog = project.guardrailLog(round.iteration, slug);
  linkOver(log, publicLog);
  const timedOut = endedBy === 'timeout';
  const exitCode = timedOut ? TIMED_OUT : exitCodeOf(end);
  const { text, cut } = head(log, round.outputChars);
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
    output: text,
    outputCut: cut,
    logFile: relative(project.root, publicLog),
  };
}

/** As timeout(1) has it. */
const TIMED_OUT = 124;

function exitCodeOf(end: ProcessEnd): number {
  if (end.kind === 'exited') return end.code;
  if (end.kind === 'signalled') return 128 + constants.signals[end.signal];
  return 127;
}

/** The first characters of a file that may be far larger than that. */
function head(path: string, chars: number): { readonly text: string; readonly cut: boolean } {
  const text = readSlice(path, 0, chars * 4);
  const whole = text.length <= chars && fileSize(path) <= chars * 4;
  if (whole) return { text, cut: false };
  const lastUnit = text.charCodeAt(chars - 1);
  const splitsPair = lastUnit >= 0xd800 && lastUnit <= 0xdbff;
  return { text: text.slice(0, splitsPair ? chars - 1 : chars), cut: true };
}
