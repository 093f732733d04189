/** What a run has used so far, added up turn by turn. */

import type { EndedTurn } from './event.ts';
import { isFailure, type Spent } from './evidence.ts';
import { addUsage, type Usage } from './usage.ts';

export interface Totals {
  /** Turns that were judged. */
  readonly iterations: number;
  /** Turns in a row that failed or hung. */
  readonly failures: number;
  /** null: the agent does not report them. */
  readonly toolCalls: number | null;
  /** undefined: nothing was used yet. */
  readonly usage?: Usage;
  /** Calls beside the turns that reported no cost. */
  readonly unreported: number;
}

export const NOTHING_SPENT: Totals = { iterations: 0, failures: 0, toolCalls: 0, unreported: 0 };

export function countTurn(totals: Totals, { outcome, usage, toolCalls }: EndedTurn): Totals {
  return {
    ...totals,
    iterations: totals.iterations + 1,
    failures: isFailure(outcome) ? totals.failures + 1 : 0,
    toolCalls: toolCalls === null || totals.toolCalls === null ? null : totals.toolCalls + toolCalls,
    usage: totals.usage ? addUsage(totals.usage, usage) : usage,
  };
}

/** A call beside the turns, such as asking for a commit message, or a turn that was cut off. */
export function addExtra(totals: Totals, usage: Usage): Totals {
  if (usage.cost === undefined) return { ...totals, unreported: totals.unreported + 1 };
  return { ...totals, usage: totals.usage ? addUsage(totals.usage, usage) : usage };
}

/** `elapsed`: seconds since the run began. */
export function spentSoFar({ iterations, failures, toolCalls, usage }: Totals, elapsed: number): Spent {
  return { iterations, failures, toolCalls, usage: usage ?? { costSource: 'unknown' }, elapsed };
}
