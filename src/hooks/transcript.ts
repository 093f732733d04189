/** The agent's final message, from the end of the host's transcript. The cost does not grow with its length. */
import { fileSize, readSlice } from '../platform/files.ts';
import { type HookInput, type Json, parseObject } from './host.ts';

/** The host writes the transcript a moment after it has called the hook. */
const PATIENCE = 1_000;
const LOOK_EVERY = 10;
const WINDOW = 256 * 1024;

/**
 * Every text block of the final message. What the host tells in its input is only the last block, or nothing when thinking
 * came after it; so the transcript is asked too, until it holds that message or the patience is over.
 */
export async function finalWords(input: HookInput): Promise<readonly string[]> {
  const told = input.lastWords === null ? [] : [input.lastWords];
  if (input.transcript === null) return told;
  const { transcript, lastWords } = input;
  const message = await patiently(PATIENCE, () => {
    const last = lastMessage(transcript);
    return last && isFinal(last, lastWords) ? last : undefined;
  });
  return message?.texts ?? told;
}

/** Looks again and again until there is something, or the patience is over. */
export async function patiently<Found>(
  patience: number,
  look: () => Found | undefined,
): Promise<Found | undefined> {
  for (let waited = 0; ; waited += LOOK_EVERY) {
    const found = look();
    if (found !== undefined || waited >= patience) return found;
    await new Promise(resolve => setTimeout(resolve, LOOK_EVERY));
  }
}

/** The records at the end of a file of JSON lines; what the window or the host has cut is left out. */
export function lastRecords(path: string, window = WINDOW): readonly Json[] {
  return lastText(path, window)
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(parseObject)
    .filter(record => record !== undefined);
}

function lastText(path: string, window = WINDOW): string {
  try {
    return readSlice(path, Math.max(0, fileSize(path) - window), window);
  } catch {
    return ''; // a folder, a path that is none, a file that is not ours to read
  }
}

/** Line by line from the end: as a rule the first few are all that is wanted. */
function* backwards(text: string): Iterable<string> {
  for (let end = text.length; end >= 0; ) {
    const start = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
    yield text.slice(start, end);
    end = start - 1;
  }
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
  for (const line of backwards(lastText(path))) {
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
