/** What an agent reports while it works, as `session/update` notifications of the Agent Client Protocol. */

import { defined } from '../../domain/text/fields.ts';
import {
  asObject,
  countAt,
  type Json,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  wordAt,
} from '../../domain/text/json.ts';
import type { AgentEvent, TodoStatus } from '../../domain/turn/agent-event.ts';
import type { Tokens } from '../../domain/turn/usage.ts';
import {
  asideEvents,
  oneLine,
  progressEvents,
  retrying,
  summarise,
  tokensAt,
  toolEnd,
  withCached,
} from '../events.ts';

export function createUpdates() {
  const calls = createCalls();
  const words = createWords();
  let cost: number | undefined;
  const tool = (events: readonly AgentEvent[]) => {
    if (events.length > 0) words.forgetError();
    return events;
  };
  return {
    hear(update: Json): readonly AgentEvent[] {
      switch (stringAt(update, 'sessionUpdate')) {
        case 'agent_message_chunk':
          return words.hear(update, calls.isOpen());
        case 'agent_thought_chunk':
          return asideEvents(calls.isOpen() ? 'subagent' : 'thinking', textOf(update));
        case 'tool_call':
        case 'tool_call_update':
          return tool(calls.hear(update));
        case 'plan':
          return [{ kind: 'todo', items: objectsAt(update, 'entries').map(todoOf) }];
        case 'usage_update':
          cost = costIn(update) ?? cost;
          return costIn(update) === undefined
            ? []
            : [{ kind: 'usage', scope: 'total', ...defined({ cost }) }];
        case 'session_info_update':
          return retryIn(update);
        default:
          return []; // commands, modes and what only one agent knows: none of it is a word or a deed
      }
    },
    /** A tool call that the agent asks permission for; some are reported nowhere else. */
    asked: (call: Json) => tool(calls.begin(call, true)),
    /** The words of the client itself with which it ended, if it did: the model has said nothing after them. */
    lastError: words.lastError,
    /** What was used, where the answer to the prompt says so, and the cost as it was last reported. */
    used: (result: Json, agent: string) => usageOf(result, agent, cost),
  };
}

