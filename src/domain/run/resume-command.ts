/** How to continue a run that has stopped: the command that can be pasted, with a raised limit where one stopped it. */
import { parentOf } from '../lanes/board.ts';
import { dollars, totalTokens } from '../turn/usage.ts';
import type { Limits } from './limits.ts';
import type { LoopResult } from './result.ts';
import { endingOf, type LimitFlag } from './stop-reason.ts';

/** What a run has used, as its result or its ledger says; null: unknown. */
export interface Used {
  readonly iterations: number;
  readonly cost: number | null;
  readonly tokens: number | null;
  readonly seconds: number;
}

export interface Raise {
  readonly flag: LimitFlag;
  /** What to raise it to: twice what was used. */
  readonly to: number;
  /** `2 of 2 used`. */
  readonly words: string;
}

/** How to raise the limit that stopped a run; undefined: no limit did, or it is not known. */
export function raiseOf(reason: string, limits: Partial<Limits> | undefined, used: Used): Raise | undefined {
  if (!limits) return undefined;
  const set = endingOf(reason).raise.flatMap(flag => raiseFor(flag, limits, used) ?? []);
  return set.find(({ isReached }) => isReached) ?? set[0];
}

const AMOUNTS: Readonly<
  Record<
    LimitFlag,
    (limits: Partial<Limits>, used: Used) => readonly [number | undefined, number | null, string]
  >
> = {
  'max-iterations': (limits, used) => [limits.maxIterations || undefined, used.iterations, ''],
  'max-cost': (limits, used) => [limits.maxCost, used.cost, ''],
  'max-tokens': (limits, used) => [limits.maxTokens, used.tokens, ' tokens'],
  'max-time': (limits, used) => [limits.maxTime, used.seconds, ' seconds'],
};

function raiseFor(flag: LimitFlag, limits: Partial<Limits>, used: Used) {
  const [limit, amount, unit] = AMOUNTS[flag](limits, used);
  if (limit === undefined) return undefined;
  const inSteps = (value: number, round: (value: number) => number) =>
    flag === 'max-cost' ? round(value * 100) / 100 : round(value);
  const to = Math.max(inSteps(2 * Math.max(limit, amount ?? 0), Math.ceil), limit);
  const say = (value: number) => (flag === 'max-cost' ? dollars(value) : String(inSteps(value, Math.round)));
  const words =
    amount === null ? `the limit was ${say(limit)}${unit}` : `${say(amount)} of ${say(limit)}${unit} used`;
  return { flag, to, words, isReached: amount !== null && amount >= limit };
}

export interface KnownLimits {
  readonly limits?: Limits | null | undefined;
  readonly maxIterations?: number | undefined;
}

/** The same from its result. A parallel run has no verdict that says its limits; how many iterations it may have is known from its start. */
export function raiseIn(
  result: Omit<LoopResult, 'iterations'>,
  iterations: number,
  { limits, maxIterations }: KnownLimits,
): Raise | undefined {
  const { stopReason, lanes, totalCost: cost, totalTokens: tokens, totalDuration: seconds } = result;
  return raiseOf(stopReason, limits ?? (lanes && maxIterations ? { maxIterations } : undefined), {
    ...{ cost, seconds, tokens: totalTokens(tokens ?? undefined) ?? null },
    iterations: lanes ? lanes.reduce((sum, lane) => sum + (lane.iterations ?? 0), 0) : iterations,
  });
}

/** `ralph resume ID --max-iterations 4`: of a run that belongs to another the id of that one; null: the latest needs none. Where nobody knows the limit, the user has to name the new one. */
export function resumeCommand(runId: string | null, reason: string, raise: Raise | undefined): string {
  const {
    raise: [first],
    resumeWith,
  } = endingOf(reason);
  const flag = raise ? ` --${raise.flag} ${raise.to}` : first === undefined ? '' : ` --${first} <more>`;
  const given = resumeWith === undefined ? '' : ` ${resumeWith}`;
  const which = runId === null ? '' : ` ${parentOf(runId) ?? runId}`;
  return `ralph resume${which}${flag}${given}`;
}
