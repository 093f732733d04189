/** Runs the checks in the copies: first without a fault, then with one at a time. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { type Captured, capture } from '../platform/capture.ts';
import { systemClock } from '../platform/clock.ts';
import type { Confinement } from '../platform/confinement.ts';
import type { Env } from '../platform/git.ts';
import { shellCommand } from '../platform/shell.ts';
import type { ThrowAway } from '../workspace/throw-away.ts';
import type { Chosen } from './choose.ts';
import { applyMutant } from './mutant.ts';
import { narrowCommand } from './narrow.ts';

export interface Trials {
  readonly checks: readonly string[];
  readonly env: Env;
  readonly confinement?: Confinement | undefined;
  /** Whatever runs is ended now. */
  readonly stop: AbortSignal;
}

/** A check that is green without a fault. */
export interface TimedCheck {
  readonly command: string;
  /** Milliseconds it took, and those after which it counts as hanging. */
  readonly took: number;
  readonly limit: number;
}

export interface Baseline {
  /** The fastest first. */
  readonly checks: readonly TimedCheck[];
  /** Those in which the checks are green at the same time. */
  readonly copies: readonly ThrowAway[];
}

const SHORTEST_LIMIT = 3_000;
const PATIENCE = 4;

/**
 * In all copies at once, as they will run with faults. Checks that disturb each other, because of a port or a database, would
 * turn red with any fault: then they run one after the other, in one copy.
 */
export async function runBaseline(
  copies: readonly ThrowAway[],
  trials: Trials,
): Promise<Baseline | Problem | 'stopped'> {
  const together = await Promise.all(copies.map(copy => timeChecks(copy, trials)));
  if (trials.stop.aborted) return 'stopped';
  const green = together.filter(each => Array.isArray(each));
  if (green.length === copies.length) return { checks: slowest(green), copies };
  const [first] = copies;
  const alone = first && copies.length > 1 ? await timeChecks(first, trials) : together[0];
  if (trials.stop.aborted) return 'stopped';
  if (alone === undefined || 'what' in alone) return alone ?? 'stopped';
  return { checks: slowest([alone]), copies: copies.slice(0, 1) };
}

function slowest(rounds: readonly (readonly TimedCheck[])[]): readonly TimedCheck[] {
  const [first = []] = rounds;
  return first
    .map(({ command }, nth) => {
      const took = Math.max(...rounds.map(round => round[nth]?.took ?? 0));
      return { command, took, limit: Math.max(SHORTEST_LIMIT, PATIENCE * took) };
    })
    .sort((a, b) => a.took - b.took);
}

async function timeChecks(copy: ThrowAway, trials: Trials): Promise<readonly TimedCheck[] | Problem> {
  const timed: TimedCheck[] = [];
  for (const command of trials.checks) {
    const began = systemClock.ticks();
    const { code, output } = await runCommand(copy, command, trials);
    if (code !== 0)
      return { where: command, what: redWords(code, output), ...(fixOf(copy) && { fix: fixOf(copy) }) };
    timed.push({ command, took: systemClock.ticks() - began, limit: 0 });
  }
  await copy.reset();
  return timed;
}

const SHOWN_OUTPUT = 2_000;

function redWords(code: number, output: string): string {
  const shown = output.trim().slice(-SHOWN_OUTPUT);
  const words = `fails in a clean copy before any fault is in it (exit code ${code})`;
  return shown === '' ? `${words}, and prints nothing` : `${words}:\n${shown}\n`;
}

function fixOf({ notes }: ThrowAway): string {
  return notes.length === 0 ? '' : `${notes.join('; ')}; --setup names a command that makes the copy ready`;
}

/** What is run for one file: the tests that depend on it first, where that is green without a fault, and faster. */
export function createNarrowing(checks: readonly TimedCheck[], trials: Trials) {
  const known = new Map<string, Promise<readonly TimedCheck[]>>();
  const find = async (copy: ThrowAway, file: string): Promise<readonly TimedCheck[]> => {
    const found: TimedCheck[] = [];
    for (const { command, took, limit } of checks) {
      const narrow = narrowCommand(command, file);
      if (narrow === undefined) continue;
      const began = systemClock.ticks();
      const { code } = await runCommand(copy, narrow, trials, limit);
      const seconds = systemClock.ticks() - began;
      if (code === 0 && seconds < took) found.push({ command: narrow, took: seconds, limit });
    }
    if (found.length > 0) await copy.reset();
    return [...found, ...checks];
  };
  /** `copy` is without a fault. */
  return (copy: ThrowAway, file: string): Promise<readonly TimedCheck[]> => {
    const checksOfFile = known.get(file) ?? find(copy, file);
    known.set(file, checksOfFile);
    return checksOfFile;
  };
}

export type Fate = 'noticed' | 'timeout' | 'survived' | 'stopped';

/** The fate of one fault: the first red check decides. */
export async function tryMutant(
  copy: ThrowAway,
  mutant: Chosen,
  checks: readonly TimedCheck[],
  trials: Trials,
): Promise<Fate> {
  writeFileSync(join(copy.cwd, mutant.file), applyMutant(mutant.source, mutant));
  for (const { command, limit } of checks) {
    const { code } = await runCommand(copy, command, trials, limit);
    if (trials.stop.aborted) return 'stopped';
    if (code !== 0) return code === TIMED_OUT ? 'timeout' : 'noticed';
  }
  return 'survived';
}

/** The copy as it was; false where a fault has destroyed even its repository. */
export async function restore(copy: ThrowAway, { file, source }: Chosen): Promise<boolean> {
  if (await copy.reset()) return false;
  // Written and not only reset: what goes by the time of a file must see that it has changed again.
  writeFileSync(join(copy.cwd, file), source);
  return true;
}

/** As timeout(1) has it. */
const TIMED_OUT = 124;

export function runCommand(
  { cwd }: ThrowAway,
  command: string,
  { env, confinement, stop }: Omit<Trials, 'checks'>,
  limit?: number,
): Promise<Captured> {
  return capture(shellCommand(command), {
    cwd,
    // A compiled file of the last fault would be taken for the next one.
    env: { ...env, PYTHONDONTWRITEBYTECODE: '1' },
    signal: stop,
    confinement,
    ...(limit !== undefined && { timeout: limit }),
  });
}
