/** Sums over the lanes of a board, for results and readers. */

import { type Mutation, mutationScore } from '../checks/mutation.ts';
import { defined } from '../text/fields.ts';
import { addUsage, type Usage } from '../turn/usage.ts';
import type { Board, Lane, LaneState } from './board.ts';

/** The sum of what is known to have been used. */
export function boardUsage({ lanes, extra }: Board): Usage | undefined {
  return sumUsage([...lanes.flatMap(({ used }) => Object.values(used)), ...(extra ? [extra] : [])]);
}

export function laneUsage({ used }: Pick<Lane, 'used'>): Usage | undefined {
  return sumUsage(Object.values(used));
}

function sumUsage(all: readonly Usage[]): Usage | undefined {
  return all.length === 0 ? undefined : all.reduce(addUsage);
}

/** What became of a lane: for `--json`. */
export interface LaneOutcome {
  readonly id: string;
  readonly title: string;
  readonly state: LaneState;
  readonly commit: string | null;
  readonly returns: number;
  readonly iterations: number;
  /** Dollars; null: unknown, which is not zero. */
  readonly cost: number | null;
  readonly runs: readonly string[];
  readonly why?: string;
  /** Of several attempts: why it is this one that landed. */
  readonly chosen?: string;
}

export function laneOutcome(lane: Lane): LaneOutcome {
  const { id, title, state, commit = null, returns, iterations, runs, why, chosen } = lane;
  const cost = laneUsage(lane)?.cost ?? null;
  return { id, title, state, commit, returns, iterations, cost, runs, ...defined({ why, chosen }) };
}

/** Of all that has landed. */
export function boardMutation({ lanes }: Board): Mutation | undefined {
  const all = lanes.flatMap(({ state, mutation }) => (state === 'landed' && mutation ? [mutation] : []));
  if (all.length === 0) return undefined;
  const mutants = all.reduce((sum, each) => sum + each.mutants, 0);
  const survivors = all.flatMap(each => each.survivors);
  return { score: mutationScore(mutants, survivors.length), mutants, survivors };
}

/** The run that works on it now, or did when the whole was cut off; undefined: one is to begin. */
export function currentRun({
  runs,
  sentBack,
  repair,
}: Pick<Lane, 'runs' | 'sentBack' | 'repair'>): string | undefined {
  return sentBack ? repair : runs.at(-1);
}
