/** What the turns of several runs may spend together: each reserves before it begins, and no reservation passes the cap. Pure. */
import { dollars, totalTokens, type Usage } from '../turn/usage.ts';
import type { EndedTurn } from './event.ts';
import type { Limits, Spending } from './limits.ts';

/** Dollars, tokens, turns. */
const CURRENCIES = ['cost', 'tokens', 'turns'] as const;
export type Currency = (typeof CURRENCIES)[number];
export type Sum = Readonly<Record<Currency, number>>;

export interface Tally {
  readonly caps: Readonly<Partial<Record<Currency, number>>>;
  readonly spent: Sum;
  /** By who holds it. */
  readonly reserved: Readonly<Record<string, Sum>>;
  /** What the dearest turn has used so far. Absent: none has ended, and a price that is not known is not zero. */
  readonly dearest?: Sum | undefined;
}

export const NOTHING: Sum = { cost: 0, tokens: 0, turns: 0 };

export function newTally(limits: Limits, spent: Sum = NOTHING, dearest?: Sum): Tally {
  return { caps: capsOf(limits), spent, reserved: {}, dearest };
}

export function capsOf({ maxCost, maxTokens, maxIterations }: Limits): Tally['caps'] {
  return {
    ...(maxCost !== undefined && { cost: maxCost }),
    ...(maxTokens !== undefined && { tokens: maxTokens }),
    ...(maxIterations > 0 && { turns: maxIterations }),
  };
}

/** A turn that is over, as far as it has to be paid for. `extra`: it is no iteration. */
export type PaidTurn = Pick<EndedTurn, 'usage'> &
  Partial<Pick<EndedTurn, 'outcome' | 'idle'>> & { readonly extra?: true };

/** One that is left for another worker, or for the time after a limit, is no iteration either: it is taken again. */
export function usedBy({ usage, outcome, idle, extra }: PaidTurn): Sum {
  const isTakenAgain = idle || (outcome?.kind === 'ended' && outcome.by === 'interrupt');
  return sumOf(usage, extra || isTakenAgain ? 0 : 1);
}

export function sumOf({ cost, tokens }: Usage, turns = 1): Sum {
  return { cost: cost ?? 0, tokens: totalTokens(tokens) ?? 0, turns };
}

/** `wait`: others hold what is left, and it may come back. */
export type Paid = 'yes' | 'wait' | Spending;

/** Before a turn: as much as the dearest so far. Before the first one has ended, all that is left: so it goes alone. */
export function reserve(tally: Tally, who: string, turns: 0 | 1 = 1): readonly [Paid, Tally] {
  const { [who]: _, ...others } = tally.reserved;
  const held = total(Object.values(others));
  const spent = CURRENCIES.find(each => left(tally, each) <= 0 && (each !== 'turns' || turns > 0));
  if (spent) return [capWords(spent, tally.spent[spent], tally.caps[spent] ?? 0), tally];
  const wanted = (each: Currency) => {
    if (each === 'turns') return turns;
    return tally.dearest?.[each] ?? (tally.caps[each] === undefined ? 0 : left(tally, each));
  };
  const lacks = CURRENCIES.some(each => left(tally, each) - held[each] < wanted(each));
  if (lacks && Object.keys(others).length > 0) return ['wait', tally];
  // Alone, it may have all that is left: the limit still bites inside of the turn.
  const own = sumEach(each => Math.min(wanted(each), left(tally, each)));
  return ['yes', { ...tally, reserved: { ...others, [who]: own } }];
}

/** The turn is over. */
export function charge(tally: Tally, who: string, used: Sum): Tally {
  const { [who]: _, ...reserved } = tally.reserved;
  const dearest = showsPrice(used) ? highest(tally.dearest, used) : tally.dearest;
  return { ...tally, reserved, spent: total([tally.spent, used]), dearest };
}

/** A turn in which nothing was done shows nothing of what one costs. */
export function showsPrice(used: Sum): boolean {
  return CURRENCIES.some(each => used[each] > 0);
}

export function highest(one: Sum | undefined, other: Sum): Sum {
  return sumEach(each => Math.max(one?.[each] ?? 0, other[each]));
}

/** Inside of a turn: which cap it has passed, when nobody else may lose what they reserved. */
export function overdrawn(tally: Tally, who: string, used: Usage): 'max-cost' | 'max-tokens' | undefined {
  const { [who]: _, ...reserved } = tally.reserved;
  const others = total(Object.values(reserved));
  const now = sumOf(used);
  const isOver = (each: Currency) => now[each] > 0 && now[each] >= left(tally, each) - others[each];
  if (isOver('cost')) return 'max-cost';
  return isOver('tokens') ? 'max-tokens' : undefined;
}

function left({ caps, spent }: Tally, currency: Currency): number {
  return (caps[currency] ?? Number.POSITIVE_INFINITY) - spent[currency];
}

function total(sums: readonly Sum[]): Sum {
  return sumEach(each => sums.reduce((sum, one) => sum + one[each], 0));
}

function sumEach(amount: (currency: Currency) => number): Sum {
  return { cost: amount('cost'), tokens: amount('tokens'), turns: amount('turns') };
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
