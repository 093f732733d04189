/** One fault: a few characters of a file, replaced. */
import { quoteCode } from '../domain/mutation.ts';

/** In the order in which they find gaps: measured, see docs/mutate.md. */
export const OPERATORS = [
  'boundary',
  'logical',
  'removed-call',
  'fixed-condition',
  'return',
  'arithmetic',
  'equality',
  'literal',
  'negation',
] as const;

export type Operator = (typeof OPERATORS)[number];

export type Table = Readonly<Record<string, string>>;

/** `'< <=, > >='`: each stands for the other. */
export function swaps(pairs: string): Table {
  return Object.fromEntries(
    pairs.split(', ').flatMap(pair => {
      const [one = '', other = ''] = pair.split(' ');
      return [
        [one, other],
        [other, one],
      ];
    }),
  );
}

/** What a rule proposes. `from` and `to` are what is shown around it. */
export interface Edit {
  readonly operator: Operator;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly from: number;
  readonly to: number;
}

export interface Mutant {
  readonly operator: Operator;
  /** Counted from 1. */
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly change: string;
}

/** A mutator either finds places, or says why the file cannot be read. */
export type Mutator = (source: string, path: string) => readonly Edit[] | { readonly trouble: string };

export function applyMutant(source: string, { start, end, replacement }: Mutant): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

/** The edits as mutants, each place and replacement once, in the order of the file. */
export function toMutants(source: string, edits: readonly Edit[]): readonly Mutant[] {
  const lineOf = lineCounter(source);
  const unique = new Map<string, Mutant>();
  for (const proposed of edits) {
    const edit = apart(source, proposed);
    const { operator, start, end, replacement } = edit;
    const key = `${start} ${end} ${replacement}`;
    if (unique.has(key) || source.slice(start, end) === replacement) continue;
    unique.set(key, {
      operator,
      line: lineOf(start),
      start,
      end,
      replacement,
      change: changeOf(source, edit),
    });
  }
  return [...unique.values()].sort((a, b) => a.start - b.start);
}

/** `return!x` must not become one word. */
function apart(source: string, edit: Edit): Edit {
  const isWord = (letter = '') => /[\w$]/.test(letter);
  const next = edit.replacement[0] ?? source[edit.end];
  const joins = isWord(source[edit.start - 1]) && isWord(next) && !isWord(source[edit.start]);
  return joins ? { ...edit, replacement: ` ${edit.replacement}` } : edit;
}

/** Which line an offset is on, without reading the file for each. */
export function lineCounter(source: string): (offset: number) => number {
  const ends = [...source.matchAll(/\n/g)].map(({ index }) => index);
  return offset => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
}

function changeOf(source: string, edit: Edit): string {
  const { start, end, replacement } = edit;
  // Of a long expression only what is around the fault: else both would be cut before they differ.
  const isLong = edit.to - edit.from > LONGEST && end - start < LONGEST;
  const from = isLong ? Math.max(edit.from, start - AROUND) : edit.from;
  const to = isLong ? Math.min(edit.to, end + AROUND) : edit.to;
  const before = source.slice(from, to);
  const after = source.slice(from, start) + replacement + source.slice(end, to);
  if (/^(;|pass|:)?$/.test(after.trim())) return `${quoteCode(shortened(before))} removed`;
  return `${quoteCode(shortened(before))} changed to ${quoteCode(shortened(after))}`;
}

const LONGEST = 100;
const AROUND = 40;

/** On one line, and not longer than a reader wants; control characters are shown by nobody. */
function shortened(code: string): string {
  const letters = [...code.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()];
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join('')}…` : letters.join('');
}
