/** What a turn or a run has used. Unknown is not zero: a missing field means that nobody reported it. */

import type { EndedTurn, RunEvent } from '../run/event.ts';
import { isFailure, type Spent } from '../run/evidence.ts';
import { defined } from '../text/fields.ts';
import type { AgentEvent } from './agent-event.ts';

/** Tokens by kind. */
export interface Tokens {
  /** Everything sent to the model, cached parts included. */
  readonly input: number;
  readonly output: number;
  /** The part of `input` that was read from the cache. */
  readonly cacheRead: number;
  /** The part of `input` that was written to the cache. */
  readonly cacheWrite: number;
}

/** Who says what it cost: the agent itself, the user's price table, the table that comes with Ralph, or nobody. */
export type CostSource = 'agent' | 'prices' | 'estimated' | 'unknown';

/** What a turn or a run has used. */
export interface Usage {
  /** Of a sum: what is known of it, which is a lower bound where there are `uncounted` calls. */
  readonly tokens?: Tokens;
  /** Dollars. Of a sum: what is known of it, which is a lower bound where there are `unpriced` calls. */
  readonly cost?: number;
  readonly costSource: CostSource;
  /** How many calls in a sum reported no cost; absent: none did, or this is one call. */
  readonly unpriced?: number;
  /** The same for tokens. */
  readonly uncounted?: number;
}

/** Dollars for a million tokens. `cacheRead` and `cacheWrite` fall back to `input`. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** Prices by the name of a model. */
export type PriceTable = Readonly<Record<string, Price>>;

export function addTokens(a: Tokens | undefined, b: Tokens | undefined): Tokens | undefined {
  if (!a || !b) return a ?? b;
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  };
}

/** Limits are kept on what is known; how many parts are not known is counted. */
export function addUsage(a: Usage, b: Usage): Usage {
  const unpriced = unpricedIn(a) + unpricedIn(b);
  const uncounted = uncountedIn(a) + uncountedIn(b);
  return {
    ...defined({ tokens: addTokens(a.tokens, b.tokens), cost: addCosts(a.cost, b.cost) }),
    costSource: leastSure(a.costSource, b.costSource),
    ...(unpriced > 0 && { unpriced }),
    ...(uncounted > 0 && { uncounted }),
  };
}

/** Calls whose cost is not in `cost`. */
export function unpricedIn({ cost, unpriced }: Usage): number {
  return unpriced ?? (cost === undefined ? 1 : 0);
}

/** Calls whose tokens are not in `tokens`. */
export function uncountedIn({ tokens, uncounted }: Usage): number {
  return uncounted ?? (tokens ? 0 : 1);
}

function addCosts(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}

const SURE: readonly CostSource[] = ['unknown', 'agent', 'prices', 'estimated'];

/** Of what is known: who says so that is least to be relied on. */
function leastSure<Source extends CostSource>(a: Source, b: Source): Source {
  return SURE.indexOf(a) > SURE.indexOf(b) ? a : b;
}

export function totalTokens(tokens: Tokens | undefined): number | undefined {
  return tokens && tokens.input + tokens.output;
}

/** The price of a model: its exact name, else the longest name in the table that begins it, else `*`. */
function priceOf(model: string | undefined, table: PriceTable): Price | undefined {
  if (model !== undefined) {
    const names = Object.keys(table).filter(name => name !== '*' && model.startsWith(name));
    const best = names.sort((a, b) => b.length - a.length)[0];
    if (best !== undefined) return table[best];
  }
  return table['*'];
}

function costOf(tokens: Tokens, price: Price): number {
  const plain = Math.max(0, tokens.input - tokens.cacheRead - tokens.cacheWrite);
  const dollars =
    plain * price.input +
    tokens.cacheRead * (price.cacheRead ?? price.input) +
    tokens.cacheWrite * (price.cacheWrite ?? price.input) +
    tokens.output * price.output;
  return dollars / 1_000_000;
}

/** What tokens cost by a table of prices, and whose table that is: only to be used while the agent itself says nothing. */
export interface Estimate {
  readonly cost: number;
  readonly source: 'prices' | 'estimated';
}

export interface Prices {
  /** The user's. */
  readonly prices: PriceTable;
  /** The price that comes with Ralph, for a model that is named or not; absent: it is not to be used. */
  readonly listPrice?: ((model: string | undefined) => Price | undefined) | undefined;
}

