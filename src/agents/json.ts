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

export function asObject(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
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

/** The type of the record on a line that begins with it, as those of all agents do. */
export function typeIn(head: string): string | undefined {
  return /^\{"type":"([^"\\]*)"/.exec(head)?.[1];
}

/**
 * The beginning of a string value, out of JSON that was cut in the middle. A quote inside a JSON string is
 * escaped, so `"key":"` can only be a real key.
 */
export function stringInHead(head: string, key: string, maxChars: number): string | undefined {
  const lead = `"${key}":"`;
  const at = head.indexOf(lead);
  if (at === -1) return undefined;
  const rest = head.slice(at + lead.length, at + lead.length + maxChars);
  const body = /^(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/.exec(rest)?.[0] ?? '';
  try {
    return JSON.parse(`"${body}"`) as string;
  } catch {
    return undefined; // a raw control character: not JSON at all
  }
}
