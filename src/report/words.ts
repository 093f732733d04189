/** How text from outside stands in a line: as it is on a terminal, as code in Markdown, where it would be rendered otherwise. */
import { phrase } from './phrases.ts';

export interface Words {
  /** Any text. */
  say(text: string): string;
  /** A command. */
  code(text: string): string;
}

export const TERMINAL_WORDS: Words = { say: phrase, code: text => `\`${phrase(text)}\`` };

/**
 * In a code span nothing is a link, an image, a heading, HTML or a mention of somebody. Plain words need none.
 */
export const MARKDOWN_WORDS: Words = {
  say(text) {
    const line = phrase(text);
    return line === '' || (PLAIN.test(line) && !ISSUE.test(line)) ? line : codeSpan(line);
  },
  code: text => codeSpan(phrase(text)),
};

const PLAIN = /^[A-Za-z0-9]+(?:(?: · |: |; |, |[ -])[A-Za-z0-9]+)*$/;

/** GitHub makes a link of it, and closes it after a word such as `closes`. */
const ISSUE = /\bGH-\d/i;

/** With a fence that nothing inside can close. */
function codeSpan(line: string): string {
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(run => run[0].length));
  const fence = '`'.repeat(longest + 1);
  const pad = line === '' || /^`|`$|^ .* $/.test(line) ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
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
