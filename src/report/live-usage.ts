/** What a run has used while a turn is still running, for the live line. */
import type { AgentEvent } from '../domain/agent-event.ts';
import type { RunEvent } from '../domain/event.ts';
import { addTokens, addUsage, type Tokens, type Usage, uncountedIn, unpricedIn } from '../domain/usage.ts';

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

/** An attempt that never started to work is left out, as in the result. */
export function spentWith(
  spent: Usage | undefined,
  { purpose, outcome, usage }: RunEvent & { type: 'agent-ended' },
): Usage | undefined {
  const isNothing = purpose === 'work' && outcome.kind === 'failed' && !usage.tokens;
  if (isNothing && usage.cost === undefined) return spent;
  return spent ? addUsage(spent, usage) : usage;
}

export function turnUsage(
  turn: TurnUsage,
  { scope, id, tokens, cost: reported, estimate }: AgentEvent & { kind: 'usage' },
): TurnUsage {
  const cost = reported ?? estimate?.cost;
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

/** The tokens and the money of the run up to now, and how many calls reported none. */
export function usedSoFar(
  spent: Usage | undefined,
  turn: TurnUsage,
): Amount & { readonly unpriced: number; readonly uncounted: number } {
  return {
    ...sum(spent ?? {}, sum(turn.settled, turn.last)),
    unpriced: spent ? unpricedIn(spent) : 0,
    uncounted: spent ? uncountedIn(spent) : 0,
  };
}
