/** One fault: a few characters of a file, replaced. */
import { quoteCode } from '../../domain/checks/mutation.ts';

/** In the order in which they find gaps: measured, see docs/reference/mutate.md. */
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
  const both = pairs.split(', ').map(pair => pair.split(' '));
  return Object.fromEntries([...both, ...both.map(pair => pair.toReversed())]);
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
  const unique = new Map<string, Mutant>();
  let [line, at] = [1, 0];
  for (const proposed of edits.toSorted((a, b) => a.start - b.start)) {
    const edit = apart(source, proposed);
    const { operator, start, end, replacement } = edit;
    for (; at < start; at++) if (source[at] === '\n') line++;
    const key = `${start} ${end} ${replacement}`;
    if (unique.has(key) || source.slice(start, end) === replacement) continue;
    unique.set(key, { operator, line, start, end, replacement, change: changeOf(source, edit) });
  }
  return [...unique.values()];
}

/** `return!x` must not become one word. */
function apart(source: string, edit: Edit): Edit {
  const isWord = (letter = '') => /[\w$]/.test(letter);
  const next = edit.replacement[0] ?? source[edit.end];
  const joins = isWord(source[edit.start - 1]) && isWord(next) && !isWord(source[edit.start]);
  return joins ? { ...edit, replacement: ` ${edit.replacement}` } : edit;
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
