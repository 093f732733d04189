/** Runs checks where the caller says: in order or at once, each to its end or its timeout, again where that is asked for. */
import { relative } from 'node:path';
import { type Check, type CheckResult, isGreen, slugsOf } from '../domain/checks/check.ts';
import type { Room } from '../domain/checks/failure.ts';
import type { Emit } from '../domain/run/event.ts';
import { listSome } from '../domain/text/feedback.ts';
import { createRedactor } from '../domain/text/secrets.ts';
import { leftOutNotice } from '../platform/capped-file.ts';
import { type Clock, secondsSince } from '../platform/clock.ts';
import type { Confinement } from '../platform/confinement.ts';
import { ensureFolder } from '../platform/files.ts';
import { shellCommand } from '../platform/shell.ts';
import { startTimer } from '../platform/timer.ts';
import { checkName, childTrace, iterationName } from '../platform/trace.ts';
import type { IterationPaths } from '../store/paths.ts';
import type { RoundWatch } from './integrity.ts';
import { openLog } from './log.ts';
import { startCall, startCommand } from './start-check.ts';

export interface CheckRound {
  readonly checks: readonly Check[];
  /** Counted from 1; 0: before the first, or there is none. */
  readonly iteration: number;
  readonly paths: IterationPaths;
  /** The place of a log where the user looks for it; the one in the run's folder where there is none. */
  publish?(log: string, slug: string): string;
  readonly cwd: string;
  /** What `logFile` is relative to. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What agents and checks run in; only the part for checks is of interest here. */
  readonly sandbox?: { readonly checks: Confinement };
  /** How much of the output is kept for the prompt, and which end of it where no failure is found in it. */
  readonly excerpt: Room;
  readonly keep: RoundWatch;
  /** A check is gone: called before anything is written to Ralph's own folder. */
  secure?(): void;
  /** They run in a clean checkout. */
  readonly clean?: true;
  /** Folders that look empty to them, where there is a wall. */
  readonly hide?: readonly string[] | undefined;
  /** A folder of their own, which they may write instead of the one that the agent wrote to. */
  readonly room?: string | undefined;
  /** What is committed is checked: what of the work tree is not in it. */
  readonly without?: readonly string[] | undefined;
  /** Makes that checkout ready; where it fails, no check is run. Its index is behind those of the checks. */
  readonly setup?: Check | undefined;
  /** How often each has failed first in a round before this one, by its index. */
  readonly flaked?: ReadonlyMap<number, number>;
  /** The command as it is run, where that is not how it is shown. */
  spell?(command: string): string;
  /** The first red one is the last. */
  readonly untilRed?: true;
  readonly parallel: boolean;
  readonly retries: number;
  /** The trace of the run, where there is one. */
  readonly trace?: string;
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
  if (round.checks.length > 0 || round.setup) ensureFolder(round.paths.checks);
  const all = round.checks.map((check, index) => ({ check, index, slug: slugs[index] ?? String(index) }));
  const results: CheckResult[] = [];
  let spoilt: string | undefined;
  if (round.setup && !round.stopping.aborted) {
    const setup = { check: round.setup, index: all.length, slug: 'setup', isSetup: true } as const;
    const { ended } = await runBatch(round, [setup], undefined);
    results.push(...ended);
    if (!isGreen(ended)) return results;
  }
  // What runs at the same time cannot be distinguished: it is looked at together.
  for (const batch of round.parallel ? [all] : all.map(each => [each])) {
    if (batch.length === 0 || round.stopping.aborted || isTimeUp(round)) break;
    const { ended, voided } = await runBatch(round, batch, spoilt);
    spoilt ??= voided && `a check before it is void: ${voided}`;
    results.push(...ended);
    if (round.untilRed && !isGreen(ended)) break;
  }
  return results;
}

interface Task {
  readonly check: Check;
  readonly index: number;
  readonly slug: string;
  readonly isSetup?: true;
}

/** `spoilt`: why nothing of it counts, before it begins. It runs all the same: what it prints helps. */
async function runBatch(round: CheckRound, batch: readonly Task[], spoilt: string | undefined) {
  const { emit, clean } = round;
  for (const { index, check } of batch)
    emit({ type: 'check-started', index, command: check.command, ...(clean && { clean }) });
  const results = new Map<number, CheckResult>();
  let voided: string | undefined;
  let left = batch;
  // A try that is void is not tried again: the next one would hide it.
  for (let failed = 0; failed <= round.retries && left.length > 0 && voided === undefined; failed++) {
    if (failed > 0 && (round.stopping.aborted || isTimeUp(round))) break;
    const tried = await tryTogether(round, left);
    voided = tried.voided;
    for (const result of tried.results) {
      const flaked = failed > 0 ? failed : round.flaked?.get(result.index);
      results.set(result.index, result.passed && flaked ? { ...result, flaked } : result);
    }
    left = left.filter(({ index }) => !results.get(index)?.passed);
  }
  const why = voided ?? spoilt;
  const ended = batch.flatMap(({ index }) => results.get(index) ?? []).map(result => marked(result, why));
  for (const result of ended) emit({ type: 'check-ended', result });
  return { ended, voided };
}

