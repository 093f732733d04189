/**
 * What an agent's stream says, whichever agent it is. An adapter turns one line into a list of these;
 * `turn.ts` folds the list into a Turn. Nothing here depends on the line before.
 */
import type { Trouble } from './trouble.ts';
import type { Estimate, Tokens } from './usage.ts';

export type TodoStatus = 'pending' | 'active' | 'done';

/** An item of an agent's own list of what to do. */
export interface TodoItem {
  readonly text: string;
  readonly status: TodoStatus;
}

/** What an agent says and does in a turn, as its adapter reads it from the stream. */
export type AgentEvent =
  /** The session began, or reported its model; `version` is that of the agent itself. */
  | {
      readonly kind: 'session';
      readonly sessionId?: string;
      readonly model?: string;
      readonly version?: string;
    }
  /**
   * The agent's own words. `delta` marks a fragment of a stream, the first one too: the next continues it without a break.
   * `message` names the message it belongs to, where the agent says so.
   */
  | { readonly kind: 'text'; readonly text: string; readonly delta?: true; readonly message?: string }
  /** Words that are not the agent's own claim: thinking, or a sub-agent's talk. Shown, never searched. */
  | { readonly kind: 'aside'; readonly from: 'thinking' | 'subagent'; readonly text: string }
  | {
      readonly kind: 'tool-start';
      readonly id: string;
      readonly name: string;
      /** The one thing a reader wants to see of the input: the command, the path, the query. */
      readonly summary: string;
      readonly subagent?: true;
    }
  | {
      readonly kind: 'tool-end';
      readonly id: string;
      readonly ok: boolean;
      readonly output: ToolOutput;
      readonly exitCode?: number;
      readonly subagent?: true;
    }
  | { readonly kind: 'todo'; readonly items: readonly TodoItem[] }
  /**
   * Tokens or money. `part` adds up over its different `id`s, the last one of an id counts (an agent repeats
   * the usage on each block of a message); `total` replaces everything before it.
   */
  | {
      readonly kind: 'usage';
      readonly scope: 'part' | 'total';
      readonly id?: string;
      readonly tokens?: Tokens;
      readonly cost?: number;
      readonly model?: string;
      /** Put there by Ralph, not by an adapter: the cost of these tokens by a table of prices, where the agent reports none. */
      readonly estimate?: Estimate;
    }
  /** The agent says its turn has ended. It may continue afterwards and say so again; the last one counts. */
  | {
      readonly kind: 'result';
      readonly ok: boolean;
      readonly error?: string;
      /** The agent's own count of tool calls, where it has one. */
      readonly toolCalls?: number;
      readonly modelTurns?: number;
      /** Its last words once more. They count only if no others came: then this record is all there is. */
      readonly finalText?: string;
    }
  /** Something went wrong in the agent or behind it. `retrying` means that the agent is dealing with it. */
  | { readonly kind: 'trouble'; readonly trouble: Trouble; readonly retrying: boolean }
  /** A line for the display: a retry, a compaction, a hook that spoke. */
  | { readonly kind: 'progress'; readonly text: string }
  /** A record we do not know. Kept, counted, never a crash. */
  | { readonly kind: 'unknown'; readonly what: string };

/** A tool's output, cut for display; the counts are of the whole. */
export interface ToolOutput {
  readonly preview: string;
  readonly lines: number;
  readonly chars: number;
}

const PREVIEW_CHARS = 2_000;

export function toolOutput(text: string): ToolOutput {
  const chars = text.length;
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  if (chars > 0 && !text.endsWith('\n')) lines++;
  return { preview: text.slice(0, PREVIEW_CHARS), lines, chars };
}
