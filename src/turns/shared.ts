/** What runs that belong together share: money, turns, and the accounts of their agents. A run of its own has none of it. */
import type { EndedTurn } from '../domain/event.ts';
import type { Spending } from '../domain/limits.ts';
import type { Usage } from '../domain/usage.ts';
import type { LoopPlan } from '../engine/plan.ts';

export interface Shared {
  /** Before a turn: it is paid for, or others hold what is left, or all is spent. */
  reserve(): 'yes' | 'wait' | Spending;
  /** Inside of a turn: what it has used is more than there is. */
  overdrawn(used: Usage): 'max-cost' | 'max-tokens' | undefined;
  settle(turn: Pick<EndedTurn, 'usage' | 'outcome' | 'idle'>): void;
  readonly accounts: Accounts;
}

/** One waiting clock for all: after a limit one agent tries alone, then the others follow one by one. */
export interface Accounts {
  /** Until when this agent is known to be limited, in milliseconds since 1970. */
  until(agent: string): number;
  limited(agent: string, until: number): void;
  /** Before an attempt. Answers how to say that it works, and that it is over. */
  enter(agent: string, stopping: AbortSignal, longest: number): Promise<Entry>;
}

export interface Entry {
  works(): void;
  leave(): void;
}

/** The plan of a run that may not begin a turn, or spend, without the others. */
export function withShared(plan: LoopPlan, shared: Shared | undefined): LoopPlan {
  if (!shared) return plan;
  return {
    ...plan,
    ready() {
      const own = plan.ready?.() ?? 'yes';
      return own === 'yes' ? shared.reserve() : own;
    },
    async turn(iteration, prompt) {
      const ended = await plan.turn(iteration, prompt);
      shared.settle(ended);
      return ended;
    },
  };
}
