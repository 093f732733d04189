/** What Ralph says to an agent on its stdin: the prompt, or its side of a conversation. */
import { PassThrough, type Readable } from 'node:stream';
import type { AgentAdapter, Conversation, Talk } from './agent.ts';

export interface Voice {
  readonly input: string | Readable;
  readonly conversation?: Conversation;
  onSay?(words: readonly string[]): void;
  /** It was not given the prompt yet, since it has not answered. */
  isUnanswered(): boolean;
}

/** Milliseconds until an agent must have answered; then it may work as long as its limits say. The slowest of eleven agents took six seconds; one start of one of them never answered. */
export const PATIENCE = 120_000;

/** Bytes. */
const MOST_UNREAD = 1024 * 1024;

export function createVoice(request: Talk & { readonly adapter: AgentAdapter }): Voice {
  const conversation = request.adapter.converse?.(request);
  if (!conversation) return { input: request.prompt, isUnanswered: () => false };
  const input = new PassThrough();
  input.write(conversation.opening);
  return {
    input,
    conversation,
    onSay(words) {
      if (input.writableEnded) return;
      // One that asks and never reads what is answered must not fill the memory.
      if (input.writableLength < MOST_UNREAD) for (const each of words) input.write(each);
      if (conversation.isOver()) input.end();
    },
    isUnanswered: () => !conversation.isOpen(),
  };
}
