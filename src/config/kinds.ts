/** What a setting can hold. One kind gives four views: checking a file, reading a flag, the JSON schema, the docs. */

import { DURATION_PATTERN, parseDuration } from '../domain/text/duration.ts';
import {
  text as anyText,
  filledText,
  formatValue,
  isObject,
  type Shape,
  trueOrFalse,
} from '../domain/text/json.ts';
import { didYouMean, type Problem } from '../domain/text/problem.ts';

export interface Kind<Value = unknown> {
  /** Never there: it holds the type of the value, from which the type of the settings is made. */
  readonly value?: Value;
  /** As the reference shows it. */
  readonly words: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Problems of a value from a file; `where` is the path to it. */
  check(value: unknown, where: string): readonly Problem[];
  /** What a value that was checked stands for, where a file may spell it in more than one way; else it is what it is. */
  read?(value: unknown): unknown;
  /** The value behind a flag's text; undefined when it cannot be one (`check` then says what was expected). */
  parse?(text: string): unknown;
  /** The value behind a flag that was given without one, or as `--no-`; else it is yes or no. */
  switched?(on: boolean): unknown;
}

interface NumberOptions {
  readonly min: number;
  readonly max?: number;
  readonly unit?: string;
}

export function integer({ min, max, unit }: NumberOptions): Kind<number> {
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  const words = `a whole number ${range}${unit ? ` (${unit})` : ''}`;
  const fits = (value: unknown) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= (max ?? Number.MAX_SAFE_INTEGER);
  return {
    ...ofShape({ words, fits }),
    schema: { type: 'integer', minimum: min, ...(max !== undefined && { maximum: max }) },
    parse: asNumber,
  };
}

export function amount({ min, unit }: NumberOptions): Kind<number> {
  const words = `a number of at least ${min}${unit ? ` (${unit})` : ''}`;
  const fits = (value: unknown) => Number.isFinite(value) && Number(value) >= min;
  return {
    ...ofShape({ words, fits }),
    schema: { type: 'number', minimum: min },
    parse: asNumber,
  };
}

const SIZES: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, b: 1e9 };

/** `20`, `2.5`, and sizes such as `500k` and `2M`. */
function asNumber(text: string): unknown {
  const [, number, size = ''] = /^([+-]?\d+(?:\.\d+)?)([kmb]?)$/i.exec(text.trim()) ?? [];
  if (number === undefined) return text;
  return size === '' ? Number(number) : Math.round(Number(number) * (SIZES[size.toLowerCase()] ?? 1));
}

/** A time: a number of seconds, or `90s`, `1h30m`, `500ms`. Its value is in seconds. */
export function duration(meaning: string): Kind<number> {
  const words = `a number of seconds, or a duration such as 90s, 1h30m or 500ms${meaning && ` (${meaning})`}`;
  const read = (value: unknown) => (typeof value === 'string' ? (parseDuration(value) ?? value) : value);
  const fits = (value: unknown) => Number.isFinite(read(value)) && Number(read(value)) >= 0;
  return {
    ...ofShape({ words, fits }),
    schema: {
      anyOf: [
        { type: 'number', minimum: 0 },
        { type: 'string', pattern: DURATION_PATTERN },
      ],
    },
    parse: read,
    read,
  };
}

export const yesNo: Kind<boolean> = { ...ofShape(trueOrFalse), schema: { type: 'boolean' } };

export function text({ empty = false }: { readonly empty?: boolean } = {}): Kind<string> {
  return {
    ...ofShape(empty ? anyText : filledText),
    schema: { type: 'string', ...(!empty && { minLength: 1, pattern: '\\S' }) },
    parse: given => given,
  };
}

/** No model is called 5: `-m` is the number of iterations in `ralph run` alone. */
export const modelName: Kind<string> = {
  ...text(),
  words: 'the name of a model',
  check(value, where) {
    const count = countIn(value);
    if (count === undefined) return text().check(value, where);
    const meant = where.startsWith('--') ? `--max-iterations ${count}` : `"maximumIterations": ${count}`;
    const what = `must be the name of a model, not ${JSON.stringify(value)}`;
    return [{ where, what, fix: `did you mean ${meant}?` }];
  },
};

function countIn(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  return /^\s*(\d+)\s*$/.exec(String(value))?.[1];
}

export const webAddress: Kind<string> = {
  ...ofShape({
    words: 'an address that begins with http:// or https://',
    fits: value => typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value),
  }),
  schema: { type: 'string', pattern: '^https?://' },
};

