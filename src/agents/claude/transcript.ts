/** The agent's final message, from the end of Claude Code's transcript. The cost does not grow with its length. */
import type { HookInput } from '../dialect.ts';
import { lastText, waitFor } from '../transcript.ts';

/** Claude Code writes the transcript a moment after it has called the hook. */
const PATIENCE = 1_000;

/**
 * Every text block of the final message. The input holds only the last block, or nothing when thinking came after it; so
 * the transcript is read too, until it holds that message or the patience is over.
 */
export async function finalWords(input: HookInput): Promise<readonly string[]> {
  const known = input.lastWords === null ? [] : [input.lastWords];
  if (input.transcript === null) return known;
  const { transcript, lastWords } = input;
  const message = await waitFor(PATIENCE, () => {
    const last = lastMessage(transcript);
    return last && isFinal(last, lastWords) ? last : undefined;
  });
  return message?.texts ?? known;
}

interface Message {
  readonly texts: readonly string[];
  readonly hasToolUse: boolean;
}

function isFinal({ texts, hasToolUse }: Message, lastWords: string | null): boolean {
  if (lastWords !== null) return texts.some(text => text.trim() === lastWords.trim());
  return !hasToolUse;
}

/** One message is several lines with the same id, a block on each. Sub-agents and the client's own words do not count. */
function lastMessage(path: string): Message | undefined {
  let id: unknown;
  const texts: string[] = [];
  let hasToolUse = false;
  for (const line of linesBackwards(lastText(path))) {
    const message = assistantMessage(line);
    if (!message) continue;
    id ??= message.id;
    if (message.id !== id) break;
    for (const block of [...message.content].reverse()) {
      if (block.type === 'text' && typeof block.text === 'string') texts.unshift(block.text);
      if (block.type === 'tool_use') hasToolUse = true;
    }
  }
  return id === undefined ? undefined : { texts, hasToolUse };
}

/** Line by line from the end: as a rule the first few are all that is wanted. */
function* linesBackwards(text: string): Iterable<string> {
  for (let end = text.length; end >= 0; ) {
    const start = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
    yield text.slice(start, end);
    end = start - 1;
  }
}

interface Block {
  readonly type?: unknown;
  readonly text?: unknown;
}

function assistantMessage(
  line: string,
): { readonly id: unknown; readonly content: readonly Block[] } | undefined {
  if (!line.includes('"assistant"')) return undefined;
  try {
    const { type, isSidechain, message } = JSON.parse(line);
    if (type !== 'assistant' || isSidechain === true || message?.model === '<synthetic>') return undefined;
    const content = Array.isArray(message?.content) ? message.content : [];
    return {
      id: message?.id,
      content: content.filter((block: unknown) => typeof block === 'object' && block !== null),
    };
  } catch {
    return undefined; // the window or the host has cut it
  }
}
