/** What a turn or a run has used. Unknown is not zero: a missing field means that nobody reported it. */

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
  return { ...(tokens && { tokens }), ...(cost !== undefined && { cost }), costSource };
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
