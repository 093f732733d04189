/**
 * What an agent's stream says, whichever agent it is. An adapter turns one line into a list of these;
 * `turn.ts` folds the list into a Turn. Nothing here depends on the line before.
 */
import { refusedCall, tokens, trouble } from '../run/event-parts.ts';
import {
  boolean,
  list,
  mark,
  maybe,
  number,
  object,
  oneOf,
  partOf,
  type RowOf,
  record,
  text,
  word,
} from '../run/shape.ts';
import type { Estimate } from './usage.ts';

export type TodoStatus = 'pending' | 'active' | 'done';

/** An item of an agent's own list of what to do. */
export interface TodoItem {
  readonly text: string;
  readonly status: TodoStatus;
}

/** A tool's output, cut for display; the counts are of the whole. */
export interface ToolOutput {
  readonly preview: string;
  readonly lines: number;
  readonly chars: number;
}

const AGENT_EVENTS = {
  /** The session began, or reported its model; `version` is that of the agent itself. */
  session: record({ sessionId: maybe(text), model: maybe(text), version: maybe(text) }),
  /**
   * The agent's own words. `delta` marks a fragment of a stream, the first one too: the next continues it without a break.
   * `message` names the message it belongs to, where the agent says so.
   */
  text: record({ text, delta: mark, message: maybe(text) }),
  /** Words that are not the agent's own claim: thinking, or a sub-agent's talk. Shown, never searched. */
  aside: record({ from: word<'thinking' | 'subagent'>(), text }),
  'tool-start': record({
    id: text,
    name: text,
    /** The one thing a reader wants to see of the input: the command, the path, the query. */
    summary: text,
    subagent: mark,
  }),
  'tool-end': record({
    id: text,
    ok: boolean,
    output: partOf<ToolOutput>(record({ preview: text, lines: number })),
    exitCode: maybe(number),
    subagent: mark,
  }),
  todo: record({ items: list(object<TodoItem>()) }),
  /**
   * Tokens or money. `part` adds up over its different `id`s, the last one of an id counts (an agent repeats
   * the usage on each block of a message); `total` replaces everything before it.
   */
  usage: record({
    scope: word<'part' | 'total'>(),
    id: maybe(text),
    tokens: maybe(tokens),
    cost: maybe(number),
    model: maybe(text),
    /** Put there by Ralph, not by an adapter: the cost of these tokens by a table of prices, where the agent reports none. */
    estimate: maybe(partOf<Estimate>(record({ cost: maybe(number), source: maybe(text) }))),
  }),
  /** The agent says its turn has ended. It may continue afterwards and say so again; the last one counts. */
  result: record({
    ok: boolean,
    error: maybe(text),
    /** The agent's own count of tool calls, where it has one. */
    toolCalls: maybe(number),
    modelTurns: maybe(number),
    /** Its last words once more. They count only if no others came: then this record is all there is. */
    finalText: maybe(text),
    /** Tool calls that were refused, those of the guard among them, where the agent lists them at the end. */
    refused: maybe(list(refusedCall)),
  }),
  /** Something went wrong in the agent or behind it. `retrying` means that the agent is dealing with it. */
  trouble: record({
    trouble,
    retrying: boolean,
    /** The tool call that was refused, where that is the trouble. */
    call: maybe(refusedCall),
  }),
  /** A line for the display: a retry, a compaction, a hook that spoke. */
  progress: record({ text }),
  /** A record we do not know. Kept, counted, never a crash. */
  unknown: record({ what: text }),
};

export const agentEvent = oneOf('kind', AGENT_EVENTS);

/** What an agent says and does in a turn, as its adapter reads it from the stream: one of the rows, with its name as `kind`. */
export type AgentEvent = RowOf<typeof AGENT_EVENTS, 'kind'>;

const PREVIEW_CHARS = 2_000;

export function toolOutput(text: string): ToolOutput {
  const chars = text.length;
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  if (chars > 0 && !text.endsWith('\n')) lines++;
  return { preview: text.slice(0, PREVIEW_CHARS), lines, chars };
}
