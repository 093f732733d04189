/** What a turn or a run has used. Unknown is not zero: a missing field means that nobody reported it. */

import type { AgentEvent } from './agent-event.ts';
import type { EndedTurn } from './event.ts';
import { isFailure, type Spent } from './evidence.ts';
import { defined } from './fields.ts';

export interface Tokens {
  /** Everything sent to the model, cached parts included. */
  readonly input: number;
  readonly output: number;
  /** The part of `input` that was read from the cache. */
  readonly cacheRead: number;
  /** The part of `input` that was written to the cache. */
  readonly cacheWrite: number;
}

/** Who says what it cost: the agent itself, our price table, or nobody. */
export type CostSource = 'agent' | 'prices' | 'unknown';

export interface Usage {
  readonly tokens?: Tokens;
  readonly cost?: number;
  readonly costSource: CostSource;
}

/** Dollars for a million tokens. `cacheRead` and `cacheWrite` fall back to `input`. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

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

/** A sum is only known when every part of it is known. */
export function addUsage(a: Usage, b: Usage): Usage {
  const tokens = addTokens(a.tokens, b.tokens);
  const cost = a.cost === undefined || b.cost === undefined ? undefined : a.cost + b.cost;
  const costSource = cost === undefined ? 'unknown' : a.costSource === b.costSource ? a.costSource : 'prices';
  return { ...defined({ tokens, cost }), costSource };
}

export function totalTokens(tokens: Tokens | undefined): number | undefined {
  return tokens && tokens.input + tokens.output;
}

/** The price of a model: its exact name, else the longest name in the table that begins it, else `*`. */
export function priceOf(model: string | undefined, table: PriceTable): Price | undefined {
  if (model !== undefined) {
    const names = Object.keys(table).filter(name => name !== '*' && model.startsWith(name));
    const best = names.sort((a, b) => b.length - a.length)[0];
    if (best !== undefined) return table[best];
  }
  return table['*'];
}

export function costOf(tokens: Tokens, price: Price): number {
  const plain = Math.max(0, tokens.input - tokens.cacheRead - tokens.cacheWrite);
  const dollars =
    plain * price.input +
    tokens.cacheRead * (price.cacheRead ?? price.input) +
    tokens.cacheWrite * (price.cacheWrite ?? price.input) +
    tokens.output * price.output;
  return dollars / 1_000_000;
}

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

export interface Totals extends Pick<Spent, 'iterations' | 'failures' | 'toolCalls'> {
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
