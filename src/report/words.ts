/** How text from outside stands in a line: as it is on a terminal, as code in Markdown, where it would be rendered otherwise. */
import { phrase, reasonPhrase } from './phrases.ts';

export interface Words {
  /** Any text. */
  say(text: string): string;
  /** Why something stopped, with what to do next. */
  reason(text: string): string;
  /** A command. */
  code(text: string): string;
}

export const TERMINAL_WORDS: Words = {
  say: phrase,
  reason: reasonPhrase,
  code: text => `\`${phrase(text)}\``,
};

/**
 * In a code span nothing is a link, an image, a heading, HTML or a mention of somebody. Plain words need none.
 */
export const MARKDOWN_WORDS: Words = {
  say: text => unlessPlain(phrase(text)),
  reason: text => unlessPlain(reasonPhrase(text)),
  code: text => codeSpan(phrase(text)),
};

const PLAIN = /^[A-Za-z0-9]+(?:(?: · |: |; |, |[ -])[A-Za-z0-9]+)*$/;

/** GitHub makes a link of it, and closes it after a word such as `closes`. */
const ISSUE = /\bGH-\d/i;

function unlessPlain(line: string): string {
  return line === '' || (PLAIN.test(line) && !ISSUE.test(line)) ? line : codeSpan(line);
}

/** With a fence that nothing inside can close. */
function codeSpan(line: string): string {
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(run => run[0].length));
  const fence = '`'.repeat(longest + 1);
  const pad = line === '' || /^`|`$|^ .* $/.test(line) ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}

/** A bar ends the cell of a table, in code as well, unless a backslash stands before it that no other one has taken. */
export function tableCell(text: string): string {
  return text.replace(/\\*\|/g, found => `${'\\'.repeat((found.length - 1) | 1)}|`);
}

/** Text inside HTML and XML. */
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, sign => ENTITIES[sign] ?? sign);
}