export function choice<const Option extends string>(options: readonly Option[]): Kind<Option> {
  const words = `one of ${options.join(', ')}`;
  return {
    words,
    schema: { enum: options },
    check: (value, where) => {
      if (options.some(option => option === value)) return [];
      const meant = typeof value === 'string' ? didYouMean(value, options) : {};
      return [{ ...expected(where, words, value), ...meant }];
    },
    parse: given => given,
  };
}

export function list<Value>(item: Kind<Value>): Kind<readonly Value[]> {
  const words = `a list, each ${item.words}`;
  return {
    words,
    schema: { type: 'array', items: item.schema },
    check: (value, where) =>
      Array.isArray(value)
        ? value.flatMap((each, index) => item.check(each, `${where}[${index}]`))
        : [expected(where, words, value)],
    read: value => (Array.isArray(value) ? value.map(each => readValue(item, each)) : value),
  };
}

/** A list that a flag gives as one word with commas. */
export function words<Value>(item: Kind<Value>): Kind<readonly Value[]> {
  return { ...list(item), parse: given => given.split(',').map(word => word.trim()) };
}

export interface Field {
  readonly kind: Kind;
  readonly required?: true;
  readonly help?: string;
}

export type Fields = Readonly<Record<string, Field>>;
export type ValueOf<K extends Kind> = Exclude<K['value'], undefined>;
type RequiredName<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { readonly required: true } ? Name : never;
}[keyof F];
type ObjectOf<F extends Fields> = {
  readonly [Name in RequiredName<F>]: ValueOf<F[Name]['kind']>;
} & {
  readonly [Name in Exclude<keyof F, RequiredName<F>>]?: ValueOf<F[Name]['kind']>;
};

export function object<const F extends Fields>(fields: F): Kind<ObjectOf<F>> {
  const names = Object.keys(fields);
  const required = names.filter(name => fields[name]?.required);
  const words = `an object with ${names.map(name => (required.includes(name) ? name : `${name}?`)).join(', ')}`;
  return {
    words,
    schema: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(
        Object.entries(fields).map(([name, { kind, help }]) => [
          name,
          { ...kind.schema, ...(help && { description: help }) },
        ]),
      ),
      ...(required.length > 0 && { required }),
    },
    check: (value, where) => {
      if (!isObject(value)) return [expected(where, words, value)];
      const missing = required.filter(name => !Object.hasOwn(value, name));
      return [
        ...missing.map(name => ({ where: `${where}.${name}`, what: 'is missing' })),
        ...Object.entries(value).flatMap(([name, inner]) =>
          checkField(fields, name, inner, `${where}.${name}`),
        ),
      ];
    },
    read: value => (isObject(value) ? readFields(fields, value) : value),
  };
}

/** The fields of an object that was checked. */
export function readFields(fields: Fields, value: Readonly<Record<string, unknown>>) {
  const read = Object.entries(value).map(([name, inner]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return [name, field ? readValue(field.kind, inner) : inner];
  });
  return Object.fromEntries(read) as Readonly<Record<string, unknown>>;
}

export function readValue(kind: Kind, value: unknown): unknown {
  return kind.read ? kind.read(value) : value;
}

export function checkField(fields: Fields, name: string, value: unknown, where: string): readonly Problem[] {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (field) return field.kind.check(value, where);
  return [{ where, what: 'unknown setting', ...didYouMean(name, Object.keys(fields)) }];
}

/** An object whose keys are the user's own names. */
export function named<Value>(item: Kind<Value>): Kind<Readonly<Record<string, Value>>> {
  const words = `an object of names, each ${item.words}`;
  return {
    words,
    schema: { type: 'object', additionalProperties: item.schema },
    check: (value, where) =>
      isObject(value)
        ? Object.entries(value).flatMap(([name, each]) => item.check(each, `${where}.${name}`))
        : [expected(where, words, value)],
    read: value =>
      isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, readValue(item, each)]))
        : value,
  };
}

export function either<Short, Long>(short: Kind<Short>, long: Kind<Long>): Kind<Short | Long> {
  const words = `${short.words}, or ${long.words}`;
  return {
    words,
    schema: { anyOf: [short.schema, long.schema] },
    check: (value, where) => {
      if (isObject(value)) return long.check(value, where);
      return short.check(value, where).length === 0 ? [] : [expected(where, words, value)];
    },
    read: value => readValue(isObject(value) ? long : short, value),
    ...(short.parse && { parse: short.parse }),
  };
}

function ofShape(shape: Shape): Pick<Kind, 'words' | 'check'> {
  return {
    words: shape.words,
    check: (value, where) => (shape.fits(value) ? [] : [expected(where, shape.words, value)]),
  };
}

function expected(where: string, words: string, value: unknown): Problem {
  return { where, what: `must be ${words}, not ${formatValue(value)}` };
}
