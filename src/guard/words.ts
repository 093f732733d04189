/** What a word of a shell script becomes, as far as that can be known before it runs. */
import type { Word, WordPart } from 'unbash';
import { UNKNOWN, UNSET } from './call.ts';

export interface Scope {
  readonly vars: Map<string, string>;
  cwd: string | undefined;
}

export interface Expander {
  readonly scope: Scope;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What a command substitution would print; undefined where that cannot be known. */
  outputOf(
    part: Extract<WordPart, { readonly type: 'CommandExpansion' | 'ProcessSubstitution' }>,
  ): string | undefined;
}

/** Longer than any list that is written by hand. */
const MOST_WORDS = 64;

/** Usually one word; an unquoted variable with blanks in it is several, braces are, and an empty one is none. */
export function expandWord(word: Word, by: Expander): readonly string[] {
  if (!word.parts) return braced(word.value);
  let words: string[] = [''];
  let isQuoted = false;
  for (const part of word.parts) {
    isQuoted ||= /Quoted|LocaleString/.test(part.type);
    words = joined(words, pieces(part, by)).slice(0, MOST_WORDS);
  }
  return isQuoted ? words : words.filter(each => each !== '');
}

/** As one text, whatever blanks are in it: the value of an assignment, a here-string. */
export function textOf(word: Word, by: Expander): string {
  if (!word.parts) return word.value;
  return word.parts.map(part => (part.type === 'BraceExpansion' ? part.text : partText(part, by))).join('');
}

/** Each inner list is words that follow each other; alternatives of a brace multiply. */
function pieces(part: WordPart, by: Expander): readonly (readonly string[])[] {
  if (part.type === 'BraceExpansion') return braced(part.text).map(each => [each]);
  const text = partText(part, by);
  const splits =
    ['SimpleExpansion', 'ParameterExpansion', 'CommandExpansion'].includes(part.type) || isAllOf(part);
  return [splits ? text.split(separators(by.scope)) : [text]];
}

/** `"$@"` and `"${list[@]}"` are as many words as there are, quoted or not. */
function isAllOf(part: WordPart): boolean {
  if (part.type !== 'DoubleQuoted' || part.parts.length !== 1) return false;
  const [only] = part.parts;
  return only?.text === '$@' || (only?.type === 'ParameterExpansion' && only.index?.value === '@');
}

function separators({ vars }: Scope): RegExp {
  const own = vars.get('IFS');
  return own ? new RegExp(`[\\s${own.replace(/[\]\\^-]/g, '\\$&')}]+`) : /\s+/;
}

function joined(words: readonly string[], alternatives: readonly (readonly string[])[]): string[] {
  const last = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  return [...before, ...alternatives.flatMap(([first = '', ...rest]) => [last + first, ...rest])];
}

function partText(part: WordPart, by: Expander): string {
  switch (part.type) {
    case 'Literal':
    case 'Glob':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return part.value;
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.map(inner => partText(inner, by)).join('');
    case 'SimpleExpansion':
      return lookUp(part.text.replace(/^\$/, ''), by);
    case 'ParameterExpansion':
      return parameter(part, by);
    case 'CommandExpansion':
      return by.outputOf(part)?.replace(/\n+$/, '') ?? UNKNOWN;
    case 'ProcessSubstitution':
      return UNKNOWN;
    default:
      return 'value' in part && typeof part.value === 'string' ? part.value : UNKNOWN;
  }
}

/** What is so in every shell, unless the script says otherwise. */
const ALWAYS: Readonly<Record<string, string>> = {
  IFS: ' ',
  SHELL: '/bin/bash',
  OSTYPE: 'linux-gnu',
  PATH: '/usr/bin:/bin',
  PPID: '$PPID',
};

function lookUp(name: string, { scope, env }: Expander): string {
  if (name === 'PWD') return scope.cwd ?? UNKNOWN;
  const known = scope.vars.get(name) ?? env[name] ?? ALWAYS[name];
  if (known !== undefined) return known;
  return /^[A-Za-z_]\w*$/.test(name) ? UNSET : UNKNOWN;
}

function parameter(part: Extract<WordPart, { readonly type: 'ParameterExpansion' }>, by: Expander): string {
  const { operation, prefix } = part;
  const own = part.index && !/^[@*]$/.test(part.index.value) ? UNKNOWN : lookUp(part.parameter, by);
  if (prefix === '#') return UNKNOWN;
  const value = prefix === '!' ? lookUp(own, by) : own;
  const isOpen = value.includes(UNKNOWN) || value.includes(UNSET);
  switch (operation?.type) {
    case undefined:
      return value;
    case 'Default':
      if (operation.operator.endsWith('+')) return textOf(operation.operand, by);
      if (operation.operator.endsWith('?')) return isOpen ? UNKNOWN : value; // it stops when there is none
      return value === UNSET ? textOf(operation.operand, by) : value;
    case 'Slice': {
      const from = Number(textOf(operation.offset, by));
      const length = operation.length ? Number(textOf(operation.length, by)) : undefined;
      if (isOpen || !Number.isInteger(from) || (length !== undefined && !Number.isInteger(length)))
        return UNKNOWN;
      return length === undefined ? value.slice(from) : value.slice(from).slice(0, length);
    }
    case 'Replace':
      return isOpen
        ? UNKNOWN
        : value.replaceAll(textOf(operation.pattern, by), () => textOf(operation.replacement, by));
    case 'Remove': {
      const cut = textOf(operation.operand, by);
      if (isOpen || /[*?[]/.test(cut)) return isOpen ? UNKNOWN : value;
      if (operation.operator.startsWith('#')) return value.startsWith(cut) ? value.slice(cut.length) : value;
      return value.endsWith(cut) ? value.slice(0, value.length - cut.length) : value;
    }
    case 'CaseModification':
      return operation.operator.startsWith('^') ? value.toUpperCase() : value.toLowerCase();
    default:
      return isOpen ? UNKNOWN : value;
  }
}

/** `a{b,c}d`; a range, or braces in braces, are left as they are. */
function braced(text: string): readonly string[] {
  const found = /^([^{]*)\{([^{}]*,[^{}]*)\}(.*)$/s.exec(text);
  if (!found) return [text];
  const [, before = '', list = '', after = ''] = found;
  return list
    .split(',')
    .flatMap(each => braced(`${before}${each}${after}`))
    .slice(0, MOST_WORDS);
}
