/** Text from outside that stands at a forge: it mentions nobody, closes nothing, and is not rendered. */

/** GitHub closes what follows one of these words, in a description and in a commit. */
const CLOSING =
  /\b(clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing))(:?\s+)(?=#|GH-|https?:|[\w.-]+\/[\w.-]+#)/gi;

/** A character that nobody sees and that ends a name. */
const BREAK = '\u200b';

/** For a title, in which nothing can be put into code. One line. */
export function defuseTitle(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  const title = line
    .replace(CLOSING, `$1$2${BREAK}`)
    .replace(/@(?=[\w-])/g, `@${BREAK}`)
    .replace(/</g, '‹');
  return [...title].slice(0, LONGEST_TITLE).join('') || 'Work of a run';
}

const LONGEST_TITLE = 120;
