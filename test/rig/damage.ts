/** Values somewhere inside of JSON, found and replaced. */

export type Path = readonly string[];

/** Of every value in it, however deep. */
export function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return path.length === 0 ? [] : [path];
  const inside = Object.entries(value).flatMap(([key, each]) => pathsOf(each, [...path, key]));
  return path.length === 0 ? inside : [path, ...inside];
}

export function changed(value: unknown, [key = '', ...rest]: Path, to: unknown): unknown {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = rest.length === 0 ? to : changed(copy[key], rest, to);
  return copy;
}
