/** What a value of untrusted JSON must be: a test, and the words for a message. Settings, story lists and ledgers are checked with these. */
import { isObject } from './json.ts';

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

export const object: Shape = { words: 'an object', fits: isObject };

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
