/** What a setting can hold. One kind gives four views: checking a file, reading a flag, the JSON schema, the docs. */
import { closest, type Problem } from '../domain/problem.ts';
import { formatValue, isObject } from '../domain/value.ts';

export interface Kind {
  /** As the reference shows it. */
  readonly words: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Problems of a value from a file; `where` is the path to it. */
  check(value: unknown, where: string): readonly Problem[];
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

export function integer({ min, max, unit }: NumberOptions): Kind {
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  const words = `a whole number ${range}${unit ? ` (${unit})` : ''}`;
  return {
    words,
    schema: { type: 'integer', minimum: min, ...(max !== undefined && { maximum: max }) },
    check: (value, where) =>
      Number.isSafeInteger(value) &&
      (value as number) >= min &&
      (value as number) <= (max ?? Number.MAX_SAFE_INTEGER)
        ? []
        : [expected(where, words, value)],
    parse: asNumber,
  };
}

export function amount({ min, unit }: NumberOptions): Kind {
  const words = `a number of at least ${min}${unit ? ` (${unit})` : ''}`;
  return {
    words,
    schema: { type: 'number', minimum: min },
    check: (value, where) =>
      typeof value === 'number' && Number.isFinite(value) && value >= min
        ? []
        : [expected(where, words, value)],
    parse: asNumber,
  };
}

function asNumber(text: string): unknown {
  return /^[+-]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
}

export const yesNo: Kind = {
  words: 'true or false',
  schema: { type: 'boolean' },
  check: (value, where) => (typeof value === 'boolean' ? [] : [expected(where, 'true or false', value)]),
};

export function text({ empty = false }: { readonly empty?: boolean } = {}): Kind {
  const words = empty ? 'text' : 'text that is not empty';
  return {
    words,
    schema: { type: 'string', ...(!empty && { minLength: 1, pattern: '\\S' }) },
    check: (value, where) =>
      typeof value === 'string' && (empty || value.trim() !== '') ? [] : [expected(where, words, value)],
    parse: given => given,
  };
}

export const webAddress: Kind = {
  words: 'an address that begins with http:// or https://',
  schema: { type: 'string', pattern: '^https?://' },
  check: (value, where) =>
    typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)
      ? []
      : [expected(where, webAddress.words, value)],
};

export function choice(options: readonly string[]): Kind {
  const words = `one of ${options.join(', ')}`;
  return {
    words,
    schema: { enum: options },
    check: (value, where) => {
      if (typeof value === 'string' && options.includes(value)) return [];
      const near = typeof value === 'string' ? closest(value, options) : undefined;
      return [{ ...expected(where, words, value), ...(near && { fix: `did you mean ${near}?` }) }];
    },
    parse: given => given,
  };
}

export function list(item: Kind): Kind {
  const words = `a list, each ${item.words}`;
  return {
    words,
    schema: { type: 'array', items: item.schema },
    check: (value, where) =>
      Array.isArray(value)
        ? value.flatMap((each, index) => item.check(each, `${where}[${index}]`))
        : [expected(where, words, value)],
  };
}

/** A list that a flag gives as one word with commas. */
export function words(item: Kind): Kind {
  return { ...list(item), parse: given => given.split(',').map(word => word.trim()) };
}

export interface Field {
  readonly kind: Kind;
  readonly required?: true;
  readonly help?: string;
}

export function object(fields: Readonly<Record<string, Field>>): Kind {
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
  };
}

export function checkField(
  fields: Readonly<Record<string, Field>>,
  name: string,
  value: unknown,
  where: string,
): readonly Problem[] {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (field) return field.kind.check(value, where);
  const near = closest(name, Object.keys(fields));
  return [{ where, what: 'unknown setting', ...(near && { fix: `did you mean ${near}?` }) }];
}

/** An object whose keys are the user's own names. */
export function named(item: Kind): Kind {
  const words = `an object of names, each ${item.words}`;
  return {
    words,
    schema: { type: 'object', additionalProperties: item.schema },
    check: (value, where) =>
      isObject(value)
        ? Object.entries(value).flatMap(([name, each]) => item.check(each, `${where}.${name}`))
        : [expected(where, words, value)],
  };
}

export function either(short: Kind, long: Kind): Kind {
  const words = `${short.words}, or ${long.words}`;
  return {
    words,
    schema: { anyOf: [short.schema, long.schema] },
    check: (value, where) => {
      if (isObject(value)) return long.check(value, where);
      return short.check(value, where).length === 0 ? [] : [expected(where, words, value)];
    },
    ...(short.parse && { parse: short.parse }),
  };
}

function expected(where: string, words: string, value: unknown): Problem {
  return { where, what: `must be ${words}, not ${formatValue(value)}` };
}
