/**
 * What the fields of a recorded event hold. A kind is both: the TypeScript type of a value, and the check of one that nobody vouches for.
 * So the type of an event and what a line of a ledger must look like cannot drift apart.
 */
import { isObject, number as jsonNumber, text as jsonText, trueOrFalse } from '../text/json.ts';

interface Check {
  /** The field may be missing. */
  readonly isOptional?: boolean;
  fits(value: unknown): boolean;
}

export interface Kind<Value> extends Check {
  /** Never there: they hold the type of the value, once as it is read and once as it is given. */
  readonly value?: Value;
  readonly takes?: (value: Value) => void;
}

export type ValueOf<K> = K extends { readonly value?: infer Value } ? Value : never;

type Fields = Readonly<Record<string, Check>>;
type Flat<T> = { [Name in keyof T]: T[Name] } & {};

export type RecordOf<F extends Fields> = Flat<
  { readonly [Name in keyof F as F[Name] extends Maybe ? never : Name]: ValueOf<F[Name]> } & {
    readonly [Name in keyof F as F[Name] extends Maybe ? Name : never]?: ValueOf<F[Name]>;
  }
>;

export const text: Kind<string> = jsonText;
export const number: Kind<number> = jsonNumber;
export const boolean: Kind<boolean> = trueOrFalse;

/** One of some words, and any text on a line: another version may know more of them. */
export function word<Word extends string>(): Kind<Word> {
  return { fits: jsonText.fits };
}

/** A mark that is there or not. */
export const mark: Maybe & Kind<true> = maybe({ fits: trueOrFalse.fits });

/** Of a type that is written down elsewhere: at least an object. */
export function object<Value extends object>(): Kind<Value> {
  return { fits: isObject };
}

/** A damaged number must not make a reader build a list of a billion. */
const MOST_ITERATIONS = 10_000_000;

export const iteration: Kind<number> = {
  fits: value => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MOST_ITERATIONS,
};

/** A field that may be missing. */
export interface Maybe {
  readonly isOptional: true;
}

export function maybe<Value>({ fits }: Kind<Value>): Maybe & Kind<Value> {
  return { isOptional: true, fits: value => value === undefined || fits(value) };
}

export function orNull<Value>({ fits }: Kind<Value>): Kind<Value | null> {
  return { fits: value => value === null || fits(value) };
}

export function list<Value>({ fits }: Kind<Value>): Kind<readonly Value[]> {
  return { fits: value => Array.isArray(value) && value.every(fits) };
}

/** An object with these fields; others do not matter. */
export function record<F extends Fields>(fields: F): Kind<RecordOf<F>> {
  let rows: readonly (readonly [name: string, kind: Check])[] | undefined;
  return {
    fits(value) {
      rows ??= Object.entries(fields); // few of all shapes are asked for in a program
      return isObject(value) && rows.every(([name, kind]) => kind.fits(value[name]));
    },
  };
}

/** What readers rely on in a type that is written down elsewhere: the compiler sees to it that every value of that type fits. */
export function partOf<Value>({ fits }: Check & { readonly takes?: (value: Value) => void }): Kind<Value> {
  return { fits };
}

export function both<One, Other>(one: Kind<One>, other: Kind<Other>): Kind<One & Other> {
  return { fits: value => one.fits(value) && other.fits(value) };
}

/** One of the rows of a table, named by this field. */
export type RowOf<Rows, Key extends string> = {
  [Name in keyof Rows]: Flat<{ readonly [K in Key]: Name } & ValueOf<Rows[Name]>>;
}[keyof Rows];

export function oneOf<Key extends string, Rows extends Fields>(key: Key, rows: Rows): Kind<RowOf<Rows, Key>> {
  const kinds = new Map<unknown, Check>(Object.entries(rows));
  return { fits: value => isObject(value) && kinds.get(value[key])?.fits(value) === true };
}
