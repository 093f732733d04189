/** What a run has used while a turn is still running, for the live line. */
import type { AgentEvent } from '../domain/agent-event.ts';
import type { RunEvent } from '../domain/event.ts';
import { addTokens, addUsage, type Tokens, type Usage } from '../domain/usage.ts';

/** Ids of usage records come back one after the other; the exact sum comes with the end of the turn. */
export interface TurnUsage {
  readonly settled: Amount;
  readonly id?: string | undefined;
  readonly last: Amount;
}

interface Amount {
  readonly tokens?: Tokens | undefined;
  readonly cost?: number | undefined;
}

export const NO_TURN: TurnUsage = { settled: {}, last: {} };

/** A commit message that reports no cost is left out, as in the result, and so is an attempt that never started to work. */
export function spentWith(
  spent: Usage | undefined,
  { purpose, outcome, usage }: RunEvent & { type: 'agent-ended' },
): Usage | undefined {
  const isBeside = purpose === 'commit-message' || (outcome.kind === 'failed' && !usage.tokens);
  if (isBeside && usage.cost === undefined) return spent;
  return spent ? addUsage(spent, usage) : usage;
}

export function turnUsage(
  turn: TurnUsage,
  { scope, id, tokens, cost }: AgentEvent & { kind: 'usage' },
): TurnUsage {
  const before = sum(turn.settled, turn.last);
  if (scope === 'total')
    return { settled: { tokens: tokens ?? before.tokens, cost: cost ?? before.cost }, last: {} };
  const repeats = id !== undefined && id === turn.id;
  return { settled: repeats ? turn.settled : before, id, last: { tokens, cost } };
}

function sum(a: Amount, b: Amount): Amount {
  const cost = a.cost === undefined && b.cost === undefined ? undefined : (a.cost ?? 0) + (b.cost ?? 0);
  return { tokens: addTokens(a.tokens, b.tokens), cost };
}

/** The tokens and the money of the run up to now. */
export function usedSoFar(spent: Usage | undefined, turn: TurnUsage): Amount {
  const { tokens, cost } = sum(spent ?? {}, sum(turn.settled, turn.last));
  // Unknown is not zero: one turn without a price makes the sum unknown.
  return { tokens, cost: spent && spent.cost === undefined ? undefined : cost };
}
