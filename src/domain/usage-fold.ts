/** Adds up what an agent reports of its usage while a turn goes on. */
import type { AgentEvent } from './agent-event.ts';
import { addTokens, costOf, type PriceTable, priceOf, type Tokens, type Usage } from './usage.ts';

export interface UsageFold {
  add(event: AgentEvent & { kind: 'usage' }): void;
  /** So far; money from the price table where the agent itself tells none. */
  total(model: string | undefined): Usage;
}

interface Part {
  readonly tokens?: Tokens | undefined;
  readonly cost?: number | undefined;
}

/** Ids come back close together; older ones are settled into the sum so that a flood cannot fill the memory. */
const OPEN_IDS = 64;

export function createUsageFold(prices: PriceTable): UsageFold {
  const open = new Map<string, Part>();
  /** The last total, and the parts that came after it and are not open any more. */
  let settled: Part = {};
  let anonymous = 0;

  const sum = (a: Part, b: Part): Part => ({
    tokens: addTokens(a.tokens, b.tokens),
    cost: a.cost === undefined && b.cost === undefined ? undefined : (a.cost ?? 0) + (b.cost ?? 0),
  });

  const soFar = () => [...open.values()].reduce(sum, settled);

  return {
    add(event: AgentEvent & { kind: 'usage' }): void {
      const part: Part = { tokens: event.tokens, cost: event.cost };
      if (event.scope === 'total') {
        const before = soFar();
        settled = { tokens: part.tokens ?? before.tokens, cost: part.cost ?? before.cost };
        open.clear();
        return;
      }
      open.set(event.id ?? `anonymous ${anonymous++}`, part);
      if (open.size <= OPEN_IDS) return;
      for (const [id, oldest] of open) {
        settled = sum(settled, oldest);
        open.delete(id);
        break;
      }
    },
    total(model: string | undefined): Usage {
      const { tokens, cost: told } = soFar();
      if (told !== undefined) return { ...(tokens && { tokens }), cost: told, costSource: 'agent' };
      const price = priceOf(model, prices);
      if (tokens && price) return { tokens, cost: costOf(tokens, price), costSource: 'prices' };
      return { ...(tokens && { tokens }), costSource: 'unknown' };
    },
  };
}
