/** Adds up what an agent reports of its usage while a turn runs. Plain data, so that a checkpoint can hold it. */
import type { AgentEvent } from './agent-event.ts';
import { addTokens, costOf, type PriceTable, priceOf, type Tokens, type Usage } from './usage.ts';

interface Part {
  readonly tokens?: Tokens | undefined;
  readonly cost?: number | undefined;
}

export interface UsageSoFar {
  /** The latest reports by their ids; a later report with the same id replaces the earlier one. */
  readonly recent: readonly (readonly [id: string, part: Part])[];
  /** The last total, and the reports after it that are no longer among the recent ones. */
  readonly sum: Part;
  readonly anonymous: number;
}

export const NO_USAGE: UsageSoFar = { recent: [], sum: {}, anonymous: 0 };

/** Ids come back close together; older ones go into the sum, so that a flood cannot fill the memory. */
const MOST_RECENT = 64;

export function addReport(soFar: UsageSoFar, event: AgentEvent & { kind: 'usage' }): UsageSoFar {
  const part: Part = { tokens: event.tokens, cost: event.cost };
  const { recent, sum, anonymous } = soFar;
  if (event.scope === 'total') {
    const before = sumOf(soFar);
    return {
      recent: [],
      sum: { tokens: part.tokens ?? before.tokens, cost: part.cost ?? before.cost },
      anonymous,
    };
  }
  const id = event.id ?? `anonymous ${anonymous}`;
  const at = recent.findIndex(([known]) => known === id);
  const now = at === -1 ? [...recent, [id, part] as const] : recent.with(at, [id, part]);
  const next = { recent: now, sum, anonymous: event.id === undefined ? anonymous + 1 : anonymous };
  if (now.length <= MOST_RECENT) return next;
  const [oldest, ...rest] = now;
  return { ...next, recent: rest, sum: oldest ? addParts(sum, oldest[1]) : sum };
}

/** So far; money from the price table where the agent itself reports none. */
export function usageOf(soFar: UsageSoFar, model: string | undefined, prices: PriceTable): Usage {
  const { tokens, cost } = sumOf(soFar);
  if (cost !== undefined) return { ...(tokens && { tokens }), cost, costSource: 'agent' };
  const price = priceOf(model, prices);
  if (tokens && price) return { tokens, cost: costOf(tokens, price), costSource: 'prices' };
  return { ...(tokens && { tokens }), costSource: 'unknown' };
}

function sumOf({ recent, sum }: UsageSoFar): Part {
  return recent.reduce((total, [, part]) => addParts(total, part), sum);
}

function addParts(a: Part, b: Part): Part {
  return {
    tokens: addTokens(a.tokens, b.tokens),
    cost: a.cost === undefined && b.cost === undefined ? undefined : (a.cost ?? 0) + (b.cost ?? 0),
  };
}
