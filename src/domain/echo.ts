/**
 * An agent without a structured stream may print its prompt back, and a prompt that explains the completion tag
 * holds that tag. Such a line is not the agent's own word. A line counts as an echo when it holds a whole line of
 * the prompt that says more than the bare tag, or the bare tag right after the prompt line that came before it.
 */
export function createEchoFilter(prompt: string, tag: string): ((line: string) => boolean) | undefined {
  const open = `<${tag}>`;
  if (!prompt.toLowerCase().includes(open)) return undefined;
  const telling: string[] = [];
  const beforeBare: string[] = [];
  let previous = '';
  for (const raw of prompt.split('\n')) {
    const line = raw.trim();
    if (line === '') continue;
    if (line.toLowerCase().includes(open)) {
      if (isBareTag(line, tag)) beforeBare.push(previous);
      else telling.push(line);
    }
    previous = line;
  }
  let last = '';
  return raw => {
    const line = raw.trim();
    const before = last;
    if (line !== '') last = line;
    if (!line.toLowerCase().includes(open)) return false;
    if (telling.some(each => line.includes(each))) return true;
    return isBareTag(line, tag) && beforeBare.some(each => each !== '' && before.includes(each));
  };
}

function isBareTag(line: string, tag: string): boolean {
  return new RegExp(`^<${tag}>[^<]*</${tag}>$`, 'i').test(line);
}
