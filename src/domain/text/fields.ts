/** Objects of which some fields may be missing: a field that is there has a value. */

type Defined<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Without the fields that are undefined. */
export function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** Only these fields, as far as they are there. */
export function pick<T extends object, Key extends keyof T>(from: T, ...keys: readonly Key[]): Pick<T, Key> {
  return Object.fromEntries(keys.flatMap(key => (from[key] === undefined ? [] : [[key, from[key]]]))) as Pick<
    T,
    Key
  >;
}

/** The same value for each of these fields. */
export function sameFor<Value, const Key extends string>(
  value: Value,
  ...keys: readonly Key[]
): { readonly [Name in Key]: Value } {
  return Object.fromEntries(keys.map(key => [key, value])) as { readonly [Name in Key]: Value };
}
