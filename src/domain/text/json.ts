/** Reading JSON that nobody vouches for: every look returns the type it names, or undefined. */

export type Json = Readonly<Record<string, unknown>>;

/** The object on a line, or undefined when the line is anything else. */
export function parseObject(line: string): Json | undefined {
  // To have an error thrown for each line of plain text takes longer than all the rest that is done with it.
  if (!/^\s*\{/.test(line)) return undefined;
  try {
    return asObject(JSON.parse(line));
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function asObject(value: unknown): Json | undefined {
  return isObject(value) ? value : undefined;
}

export function objectAt(json: Json | undefined, key: string): Json | undefined {
  return asObject(json?.[key]);
}

/** The objects of a list; whatever else is in it is left out. */
export function objectsAt(json: Json | undefined, key: string): readonly Json[] {
  const list = json?.[key];
  return Array.isArray(list) ? list.map(asObject).filter(item => item !== undefined) : [];
}

/** The texts of a list; whatever else is in it is left out. */
export function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter(item => typeof item === 'string') : [];
}

export function stringAt(json: Json | undefined, key: string): string | undefined {
  const value = json?.[key];
  return typeof value === 'string' ? value : undefined;
}

/** A string with something in it. */
export function wordAt(json: Json | undefined, key: string): string | undefined {
  return stringAt(json, key) || undefined;
}

export function numberAt(json: Json | undefined, key: string): number | undefined {
  const value = json?.[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** A number that can be a count or a price: a negative one is nonsense, and nonsense is unknown. */
export function countAt(json: Json | undefined, key: string): number | undefined {
  const value = numberAt(json, key);
  return value !== undefined && value >= 0 ? value : undefined;
}

export interface Shape {
  /** Completes "must be …". */
  readonly words: string;
  fits(value: unknown): boolean;
}

export const text: Shape = { words: 'text', fits: value => typeof value === 'string' };

export const filledText: Shape = {
  words: 'text that is not empty',
  fits: value => typeof value === 'string' && value.trim() !== '',
};

export const trueOrFalse: Shape = { words: 'true or false', fits: value => typeof value === 'boolean' };

export const number: Shape = { words: 'a number', fits: Number.isFinite };

export function listOf(item: Shape, words = `a list, each ${item.words}`): Shape {
  return { words, fits: value => Array.isArray(value) && value.every(item.fits) };
}

/** What is wrong with a value, as a sentence without its subject. */
export function misfit(value: unknown, { words }: Shape): string {
  return `must be ${words}, not ${formatValue(value)}`;
}

/** A value as it stands in a message. */
export function formatValue(value: unknown): string {
  const json = JSON.stringify(value) ?? 'nothing';
  return json.length > 60 ? `${json.slice(0, 60)}…` : json;
}