export function estimateOf(
  tokens: Tokens,
  model: string | undefined,
  { prices, listPrice }: Prices,
): Estimate | undefined {
  const own = priceOf(model, prices);
  if (own) return { cost: costOf(tokens, own), source: 'prices' };
  const list = listPrice?.(model);
  return list && { cost: costOf(tokens, list), source: 'estimated' };
}

interface Part {
  readonly tokens?: Tokens | undefined;
  readonly cost?: number | undefined;
  readonly estimate?: Estimate | undefined;
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
  const part: Part = { tokens: event.tokens, cost: event.cost, estimate: event.estimate };
  const { recent, sum, anonymous } = soFar;
  if (event.scope === 'total') {
    const before = sumOf(soFar);
    return {
      recent: [],
      sum: {
        tokens: part.tokens ?? before.tokens,
        cost: part.cost ?? before.cost,
        estimate: part.tokens ? part.estimate : before.estimate,
      },
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

/** So far. What the agent reports wins over an estimate. */
export function usageOf(soFar: UsageSoFar): Usage {
  const { tokens, cost, estimate } = sumOf(soFar);
  const known = tokens && { tokens };
  if (cost !== undefined) return { ...known, cost, costSource: 'agent' };
  if (estimate) return { ...known, cost: estimate.cost, costSource: estimate.source };
  return { ...known, costSource: 'unknown' };
}

function sumOf({ recent, sum }: UsageSoFar): Part {
  return recent.reduce((total, [, part]) => addParts(total, part), sum);
}

function addParts(a: Part, b: Part): Part {
  return {
    tokens: addTokens(a.tokens, b.tokens),
    cost: addCosts(a.cost, b.cost),
    estimate: addEstimates(a.estimate, b.estimate),
  };
}

function addEstimates(a: Estimate | undefined, b: Estimate | undefined): Estimate | undefined {
  if (!a || !b) return a ?? b;
  return { cost: a.cost + b.cost, source: leastSure(a.source, b.source) };
}

export interface Totals extends Pick<Spent, 'iterations' | 'failures' | 'toolCalls'> {
  /** undefined: nothing was used yet. */
  readonly usage?: Usage;
}

export const NOTHING_SPENT: Totals = { iterations: 0, failures: 0, toolCalls: 0 };

export function countTurn(totals: Totals, { outcome, usage, toolCalls }: EndedTurn): Totals {
  return {
    ...addExtra(totals, usage),
    iterations: totals.iterations + 1,
    failures: isFailure(outcome) ? totals.failures + 1 : 0,
    toolCalls: toolCalls === null || totals.toolCalls === null ? null : totals.toolCalls + toolCalls,
  };
}

/** A call beside the turns, such as asking for a commit message, or a turn that was cut off. */
export function addExtra(totals: Totals, usage: Usage): Totals {
  return { ...totals, usage: totals.usage ? addUsage(totals.usage, usage) : usage };
}

/** An attempt that never started to work is left out, as in the result. */
export function usedIn({
  purpose,
  outcome,
  usage,
}: Extract<RunEvent, { readonly type: 'agent-ended' }>): readonly Usage[] {
  const isNothing = !usage.tokens && usage.cost === undefined;
  return purpose === 'work' && outcome.kind === 'failed' && isNothing ? [] : [usage];
}

/** What calls used that led to nothing. One that reported nothing is taken for one that never reached a model. */
export function addWasted(totals: Totals, calls: readonly Usage[]): Totals {
  return calls
    .filter(({ tokens, cost }) => tokens !== undefined || cost !== undefined)
    .reduce(addExtra, totals);
}

/** `elapsed`: seconds since the run began. */
export function spentSoFar({ iterations, failures, toolCalls, usage }: Totals, elapsed: number): Spent {
  return { iterations, failures, toolCalls, usage: usage ?? { costSource: 'unknown' }, elapsed };
}

/** $5.76, and $0.0042 where cents would say nothing. */
export function dollars(amount: number): string {
  if (amount > 0 && amount < 0.00005) return '<$0.0001';
  return `$${amount.toFixed(amount > 0 && amount < 0.1 ? 4 : 2)}`;
}
