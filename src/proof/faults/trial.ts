/** Runs the checks in the copies: first without a fault, then with one at a time. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Check, CheckResult } from '../../domain/checks/check.ts';
import { redReason } from '../../domain/checks/words.ts';
import type { Problem } from '../../domain/text/problem.ts';
import type { Confinement } from '../../platform/confinement.ts';
import type { Env } from '../../platform/git.ts';
import type { ThrowAway } from '../../workspace/project-copy.ts';
import type { Protection } from '../../workspace/protect.ts';
import { proveAside } from '../prove.ts';
import type { Chosen } from './choose.ts';
import { applyMutant } from './mutant.ts';
import { narrowCommand } from './narrow.ts';

export interface Trials {
  readonly checks: readonly string[];
  readonly env: Env;
  readonly confinement?: Confinement | undefined;
  /** What no check may change, in the copies either. */
  readonly protection?: Pick<Protection, 'at'> | undefined;
  /** The top of the project, where the copies are not made of it itself. */
  readonly top?: string;
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

function slowest(rounds: readonly (readonly CheckResult[])[]): readonly TimedCheck[] {
  const [first = []] = rounds;
  return first
    .map(({ command }, nth) => {
      const took = Math.max(...rounds.map(round => (round[nth]?.duration ?? 0) * 1000));
      return { command, took, limit: Math.max(SHORTEST_LIMIT, PATIENCE * took) };
    })
    .sort((a, b) => a.took - b.took);
}

async function timeChecks(copy: ThrowAway, trials: Trials): Promise<readonly CheckResult[] | Problem> {
  const results = await proveIn(
    copy,
    trials,
    trials.checks.map(command => timed(command)),
  );
  // Also where it is red: what it left would be there already when it is tried again.
  const problem = await copy.reset();
  const red = results.find(({ passed }) => !passed);
  const fix = `${copy.notes.join('; ')}; --setup names a command that makes the copy ready`;
  if (red)
    return {
      ...redProblem(red, 'fails in a clean copy before any fault is in it'),
      ...(copy.notes.length > 0 && { fix }),
    };
  return problem ?? results;
}

/** Why nothing can be tried: a command that is red without a fault. */
export function redProblem(red: CheckResult, words: string): Problem {
  const shown = red.output.trim();
  const what = `${words} (${red.voided ?? redReason(red)})`;
  return {
    where: red.command,
    what: shown === '' ? `${what}, and prints nothing` : `${what}:\n${shown}\n`,
  };
}

/** What is run for one file: the tests that depend on it first, where that is green without a fault, and faster. */
export function createNarrowing(checks: readonly TimedCheck[], trials: Trials) {
  const known = new Map<string, Promise<readonly TimedCheck[]>>();
  const find = async (copy: ThrowAway, file: string): Promise<readonly TimedCheck[]> => {
    const found: TimedCheck[] = [];
    for (const { command, took, limit } of checks) {
      const narrow = narrowCommand(command, file);
      if (narrow === undefined) continue;
      const [result] = await proveIn(copy, trials, [timed(narrow, limit)]);
      await copy.reset();
      const seconds = (result?.duration ?? 0) * 1000;
      if (result?.passed && seconds < took) found.push({ command: narrow, took: seconds, limit });
    }
    return [...found, ...checks];
  };
  /** `copy` is without a fault. */
  return (copy: ThrowAway, file: string): Promise<readonly TimedCheck[]> => {
    const checksOfFile = known.get(file) ?? find(copy, file);
    known.set(file, checksOfFile);
    return checksOfFile;
  };
}

export interface Fate {
  readonly kind: 'noticed' | 'timeout' | 'survived' | 'stopped';
  /** Why the check that was red does not count. */
  readonly voided?: string;
}

/**
 * The fate of one fault: the first red check decides. One that is void has noticed nothing, so the fault counts as survived: else code could
 * have every check void, and no score would be too low.
 */
export async function tryMutant(
  copy: ThrowAway,
  mutant: Chosen,
  checks: readonly TimedCheck[],
  trials: Trials,
): Promise<Fate> {
  writeFileSync(join(copy.cwd, mutant.file), applyMutant(mutant.source, mutant));
  const tried = checks.map(({ command, limit }) => timed(command, limit));
  const red = (await proveIn(copy, trials, tried)).find(({ passed }) => !passed);
  if (trials.stop.aborted) return { kind: 'stopped' };
  if (!red) return { kind: 'survived' };
  if (red.voided !== undefined) return { kind: 'survived', voided: red.voided };
  return { kind: red.timedOut ? 'timeout' : 'noticed' };
}

/** The copy as it was; false where a fault has destroyed even its repository. */
export async function restore(copy: ThrowAway, { file, source }: Chosen): Promise<boolean> {
  if (await copy.reset()) return false;
  // Written and not only reset: what goes by the time of a file must see that it has changed again.
  writeFileSync(join(copy.cwd, file), source);
  return true;
}

/** `limit`: milliseconds. */
function timed(command: string, limit = 0): Check {
  return { command, failAction: 'APPEND', timeout: limit / 1000 };
}

/** Until one is red. */
export function proveIn(
  copy: ThrowAway,
  { env, confinement: wall, stop: abort, protection, top = copy.from }: Omit<Trials, 'checks'>,
  checks: readonly Check[],
  setup?: string,
): Promise<readonly CheckResult[]> {
  const { cwd, to } = copy;
  // A compiled file of the last fault would be taken for the next one.
  const own = { ...env, PYTHONDONTWRITEBYTECODE: '1' };
  return proveAside(
    { cwd, env: own, checks, wall, abort, untilRed: true },
    {
      ...{ from: top, to, cwd, protected: protection?.at(to, join(copy.beside, 'aside')) },
      ...(setup !== undefined && { setup: timed(setup) }),
    },
  );
}
