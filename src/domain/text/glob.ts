/** Patterns with wildcards: the one place that says what they mean. Protected paths are the exception: git matches those itself. */

/** Of paths, as git's `:(glob)`: a double star is any folders, `*` anything in a name, `?` one character of it. */
const IN_PATHS: Readonly<Record<string, string>> = {
  '**/': '(?:[\\s\\S]*/)?',
  '**': '[\\s\\S]*',
  '*': '[^/]*',
  '?': '[^/]',
};

/** Of any other text: `*` stands for anything. */
const IN_TEXT: Readonly<Record<string, string>> = {
  '**/': '[\\s\\S]*/',
  '**': '[\\s\\S]*',
  '*': '[\\s\\S]*',
};

/** `orBelow`: a pattern of a folder stands for all that is in it, too. */
export function pathPattern(glob: string, { orBelow = false } = {}): RegExp {
  return new RegExp(`^${sourceOf(glob, IN_PATHS)}${orBelow ? '(?:/[\\s\\S]*)?' : ''}$`);
}

export function matchesText(text: string, pattern: string, { ignoreCase = false } = {}): boolean {
  return new RegExp(`^${sourceOf(pattern, IN_TEXT)}$`, ignoreCase ? 'i' : '').test(text);
}

function sourceOf(pattern: string, wildcards: Readonly<Record<string, string>>): string {
  return pattern.replace(/\*\*\/|\*\*|[*?.+^${}()|[\]\\]/g, token => wildcards[token] ?? `\\${token}`);
}
