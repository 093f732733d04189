/** Words and shells: how a user's command line becomes arguments, and arguments become something to show. */

/** A command for the user's shell. By its path: a search would be made for every check. */
export function shellCommand(command: string): readonly [string, ...string[]] {
  return ['/bin/sh', '-c', command];
}

/** Copied once: node asks the system for each variable each time. */
export function environment(): NodeJS.ProcessEnv {
  return { ...process.env };
}

/** Splits a line into words as a POSIX shell would, quotes and backslashes honoured, nothing expanded. */
export function splitWords(line: string): readonly string[] {
  const words: string[] = [];
  const pattern = /'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])|([^\s'"\\]+)|(\s+)|(['"\\])/g;
  let word: string | undefined;
  for (const [, single, double, escaped, plain, space, stray] of line.matchAll(pattern)) {
    if (space !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    const piece = single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? stray ?? '';
    word = (word ?? '') + piece;
  }
  if (word !== undefined) words.push(word);
  return words;
}

/** `--model opus` in one string is two words. A value of its own, such as `key="a b"`, is left as it is. */
export function splitFlag(flag: string): readonly string[] {
  return /^-\S*\s/.test(flag) ? splitWords(flag) : [flag];
}

/** Arguments as one line that could be pasted into a shell. */
export function joinWords(words: readonly string[]): string {
  return words
    .map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}
