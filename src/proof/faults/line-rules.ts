/** Faults that a line shows by itself, once strings and comments are blank. Spaces tell an operator from a type or a pointer. */
import { type Operator, swaps, type Table } from './mutant.ts';

export interface LineRule {
  readonly operator: Operator;
  /** All of a match is replaced. */
  readonly find: RegExp;
  /** What by; undefined: this one is left alone. */
  put(found: string, line: string): string | undefined;
}

function rule(operator: Operator, find: RegExp, put: Table | LineRule['put']): LineRule {
  return { operator, find, put: typeof put === 'function' ? put : found => put[found] };
}

const SIZE = /\blen\(|\.(?:len|length|size|Len|count)\b/;

/** Not in `for (…; i < x.length; …)`: one too far is a crash or no difference at all. */
const boundary = rule('boundary', /(?<=\s)(?:<=|>=|<|>)(?=\s)/g, (found, line) =>
  /^\s*for\b/.test(line) && SIZE.test(line) ? undefined : BOUNDARY[found],
);
const BOUNDARY = swaps('< <=, > >=');

const ARITHMETIC: Table = { ...swaps('+ -, * /'), '%': '*', '//': '*', '**': '*' };
const ASSIGNED = swaps('+= -=, *= /=');
const LOGICAL = swaps('&& ||');
const JOINS_TEXT = /["'`]\s*\+|\+=?\s*\w?["'`]/;

const common: readonly LineRule[] = [
  boundary,
  rule('arithmetic', /(?<=[\w)\]]\s)(?:\*\*|\/\/|[-+*/%])(?=\s[\w(])/g, (found, line) =>
    found === '+' && JOINS_TEXT.test(line) ? undefined : ARITHMETIC[found],
  ),
  rule('arithmetic', /(?<=\s)[-+*/]=(?=\s)/g, (found, line) =>
    JOINS_TEXT.test(line) || /^\s*for\b/.test(line) ? undefined : ASSIGNED[found],
  ),
  rule('equality', /(?<=\s)[=!]=(?=\s)/g, swaps('== !=')),
  rule('literal', /(?<![\w.$#"'-])\d+(?![\w.])/g, (found, line) =>
    /sleep|timeout|deadline|duration/i.test(line) ? undefined : oneMore(found),
  ),
];

function oneMore(digits: string): string {
  return String(BigInt(digits) + 1n);
}

function otherValue(value: string): string {
  return swaps('true false, True False')[value] ?? (/^0+$/.test(value) ? '1' : '0');
}

export const C_RULES: readonly LineRule[] = [
  ...common,
  // Not a closure without arguments, which begins with the same two bars.
  rule('logical', /(?<=[\w)\]"']\s+)(?<!\bmove\s+)(?:&&|\|\|)(?=\s+[\w(!"'&*-])/g, LOGICAL),
  rule('return', /(?<=^\s*return\s+)(?:true|false|\d+)(?=\s*;?\s*$)/g, otherValue),
  rule('return', /(?<=^\s*)return\s*;?(?=\s*$)/g, () => ''),
  rule('literal', /\b(?:true|false)\b/g, swaps('true false')),
  rule('negation', /(?<=^|[\s(])!(?=[\w(])/g, () => ''),
];

export const GO_RULES: readonly LineRule[] = [
  ...C_RULES,
  rule('return', /(?<=^\s*return\b.*[\s,])err(?=\s*$)/g, () => 'nil'),
];

export const PYTHON_RULES: readonly LineRule[] = [
  ...common,
  rule('logical', /(?<=\s)(?:and|or)(?=\s)/g, swaps('and or')),
  rule('return', /(?<=^\s*return\s+)(?:True|False|\d+)(?=\s*$)/g, otherValue),
  rule('return', /(?<=^\s*return\s+)(?!(?:None|True|False|\d+)\s*$)\S.*?(?=\s*$)/g, found =>
    isBalanced(found) ? 'None' : undefined,
  ),
  rule('return', /(?<=^\s*)return(?=\s*$)/g, () => 'pass'),
  rule('equality', /(?<=\s)is(?: not)?(?=\s)/g, { is: 'is not', 'is not': 'is' }),
  rule('literal', /\b(?:True|False)\b/g, swaps('True False')),
  rule('negation', /(?<!\bis\s+)\bnot\s+(?!in\b)/g, () => ''),
];

export const SHELL_RULES: readonly LineRule[] = [
  rule('boundary', /(?<=\s)-(?:lt|le|gt|ge)(?=\s)/g, swaps('-lt -le, -gt -ge')),
  rule('boundary', /(?<=\(\(.*\s)(?:<=|>=|<|>)(?=\s.*\)\))/g, BOUNDARY),
  rule('logical', /(?<=\s)(?:&&|\|\|)(?=\s)/g, LOGICAL),
  rule('return', /(?<=\b(?:return|exit)\s+)\d+\b/g, otherValue),
  rule('arithmetic', /(?<=\(\([^)]*[\w)]\s?)[-+*/%](?=\s?[\w($])/g, ARITHMETIC),
  rule('equality', /(?<=\[\s.*\s)(?:==?|!=)(?=\s.*\])/g, { '=': '!=', '==': '!=', '!=': '=' }),
  rule('equality', /(?<=\s)-(?:eq|ne)(?=\s)/g, swaps('-eq -ne')),
  rule('literal', /(?<=[\s=])\d+(?=\s|$|;)/g, (found, line) =>
    /\b(?:sleep|timeout|chmod|kill|umask|ulimit|exit|return)\b/.test(line) ? undefined : oneMore(found),
  ),
  rule('negation', /(?<=^\s*(?:if|elif|while)?\s*)!\s+(?=\S)/g, () => ''),
  rule('negation', /(?<=\[\s+)-[zn](?=\s)/g, swaps('-z -n')),
];

/** Every bracket that it opens it also closes. */
export function isBalanced(code: string): boolean {
  let depth = 0;
  for (const letter of code) {
    if ('([{'.includes(letter)) depth++;
    if (')]}'.includes(letter) && --depth < 0) return false;
  }
  return depth === 0;
}
