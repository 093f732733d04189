/** A record without the words of people and agents in it: for whoever looks for a fault of Ralph, their number is enough. */

/** Whatever their length. */
const WORDS = new Set([
  ...['text', 'task', 'prompt', 'title', 'output', 'message', 'hint', 'question', 'answer', 'body'],
  ...['words', 'diff', 'notes', 'description', 'summary', 'content', 'result', 'line', 'lines', 'excerpt'],
]);
/** Longer ones are words, too, whatever they are called. */
const LONGEST = 160;

export function withoutWords(value: unknown, name = ''): unknown {
  if (typeof value === 'string')
    return value.length > LONGEST || WORDS.has(name) ? `[${value.length} characters]` : value;
  if (Array.isArray(value)) return value.map(each => withoutWords(each, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutWords(each, key)]));
}
