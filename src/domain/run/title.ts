/** What a run is about, in one line: the first line of its task, unless the user has named it. */

const LONGEST = 100;

/** undefined: there are no words in it. */
export function titleOf(task: string): string | undefined {
  for (const line of task.slice(0, 10_000).split('\n')) {
    const words = line
      .replace(/^\s*(?:#{1,6}\s+|[-*>]\s+|\d+[.)]\s+)*/, '')
      .replace(/\s+/g, ' ')
      .replace(/[*_`#]+$/, '')
      .trim();
    // How to end is no part of what it is about.
    const about = words.replace(/[^.!?;]{0,200}<(?:response|promise)>.*$/i, '').trim();
    if (/[\p{L}\p{N}]/u.test(words)) return cut(about || words);
  }
  return undefined;
}

/** At a word, where there is one. */
function cut(words: string): string {
  const all = [...words];
  if (all.length <= LONGEST) return words;
  const start = all.slice(0, LONGEST - 1).join('');
  return `${start.replace(/\s+\S{0,30}$/, '')}…`;
}