/** The tool calls of a turn, by their ids, over all that mentions one. */
function createCalls() {
  const open = new Set<string>();
  const begun = new Set<string>();
  const begin = (call: Json, isReady: boolean): readonly AgentEvent[] => {
    const id = stringAt(call, 'toolCallId') ?? '';
    if (begun.has(id)) return [];
    open.add(id);
    // Some are announced before their input is known.
    if (!isReady && Object.keys(asObject(call.rawInput) ?? {}).length === 0) return [];
    begun.add(id);
    return [startOf(id, call)];
  };
  return {
    begin,
    isOpen: () => open.size > 0,
    hear(update: Json): readonly AgentEvent[] {
      const id = stringAt(update, 'toolCallId') ?? '';
      const status = stringAt(update, 'status') ?? '';
      const ended = ENDED.has(status);
      if (ended && begun.has(id) && !open.has(id)) return []; // said twice
      const started = begin(update, ended || status === 'in_progress');
      if (!ended) return started;
      open.delete(id);
      return [...started, toolEnd({ id, ok: status === 'completed', ...outputOf(update) })];
    },
  };
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** Message chunks: the model's words, and what is put among them that is not. */
function createWords() {
  let error: string | undefined;
  let calls = 0;
  const spoken = (text: string, update: Json, inCall: boolean): readonly AgentEvent[] => {
    // A sub-agent is a tool, and its words come while that call is open; those of some agents are not marked otherwise.
    if (inCall) return asideEvents('subagent', text);
    const isError = CLIENT_ERROR.test(text);
    if (isError) error = text.trim();
    if (isError || CLIENT_REMARK.test(text) || wordAt(objectAt(update, '_meta'), 'source'))
      return progressEvents(text);
    error = undefined;
    return [{ kind: 'text', text, delta: true, ...defined({ message: wordAt(update, 'messageId') }) }];
  };
  return {
    hear(update: Json, inCall: boolean): readonly AgentEvent[] {
      const usage = objectAt(objectAt(update, '_meta'), 'usage');
      const text = textOf(update);
      return [
        ...(usage
          ? [{ kind: 'usage', scope: 'part', id: String(++calls), tokens: tokensOf(usage) } as const]
          : []),
        ...(text ? spoken(text, update, inCall) : []),
      ];
    },
    forgetError: () => {
      error = undefined;
    },
    lastError: () => error,
  };
}

const textOf = (update: Json) => stringAt(objectAt(update, 'content'), 'text');

/** What clients put among the words of their model when a call of it has failed, and what else they remark there. */
const CLIENT_ERROR =
  /^(?:Error: |Ran into this error: |exceeded retry limit|unexpected status \d|stream (?:disconnected|error)|(?:Failed to authenticate\. )?API Error\b)/;
const CLIENT_REMARK = /^(?:Info: |\[MODE_UPDATE\] |pi v\d[\w.]*\n---|Retrying \(attempt |Retry finished\b)/;

function startOf(id: string, call: Json): AgentEvent {
  const title = wordAt(call, 'title') ?? '';
  const name = wordAt(call, 'name') ?? wordAt(call, 'kind') ?? (title.split(/\s/)[0] || 'tool');
  return { kind: 'tool-start', id, name, summary: summarise(call.rawInput) || oneLine(title) };
}

function outputOf(update: Json): { readonly text: string; readonly exitCode?: number } {
  const raw = objectAt(update, 'rawOutput');
  const meta = objectAt(update, '_meta');
  const said = objectsAt(update, 'content').map(({ content }) => stringAt(asObject(content), 'text') ?? '');
  const exitCode =
    numberAt(raw, 'exit_code') ??
    numberAt(raw, 'exitCode') ??
    numberAt(objectAt(raw, 'metadata'), 'exit') ??
    numberAt(objectAt(meta, 'terminal_exit'), 'exit_code');
  return { text: said.join('') || (stringAt(raw, 'output') ?? ''), ...defined({ exitCode }) };
}

function todoOf(entry: Json): { readonly text: string; readonly status: TodoStatus } {
  const status = stringAt(entry, 'status');
  return {
    text: wordAt(entry, 'content') ?? '',
    status: status === 'completed' ? 'done' : status === 'in_progress' ? 'active' : 'pending',
  };
}

function costIn(update: Json): number | undefined {
  const cost = objectAt(update, 'cost');
  const amount = numberAt(cost, 'amount');
  return stringAt(cost, 'currency') === 'USD' && amount !== undefined && amount >= 0 ? amount : undefined;
}

/** One agent says in the state of its session that it tries again. */
function retryIn(update: Json): readonly AgentEvent[] {
  for (const each of Object.values(objectAt(update, '_meta') ?? {})) {
    const error = objectAt(asObject(each), 'error');
    const message = wordAt(error, 'additionalDetails') ?? wordAt(error, 'message');
    if (message !== undefined && error?.willRetry === true) return [retrying({ message })];
  }
  return [];
}

/** These report the tokens of their last model call as those of the turn. */
const LAST_CALL_ONLY = /^(?:goose|opencode|kilo)$/i;

function usageOf(result: Json, agent: string, cost: number | undefined): readonly AgentEvent[] {
  const meta = objectAt(result, '_meta');
  const whole = objectAt(objectAt(meta, 'quota'), 'token_count') ?? objectAt(meta, 'usage');
  const usage = whole ?? (LAST_CALL_ONLY.test(agent) ? undefined : objectAt(result, 'usage'));
  if (!usage && cost === undefined) return [];
  return [{ kind: 'usage', scope: 'total', ...(usage && { tokens: tokensOf(usage) }), ...defined({ cost }) }];
}

/** The input holds the cached tokens or it does not: the total shows which. */
function tokensOf(usage: Json): Tokens {
  if (countAt(usage, 'input_tokens') !== undefined)
    return tokensAt(usage, { input: 'input_tokens', output: 'output_tokens' });
  const tokens = tokensAt(usage, {
    input: 'inputTokens',
    output: 'outputTokens',
    cacheRead: countAt(usage, 'cachedReadTokens') === undefined ? 'cachedInputTokens' : 'cachedReadTokens',
    cacheWrite: 'cachedWriteTokens',
  });
  const total = countAt(usage, 'totalTokens') ?? 0;
  return total > tokens.input + tokens.output ? withCached(tokens) : tokens;
}
