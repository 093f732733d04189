/** What the turns of several runs may spend together: each reserves before it begins, and no reservation passes the cap. Pure. */
import { dollars } from './dollars.ts';
import type { Limits, Spending } from './limits.ts';
import { totalTokens, type Usage } from './usage.ts';

/** Dollars, tokens, turns. */
const CURRENCIES = ['cost', 'tokens', 'turns'] as const;
export type Currency = (typeof CURRENCIES)[number];
export type Sum = Readonly<Record<Currency, number>>;
export type Caps = Readonly<Partial<Record<Currency, number>>>;

export interface Purse {
  readonly caps: Caps;
  readonly spent: Sum;
  /** By who holds it. */
  readonly reserved: Readonly<Record<string, Sum>>;
  /** What turns have cost so far. */
  readonly turns: readonly Sum[];
}

const NOTHING: Sum = { cost: 0, tokens: 0, turns: 0 };

export function newPurse(limits: Limits, spent: Sum = NOTHING): Purse {
  return { caps: capsOf(limits), spent, reserved: {}, turns: [] };
}

export function capsOf({ maxCost, maxTokens, maxIterations }: Limits): Caps {
  return {
    ...(maxCost !== undefined && { cost: maxCost }),
    ...(maxTokens !== undefined && { tokens: maxTokens }),
    ...(maxIterations > 0 && { turns: maxIterations }),
  };
}

export function sumOf({ cost, tokens }: Usage, turns = 1): Sum {
  return { cost: cost ?? 0, tokens: totalTokens(tokens) ?? 0, turns };
}

export type Reservation =
  | { readonly kind: 'reserved'; readonly purse: Purse }
  /** Others hold what is left: it may come back. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'spent'; readonly spending: Spending };

/** Before a turn: what nine of ten turns cost so far, and never more than is left. */
export function reserve(purse: Purse, who: string): Reservation {
  const wanted: Sum = { ...typicalTurn(purse.turns), turns: 1 };
  const held = total(Object.values(purse.reserved));
  const spent = CURRENCIES.find(each => left(purse, each) <= 0);
  if (spent) return { kind: 'spent', spending: capWords(spent, purse.spent[spent], purse.caps[spent] ?? 0) };
  const lacks = CURRENCIES.some(each => left(purse, each) - held[each] < wanted[each]);
  if (!lacks)
    return { kind: 'reserved', purse: { ...purse, reserved: { ...purse.reserved, [who]: wanted } } };
  if (Object.keys(purse.reserved).length > 0) return { kind: 'wait' };
  // Alone, it may have all that is left: the limit still bites inside of the turn.
  const rest = Object.fromEntries(
    CURRENCIES.map(each => [each, Math.min(wanted[each], left(purse, each))]),
  ) as unknown as Sum;
  return { kind: 'reserved', purse: { ...purse, reserved: { ...purse.reserved, [who]: rest } } };
}

/** The turn is over. */
export function settle(purse: Purse, who: string, used: Sum): Purse {
  const { [who]: _, ...reserved } = purse.reserved;
  return { ...purse, reserved, spent: total([purse.spent, used]), turns: [...purse.turns, used].slice(-200) };
}

/** Inside of a turn: which cap it has passed, when nobody else may lose what they reserved. */
export function overdrawn(purse: Purse, who: string, used: Usage): 'max-cost' | 'max-tokens' | undefined {
  const others = total(
    Object.entries(purse.reserved)
      .filter(([each]) => each !== who)
      .map(([, sum]) => sum),
  );
  const now = sumOf(used);
  const isOver = (each: Currency) =>
    purse.caps[each] !== undefined && now[each] > 0 && now[each] >= left(purse, each) - others[each];
  if (isOver('cost')) return 'max-cost';
  return isOver('tokens') ? 'max-tokens' : undefined;
}

function left({ caps, spent }: Purse, currency: Currency): number {
  return (caps[currency] ?? Number.POSITIVE_INFINITY) - spent[currency];
}

function total(sums: readonly Sum[]): Sum {
  return sums.reduce(
    (one, other) => ({
      cost: one.cost + other.cost,
      tokens: one.tokens + other.tokens,
      turns: one.turns + other.turns,
    }),
    NOTHING,
  );
}

const TYPICAL = 0.9;

function typicalTurn(turns: readonly Sum[]): Sum {
  const at = (currency: Currency) => {
    const sorted = turns.map(turn => turn[currency]).sort((one, other) => one - other);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * TYPICAL))] ?? 0;
  };
  return { cost: at('cost'), tokens: at('tokens'), turns: 1 };
}

/** A cap is reached; `by`: by whom, where that is not plain. */
export function capWords(currency: Currency, spent: number, cap: number, by = ''): Spending {
  if (currency === 'turns')
    return { reason: 'max_iterations', detail: `${spent} of ${cap} iterations used${by}.` };
  const detail =
    currency === 'cost'
      ? `${dollars(spent)} of ${dollars(cap)} spent${by}.`
      : `${spent} of ${cap} tokens used${by}.`;
  return { reason: 'budget_exhausted', detail };
}
