/** Faults for languages without a parser of ours: found line by line, in text whose strings and comments are blank. */
import type { Language } from './languages.ts';
import { isBalanced } from './line-rules.ts';
import type { Edit, Mutator } from './mutant.ts';

export function mutateLines(language: Language): Mutator {
  return source => {
    const masked = mask(source, language);
    const lines = masked.split('\n');
    const written = source.split('\n');
    let offset = 0;
    return lines.flatMap((line, index) => {
      const from = offset;
      offset += line.length + 1;
      if (line.trim() === '' || language.skip.test(line)) return [];
      const [before = '', after = ''] = [lines[index - 1], lines[index + 1]];
      const around = { line, written: written[index] ?? '', before, after };
      const shown = { from: from + line.search(/\S/), to: from + line.trimEnd().length };
      return editsOf(language, around).map(edit => ({
        ...edit,
        start: from + edit.start,
        end: from + edit.end,
        ...shown,
      }));
    });
  };
}

/** Of the same length, with blanks for comments and for what is in a string; the quotes stay. */
function mask(source: string, { hidden, stop }: Language): string {
  const blank = (text: string) => text.replace(/[^\n]/g, ' ');
  const masked = source.replace(hidden, found => {
    if (/^(?:#|\/[/*])/.test(found)) return blank(found);
    return found.startsWith('<<') ? `<<${blank(found.slice(2))}` : `"${blank(found.slice(1, -1))}"`;
  });
  const end = stop ? masked.search(stop) : -1;
  return end < 0 ? masked : masked.slice(0, end);
}

interface Around {
  readonly line: string;
  /** The line with its strings. */
  readonly written: string;
  readonly before: string;
  readonly after: string;
}

type LineEdit = Omit<Edit, 'from' | 'to'>;

function editsOf(language: Language, around: Around): readonly LineEdit[] {
  const { line } = around;
  const byRule = language.rules.flatMap(({ operator, find, put }) =>
    [...line.matchAll(find)].flatMap(({ 0: found, index }): readonly LineEdit[] => {
      const replacement = operator === 'boundary' && isMaximum(around) ? undefined : put(found, line);
      return replacement === undefined
        ? []
        : [{ operator, start: index, end: index + found.length, replacement }];
    }),
  );
  return [...byRule, ...removedCall(language, around), ...fixedCondition(language, around)];
}

/** `if x > most:` before `most = x`, and `a if a > b else b`: which of two equals is taken makes no difference. */
function isMaximum({ line, after }: Around): boolean {
  const compared = /([\w.[\]]+)\s+[<>]=?\s+([\w.[\]]+)/.exec(line);
  if (!compared) return false;
  const assigned = /^\s*([\w.[\]]+)\s*=\s*([\w.[\]]+);?\s*$/.exec(after);
  const chosen =
    /([\w.[\]]+)\s+if\s.*\selse\s+([\w.[\]]+)/.exec(line) ?? /\?\s*([\w.[\]]+)\s*:\s*([\w.[\]]+)/.exec(line);
  const sides = (match: RegExpExecArray | null) => [match?.[1], match?.[2]].sort().join(' ');
  return [assigned, chosen].some(each => each !== null && sides(each) === sides(compared));
}

/** Not a part of something longer: an argument, a link of a chain, the second half of a sum. */
function removedCall({ call, removed }: Language, { line, before, after }: Around): readonly LineEdit[] {
  const isPart = /[,([=+\-*/.&|\\?]\s*$/.test(before) || /^\s*[.?]/.test(after);
  if (!call.test(line) || !isBalanced(line) || isPart) return [];
  const start = line.search(/\S/);
  return [{ operator: 'removed-call', start, end: line.trimEnd().length, replacement: removed }];
}

/** A loop that never ends is noticed by every check, and takes long to be. */
function fixedCondition(language: Language, { line, written }: Around): readonly LineEdit[] {
  const match = language.condition.exec(line);
  const condition = match?.groups?.condition;
  if (!match || condition === undefined || !isBalanced(condition)) return [];
  const start = line.indexOf(condition, line.indexOf(match.groups?.word ?? '') + 2);
  const fix = (value: boolean, from: number, text: string): LineEdit => ({
    operator: 'fixed-condition',
    start: start + from,
    end: start + from + text.length,
    replacement: language.fixed(value, written.slice(start + from, start + from + text.length)),
  });
  const sides = splitCondition(condition, language);
  if (sides.length > 1) return sides.map(({ from, text, neutral }) => fix(neutral, from, text));
  if (/^(?:true|false)$/i.test(condition)) return [];
  const values = match.groups?.word === 'while' ? [false] : [false, true];
  return values.map(value => fix(value, 0, condition));
}

interface Side {
  readonly from: number;
  readonly text: string;
  /** With this value the other sides decide alone. */
  readonly neutral: boolean;
}

/** The sides of the first kind of operator outside of all brackets; one of a mixture is left whole. */
function splitCondition(condition: string, { and, or }: Language): readonly Side[] {
  const word = (text: string) => (/\w/.test(text) ? `\\b${text}\\b` : text.replaceAll('|', '\\|'));
  const joints = [...condition.matchAll(new RegExp(`\\s+(?:${word(and)}|${word(or)})\\s+`, 'g'))].filter(
    ({ index }) => isBalanced(condition.slice(0, index)),
  );
  const kinds = new Set(joints.map(([text]) => text.trim()));
  if (kinds.size !== 1) return [];
  const neutral = kinds.has(and);
  const starts = [0, ...joints.map(({ 0: text, index }) => index + text.length)];
  return starts.map((from, nth) => ({
    from,
    text: condition.slice(from, joints[nth]?.index ?? condition.length),
    neutral,
  }));
}
