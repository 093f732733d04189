/** Lays one layer of settings over another: scalars override, arrays replace, objects merge. */
import { isObject } from '../domain/text/json.ts';

type Layer = Readonly<Record<string, unknown>>;

export function mergeLayers(base: Layer, over: Layer): Layer {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue;
    const below = Object.hasOwn(base, key) ? base[key] : undefined;
    merged[key] = isObject(below) && isObject(value) ? mergeLayers(below, value) : value;
  }
  return merged;
}
