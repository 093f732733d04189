/** What a host says to a hook, and what a hook may answer, whichever host it is. */
import type { ContextUse } from '../domain/session/context-alert.ts';
import type { HookPoint } from '../domain/session/hook-orders.ts';
import { countAt, type Json } from '../domain/text/json.ts';

/** The input of a hook, read with care: every field may be missing or of another kind. */
export interface HookInput {
  readonly event: string;
  readonly sessionId: string;
  /** null where the host does not number its prompts. */
  readonly promptId: string | null;
  readonly cwd: string;
  readonly transcript: string | null;
  /** The agent's last words, as far as the input holds them. */
  readonly lastWords: string | null;
  /** The user has broken the turn off, as far as the host says so. */
  readonly isInterrupted: boolean;
  /** Sub-agents that run in the background and will come back with another turn. */
  readonly pending: number;
  /** Commands that run in the background; one that ends comes back with another turn, one that serves never does. */
  readonly shells: readonly string[];
  /** What the agent has put down to be reminded of later: each comes back as a prompt. */
  readonly wakeUps: readonly string[];
  /** Set when the hook runs inside a sub-agent. */
  readonly inSubagent: boolean;
  readonly prompt: string;
  /** Why a session starts: new, resumed, after a compaction. */
  readonly source: string;
  readonly commandName: string;
  readonly commandArguments: string;
  /** Tool calls since the last stop, where the host's plugin counts them itself; else 0. */
  readonly countedCalls: number;
  /** The tool that is about to run. */
  readonly tool: ToolCall;
  /** When the host says that it called, in milliseconds. */
  readonly calledAt: number | null;
}

export interface ToolCall {
  readonly name: string;
  readonly input: Json;
}

export type HookAnswer =
  | { readonly kind: 'nothing' }
  /** Lets it pass and shows the user a message. */
  | { readonly kind: 'say'; readonly message: string }
  /** Keeps a tool from running. */
  | { readonly kind: 'deny'; readonly reason: string }
  /** Sends the agent back to its task. */
  | {
      readonly kind: 'block';
      readonly reason: string;
      readonly message: string;
      readonly warning?: string;
      /** The reason for an agent that remembers nothing: with the rules of the loop. */
      readonly afresh?: string;
    }
  /** Gives the agent information and lets it continue. */
  | { readonly kind: 'context'; readonly context: string; readonly message?: string };

export const NOTHING: HookAnswer = { kind: 'nothing' };

/** The prompt ends here, without a call of the model; the user reads the message. */
export function endPrompt(message: string): HookAnswer {
  return { kind: 'block', reason: message, message };
}

/** Why a host calls: beside the points at which a run wants to be called, a slash command, a prompt. */
export type Moment =
  | HookPoint
  | 'command'
  | 'prompt'
  /** Asks what the answer to a stop would be, and changes nothing. */
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

/** How a host's transcript, a file of JSON lines, shows the tool calls of the agent itself. */
export interface TranscriptCalls {
  /** Text that every line with a call holds: other lines are not parsed. */
  readonly clue: string;
  /** The ids of the calls in a record; the same call may be in several records. Sub-agents' calls are not among them. */
  idsIn(record: Json): readonly string[];
  /** The same for calls of tools that there are not, which are no work: what every line holds that says so, and their ids. */
  readonly unknownClue: string;
  unknownIn(record: Json): readonly string[];
}

/** All that differs from host to host. None of it throws. */
export interface Dialect {
  readonly host: string;
  /** What the user types before a command's name: `/ralph:`, `/` or `$`. */
  readonly prefix: string;
  /** What the host's own events are to Ralph; an event that is not here is nothing. */
  readonly moments: Readonly<Record<string, Moment>>;
  /** Files of the host that the guard keeps its agent from: what decides what it does next, and its login. */
  readonly ownFiles: { readonly settings: readonly string[]; readonly secrets: readonly string[] };
  /** Whether a call of the plugin that several hosts share comes from this one. None: if it comes from no other. */
  isCaller?(input: Json, env: NodeJS.ProcessEnv): boolean;
  readInput(text: string): HookInput | undefined;
  /** What is printed on stdout, and nothing else may be. */
  writeAnswer(event: string, answer: HookAnswer): string;
  /** The folder in which the session began. */
  rootOf(input: HookInput, env: NodeJS.ProcessEnv): string;
  /**
   * Every text of the agent's final message; undefined: nothing is known of it; null: there is none, the turn was broken off. `since`: the
   * length of the transcript at the last stop.
   */
  finalWords(input: HookInput, since: number): Promise<readonly string[] | undefined | null>;
  /** null: there is no transcript to read, and the host's plugin counts the calls. */
  readonly calls: TranscriptCalls | null;
  /** Whether hooks before a tool know where the transcript is. */
  readonly toolHookKnowsTranscript: boolean;
  /** What a record of the transcript says of the context; undefined when it says nothing. */
  contextUse(record: Json): ContextUse | undefined;
  capOf(env: NodeJS.ProcessEnv): Cap | undefined;
}

/** The sum of those of these numbers that are there. */
export function sumAt(counts: Json | undefined, ...keys: readonly string[]): number {
  return keys.reduce((total, key) => total + (countAt(counts, key) ?? 0), 0);
}

/**
 * A command in the prompt itself, for hosts that have no event for it. `$` is how Codex calls a skill, and
 * `source-command-` what it puts before the skill that it makes of a command.
 */
const COMMAND =
  /^\s*[/$](?:ralph:)?(?:source-command-)?(ralph-loop|ulw-loop|cancel-ralph|hand-over|(?<=ralph:)help)(?:\s+([\s\S]*))?$/;

export function commandIn(prompt: string): Pick<HookInput, 'commandName' | 'commandArguments'> {
  const [, commandName = '', rest = ''] = COMMAND.exec(prompt) ?? [];
  return { commandName, commandArguments: rest.trimEnd() };
}

/** For hosts that escape what a hook says: the agent must know to write the tag with real brackets. */
export function unescapedNote(text: string): string {
  if (!/[<>&]/.test(text)) return text;
  return `In this text the host has replaced angle brackets and ampersands by HTML entities. Read them as the characters they stand for, and write the tag with real angle brackets.\n\n${text}`;
}