function marked(result: CheckResult, voided: string | undefined): CheckResult {
  return voided === undefined ? result : { ...result, passed: false, voided };
}

/** One try of each, and what was changed meanwhile that may not be. */
async function tryTogether(round: CheckRound, tasks: readonly Task[]) {
  const { keep } = round;
  const meanwhile = await keep.before();
  const ended = await Promise.all(tasks.map(task => runCheck(round, task)));
  const results = ended.filter(result => result !== undefined);
  const isSetup = tasks.some(each => each.isSetup);
  const own = await keep.after(tasks.map(({ check }) => check.command).join(' & '), isSetup);
  const whose = tasks.length === 1 ? 'it' : 'one of the checks that ran together';
  const voided =
    own.length > 0
      ? `${whose} changed what is protected (${listSome(own)})`
      : meanwhile.length > 0
        ? `something still running changed what is protected before it (${listSome(meanwhile)})`
        : undefined;
  return { results, voided };
}

function isTimeUp({ timeLeft }: CheckRound): boolean {
  return timeLeft !== undefined && timeLeft() <= 0;
}

function traceOf({ trace, iteration, clean }: CheckRound, index: number) {
  if (trace === undefined) return {};
  const around = iteration > 0 ? [iterationName(iteration)] : []; // the baseline is in none
  return { TRACEPARENT: childTrace(trace, ...around, checkName(index, clean)) };
}

/** undefined: it was ended with the run, or the time was up before it had ended: that says nothing about it. */
async function runCheck(
  round: CheckRound,
  { check, index, slug, isSetup }: Task,
): Promise<CheckResult | undefined> {
  const { clock } = round;
  const began = clock.ticks();
  const name = round.clean ? `clean-${slug}` : round.without ? `commit-${slug}` : slug;
  const path = round.paths.check(name);
  const redact = createRedactor(round.env);
  const log = openLog(path, redact);
  const { exitCode, endedBy } = await runToEnd(round, check, index, log.fd);
  round.secure?.();
  const leftOut = log.end();
  if (leftOut > 0) warnOfLength(round, check, leftOut);
  const timedOut = endedBy === 'timeout';
  const passed = exitCode === 0 && !timedOut;
  const { text, cut } = log.excerpt({ ...round.excerpt, passed });
  const counts = log.count(passed);
  const logHash = log.close();
  if (endedBy === 'time-is-up' || endedBy === 'aborted') return undefined;
  const { command, failAction, hint } = check;
  return {
    index,
    command,
    failAction,
    ...(hint && { hint }),
    ...(round.clean && { clean: round.clean }),
    ...(round.without && { without: round.without }),
    ...(isSetup && { isSetup }),
    passed,
    exitCode: timedOut ? TIMED_OUT : exitCode,
    timedOut,
    duration: secondsSince(clock, began),
    output: redact(text),
    outputCut: cut,
    ...counts,
    logFile: relative(round.root, round.publish?.(path, name) ?? path),
    ...(logHash !== undefined && { logHash }),
  };
}

/** To its end, unless the run ends or its time is up before. */
async function runToEnd(round: CheckRound, check: Check, index: number, fd: number) {
  const { cwd, env, iteration, clean = false, hide, room, abort, timeLeft } = round;
  const running = check.call
    ? startCall({ cwd, env, iteration, clean }, check, fd)
    : await startCommand(
        {
          argv: shellCommand(round.spell?.(check.command) ?? check.command),
          cwd,
          env: { ...env, ...traceOf(round, index) },
          ...(hide && { hide }),
          ...(room !== undefined && { room }),
        },
        check,
        fd,
        round.sandbox?.checks,
      );
  const stop = () => running.stop('aborted');
  abort.addEventListener('abort', stop);
  if (abort.aborted) stop(); // while the wall was put up
  const deadline = timeLeft && startTimer(timeLeft(), () => running.stop('time-is-up'));
  const ended = await running.done;
  deadline?.clear();
  abort.removeEventListener('abort', stop);
  return ended;
}

function warnOfLength({ emit }: CheckRound, { command }: Check, bytes: number): void {
  emit({ type: 'notice', level: 'warning', text: leftOutNotice(`What \`${command}\` printed`, bytes) });
}

/** As timeout(1) has it. */
const TIMED_OUT = 124;
