/** What a run takes its turns from, where others take theirs from it, too: money, tokens, turns, and the accounts of its agents. */
import type { TurnReport } from '../../agents/invoke.ts';
import type { Paid, PaidTurn } from '../../domain/run/budget.ts';
import type { Usage } from '../../domain/turn/usage.ts';
import { pause } from '../wait.ts';

/** In the memory of a process for a parallel run, in the database for a fleet. A run of its own has only its limits. */
export interface Budget {
  /** Before a turn, which is paid for from then on. `turns`: 0 where it is no iteration. */
  reserve(turns?: 0 | 1): Paid;
  /** Inside of a turn: what it has used is more than there is. */
  overdrawn(used: Usage): 'max-cost' | 'max-tokens' | undefined;
  /** What it has used takes the place of what was reserved for it. */
  charge(turn: PaidTurn): void;
  readonly accounts: Accounts;
}

/** One waiting clock for all: after a limit one agent tries alone, then the others follow one by one. */
export interface Accounts {
  /** Until when this agent is known to be limited, in milliseconds since 1970. */
  until(agent: string): number;
  limited(agent: string, until: number): void;
  /** Before an attempt. Returns how to say that it works, and that it is over. */
  enter(agent: string, stopping: AbortSignal, longest: number): Promise<Entry>;
}

export interface Entry {
  works(): void;
  leave(): void;
}

/** Milliseconds between two looks at whether there is money. */
const LOOK_EVERY = 200;

/** A turn that is no iteration, such as the one that words a commit. undefined: it cannot be paid for, or the run ends before it can. */
export async function takeExtra(
  budget: Budget | undefined,
  stopping: AbortSignal,
  take: () => Promise<TurnReport>,
): Promise<TurnReport | undefined> {
  if (!budget) return take();
  for (let paid = budget.reserve(0); paid !== 'yes'; paid = budget.reserve(0)) {
    if (paid !== 'wait' || stopping.aborted) return undefined;
    await pause(LOOK_EVERY, stopping);
  }
  const report = await take();
  budget.charge({ usage: report.turn.usage, extra: true });
  return report;
}
