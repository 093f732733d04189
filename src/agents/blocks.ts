/** The records that claude, amp and qwen share: messages made of content blocks, tool results in user records. */

import { defined } from '../domain/text/fields.ts';
import { type Json, objectAt, objectsAt, stringAt, wordAt } from '../domain/text/json.ts';
import type { AgentEvent } from '../domain/turn/agent-event.ts';
import type { RefusedCall } from '../domain/turn/refusals.ts';
import type { Tokens } from '../domain/turn/usage.ts';
import { asideEvents, textEvents, tokensAt, toolEnd, toolStart, withCached } from './events.ts';

/** The words, tools and tokens of an `assistant` record. `tokensOf` reads its usage as the agent means it. */
export function assistantEvents(
  record: Json,
  tokensOf: (usage: Json) => Tokens | undefined,
): readonly AgentEvent[] {
  const message = objectAt(record, 'message');
  const subagent = wordAt(record, 'parent_tool_use_id') !== undefined;
  const id = wordAt(message, 'id');
  const events = objectsAt(message, 'content').flatMap(block => blockEvents(block, subagent, id));
  const usage = objectAt(message, 'usage');
  const tokens = usage && tokensOf(usage);
  if (!tokens) return events;
  const model = subagent ? undefined : wordAt(message, 'model');
  return [...events, { kind: 'usage', scope: 'part', tokens, ...defined({ id, model }) }];
}

function blockEvents(block: Json, subagent: boolean, message: string | undefined): readonly AgentEvent[] {
  const type = stringAt(block, 'type') ?? '';
  switch (type) {
    case 'text':
      return subagent
        ? asideEvents('subagent', stringAt(block, 'text'))
        : textEvents(stringAt(block, 'text'), message);
    case 'thinking':
      return asideEvents('thinking', stringAt(block, 'thinking'));
    case 'redacted_thinking':
      return [];
    case 'tool_use':
    case 'server_tool_use':
      return toolStart({
        id: stringAt(block, 'id') ?? '',
        name: stringAt(block, 'name') ?? '',
        input: block.input,
        subagent,
      });
    default:
      return [{ kind: 'unknown', what: `assistant ${type}` }];
  }
}

/** All text in a message, for messages that are not the agent's own. */
export function messageText(record: Json): string {
  return textOf(objectAt(record, 'message')?.content);
}

/** What an agent hides in the text of a tool result. */
export interface ToolReply {
  readonly text: string;
  readonly exitCode?: number | undefined;
}

/** The tool results of a `user` record. Everything else in it is somebody else's words: the prompt, a hook, a nudge. */
export function toolResultEvents(
  record: Json,
  replyOf: (text: string, isError: boolean) => ToolReply,
): readonly AgentEvent[] {
  const subagent = wordAt(record, 'parent_tool_use_id') !== undefined;
  return objectsAt(objectAt(record, 'message'), 'content')
    .filter(block => block.type === 'tool_result')
    .map(block => {
      const isError = block.is_error === true;
      const reply = replyOf(textOf(block.content), isError);
      return toolEnd({ id: stringAt(block, 'tool_use_id') ?? '', ok: !isError, ...reply, subagent });
    });
}

/** `permission_denials` of a `result` record: also what hooks did not allow. */
export function deniedIn(record: Json): { readonly refused?: readonly RefusedCall[] } {
  const refused = objectsAt(record, 'permission_denials').map(denial => ({
    id: stringAt(denial, 'tool_use_id') ?? '',
    ...defined({ tool: wordAt(denial, 'tool_name') }),
  }));
  return refused.length === 0 ? {} : { refused };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const texts = objectsAt({ content }, 'content').map(block => stringAt(block, 'text') ?? '');
  return texts.filter(text => text !== '').join('\n');
}

/** Tokens where `input_tokens` leaves the cached ones out, as the Messages API has it. */
export function uncachedTokens(usage: Json): Tokens {
  return withCached(
    tokensAt(usage, {
      input: 'input_tokens',
      output: 'output_tokens',
      cacheRead: 'cache_read_input_tokens',
      cacheWrite: 'cache_creation_input_tokens',
    }),
  );
}
