/**
 * What Ralph needs to know of an agent CLI: how to call it, how to read one line of its stream, what it can report.
 * An adapter is data plus a few pure functions. Adapters never import each other.
 */
import type { AgentEvent } from '../domain/turn/agent-event.ts';
import type { HookEvents, HookWish, TurnFolder } from './hooks.ts';

/** `stream`: the agent's JSON events. `text`: plain words on stdout, all of them the agent's own. */
export type OutputMode = 'stream' | 'text';

/** `skip`: the agent may do everything without asking. `host`: as the agent itself is configured. */
export type Permissions = 'skip' | 'host';

/** What an adapter makes a command line from. */
export interface AgentRequest {
  /** The executable, as the user named it. */
  readonly command: string;
  /** The user's own flags, already split into words. They win over ours. */
  readonly flags: readonly string[];
  readonly model?: string;
  readonly mode: OutputMode;
  readonly permissions: Permissions;
  /** A path prefix in an existing folder for files the agent is asked to write. */
  readonly scratch: string;
  /** Hooks for this process only; an adapter without `hookEvents` cannot give it any. */
  readonly hooks?: HookWish;
}

export interface AgentInvocation {
  readonly argv: readonly [string, ...string[]];
  /** Added to the environment where the user has not set the variable himself. */
  readonly env: Readonly<Record<string, string>>;
  /** Text mode: the file that holds the reply, where stdout does not. Removed afterwards. */
  readonly replyFile?: string;
  /** A JSON file written at the end; its text goes through `read` as one more line. Removed afterwards. */
  readonly reportFile?: string;
  /** Written before the agent starts, and removed afterwards. */
  readonly folder?: TurnFolder;
}

/** What an agent must have of the world to work behind a wall. `~` is the user's home; other paths are in the project. */
export interface AgentNeeds {
  /** Where its model is. */
  readonly hosts: readonly string[];
  /** Variables with which a user names another address for it. */
  readonly addresses: readonly string[];
  /** Folders and files where it keeps its login and its sessions. It may write there. */
  readonly state: readonly string[];
  /** The variable that moves the first of them. */
  readonly stateVariable?: string;
  /** Files that it would rename into the home itself: copied once to where that variable makes it look for them. */
  readonly copies?: Readonly<Record<string, string>>;
  /** What decides what it does when it is next started: settings, hooks, plugins. It must not write there. */
  readonly settings: readonly string[];
  /** Variables with the keys to its model. Its checks do without. */
  readonly keys: readonly string[];
}

/** An agent that nobody knows anything of. */
export const NO_NEEDS: AgentNeeds = { hosts: [], addresses: [], state: [], settings: [], keys: [] };

/** Where a login may be, or a way around one. With none of these the user is not logged in. */
export interface LoginTraces {
  /** Names of variables: a key, another provider, another address. */
  readonly variables: RegExp;
  /** Each of them alone may be one. */
  readonly files: readonly string[];
  /** Those are one only with some of `words`, which may also stand in the user's flags. */
  readonly settings: readonly string[];
  readonly words: RegExp;
}

export interface Dialogue {
  /** The flag before the prompt; without one the prompt is an argument. */
  readonly promptFlag?: string;
  readonly modelFlag?: string;
}

/** What a dialogue is about. */
export interface ConversationRequest extends Pick<AgentRequest, 'model' | 'permissions'> {
  readonly prompt: string;
  readonly cwd: string;
}

/** The talk of a stream that is only read, not answered: nothing in it is refused. */
export const NO_PROMPT: ConversationRequest = { prompt: '', cwd: '', permissions: 'skip' };

export interface Reply {
  readonly events: readonly AgentEvent[];
  /** What is said back on stdin, as it is. */
  readonly say: readonly string[];
}

/** A turn in which Ralph answers what the agent says, instead of giving it the prompt and reading. */
export interface Conversation {
  /** Said first. */
  readonly opening: string;
  /** Must not throw. */
  hear(line: string): Reply;
  /** The agent has answered and was given the prompt. */
  isOpen(): boolean;
  /** Nothing more will be said: its stdin is closed. */
  isOver(): boolean;
}

/** After every call of the model, when the turn is over, or not at all. */
export type Reported = 'step' | 'turn' | 'never';

/** What an agent reports, and when. */
export interface Reports {
  readonly cost: Reported;
  readonly tokens: Reported;
  /** Whether its tool calls can be counted. */
  readonly toolCalls: boolean;
}

export interface AgentAdapter {
  readonly name: string;
  /** How to install it, one line. */
  readonly install: string;
  /** Many commands speak it: which one, stands behind its name, as in `acp:goose acp`. */
  readonly isProtocol?: true;
  /** The version that the host tests run with; docs/reference/agents.md says what was seen with it. */
  readonly tested?: string;
  /** Words with which it says whether the user is logged in, without asking a model, and how to log in. */
  readonly login?: {
    readonly status: readonly string[];
    readonly fix: string;
    readonly traces: LoginTraces;
  };
  /** Variables that keep it from looking for a newer version of itself. */
  readonly noUpdates?: Readonly<Record<string, string>>;
  /** What the stream can tell, and when; a limit on what it cannot tell is refused. */
  readonly reports: Reports;
  /** A stream that ends without a `result` event was cut short. False where the agent has no such record. */
  readonly endsWithResult: boolean;
  /** It exits before a pipe has taken its last words: it writes into a file instead. True of agents written for Node. */
  readonly needsFile: boolean;
  /** Run by root it refuses to skip its permissions, unless one of these variables is set. */
  readonly rootNeeds?: readonly string[];
  /** Where it can be given hooks for one process, beside the user's own. None: it cannot. */
  readonly hookEvents?: HookEvents;
  /** From this version on its hooks can be requests to a server. None: they are commands. */
  readonly callsHooksSince?: string;
  readonly needs: AgentNeeds;
  /** How it is called for a conversation in the user's terminal that begins with a prompt. None: it cannot be. */
  readonly dialogue?: Dialogue;
  /** The signal that this agent answers best. */
  readonly stopSignal: 'SIGINT' | 'SIGTERM';

  invocation(request: AgentRequest): AgentInvocation;

  /** What of its stderr is its own error, where that is not the first line that names one. Must not throw. */
  errorIn?(stderr: string): string | undefined;

  /** How it is talked to, where it does not take its prompt on stdin and work. A conversation is for one turn. */
  converse?(talk: ConversationRequest): Conversation;

  /** The events of one line of stream output. Must not throw: a line it cannot read is an `unknown` event. */
  read(line: string): readonly AgentEvent[];
}

/** Adds `flags` unless the user's own hold one of `unless` (as `--flag`, or `--flag=value`). */
export function defaultFlags(
  user: readonly string[],
  unless: readonly string[],
  flags: readonly string[],
): readonly string[] {
  const taken = user.some(word => unless.some(name => word === name || word.startsWith(`${name}=`)));
  return taken ? [] : flags;
}

/** The version in what `--version` printed; undefined when there is none. */
export function versionIn(output: string): string | undefined {
  return /\d+\.\d+\.\d+(?:-[\w.]+)?/.exec(output)?.[0];
}

/** Negative when `a` is older than `b`, 0 when their numbers are the same. What stands behind a `-` is no number. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map(version => (version.split('-')[0] ?? '').split('.').map(Number));
  const differences = (left ?? []).map((part, at) => part - (right?.[at] ?? 0));
  return differences.find(difference => difference !== 0) ?? 0;
}
