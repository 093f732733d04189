/** What a host tells a hook, and what a hook may answer, whichever host it is. */
import type { HookPoint } from '../domain/hook-orders.ts';
import type { ToolCall } from './tool-call.ts';

/** The input of a hook, read with care: every field may be missing or of another kind. */
export interface HookInput {
  readonly event: string;
  readonly sessionId: string;
  /** null where the host does not number its prompts. */
  readonly promptId: string | null;
  readonly cwd: string;
  readonly transcript: string | null;
  /** The last words of the agent, as far as the host tells them. */
  readonly lastWords: string | null;
  /** Sub-agents that run in the background and will come back with another turn. */
  readonly pending: number;
  /** Set when the hook runs inside a sub-agent. */
  readonly inSubagent: boolean;
  readonly prompt: string;
  /** Why a session starts: afresh, resumed, after a compaction. */
  readonly source: string;
  readonly commandName: string;
  readonly commandArguments: string;
  /** How many tools were called. */
  readonly toolCalls: number;
  /** The tool that is about to run. */
  readonly tool: ToolCall;
  /** When the host says that it called, in milliseconds. */
  readonly calledAt: number | null;
}

export type HookAnswer =
  | { readonly kind: 'nothing' }
  /** Lets it pass and tells the user. */
  | { readonly kind: 'say'; readonly message: string }
  /** Keeps a tool from running. */
  | { readonly kind: 'deny'; readonly reason: string }
  /** Sends the agent back to work. */
  | {
      readonly kind: 'block';
      readonly reason: string;
      readonly message: string;
      readonly warning?: string;
      /** The reason for an agent that remembers nothing: with the rules of the loop. */
      readonly afresh?: string;
    }
  /** Tells the agent something and lets it go on. */
  | { readonly kind: 'context'; readonly context: string; readonly message?: string };

export const NOTHING: HookAnswer = { kind: 'nothing' };

/** Why a host calls: beside the points at which a run wants to be called, a slash command, a prompt. */
export type Moment =
  | HookPoint
  | 'command'
  | 'prompt'
  /** Asks what a stop would come to, and changes nothing. */
  | 'peek';

/** How often a host lets a hook refuse a stop before it overrules it. */
export interface Cap {
  readonly host: string;
  readonly blocks: number;
  /** Whether a tool call begins the count anew. */
  readonly toolsReset: boolean;
  /** What the user can do about it. */
  readonly lift: string;
}

/** All that differs from host to host. None of it throws. */
export interface Dialect {
  readonly host: string;
  /** What the user types before a command's name: `/ralph:`, `/` or `$`. */
  readonly prefix: string;
  /** What the host's own events are to Ralph; an event that is not here is nothing. */
  readonly moments: Readonly<Record<string, Moment>>;
  readInput(text: string): HookInput | undefined;
  /** What goes to stdout, and nothing else may. */
  writeAnswer(event: string, answer: HookAnswer): string;
  /** The folder in which the session began. */
  rootOf(input: HookInput, env: NodeJS.ProcessEnv): string;
  /** Every text of the agent's final message. */
  finalWords(input: HookInput): Promise<readonly string[]>;
  capOf(env: NodeJS.ProcessEnv): Cap | undefined;
  /** How much of the agent's final message a stop's input holds: all of it, its last text, nothing to rely on. */
  readonly told: 'whole' | 'last' | 'not';
  /** What its input calls the number of a prompt. */
  readonly promptField: string;
}

export type Json = Readonly<Record<string, unknown>>;

/** undefined unless it is an object. */
export function parseObject(text: string): Json | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Json) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A command in the prompt itself, for hosts that have no event for it. `$` is how Codex calls a skill, and
 * `source-command-` what it puts before the skill that it makes of a command.
 */
const COMMAND =
  /^\s*[/$](?:ralph:)?(?:source-command-)?(ralph-loop|ulw-loop|cancel-ralph|(?<=ralph:)help)(?:\s+([\s\S]*))?$/;

export function commandIn(prompt: string): Pick<HookInput, 'commandName' | 'commandArguments'> {
  const [, commandName = '', rest = ''] = COMMAND.exec(prompt) ?? [];
  return { commandName, commandArguments: rest.trimEnd() };
}

/** For hosts that escape what a hook says: the agent must know to write the tag with real brackets. */
export function unescapedNote(text: string): string {
  if (!/[<>&]/.test(text)) return text;
  return `In this text the host has replaced angle brackets and ampersands by HTML entities. Read them as the characters they stand for, and write the tag with real angle brackets.\n\n${text}`;
}
