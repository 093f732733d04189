/** Reading JSON that nobody vouches for: every look returns the type it names, or undefined. */

export type Json = Readonly<Record<string, unknown>>;

/** The object on a line, or undefined when the line is anything else. */
export function parseObject(line: string): Json | undefined {
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
