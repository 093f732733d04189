/** What a host tells a hook, and what a hook may answer, whichever host it is. */

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
}

export type HookAnswer =
  | { readonly kind: 'nothing' }
  /** Lets it pass and tells the user. */
  | { readonly kind: 'say'; readonly message: string }
  /** Sends the agent back to work. */
  | { readonly kind: 'block'; readonly reason: string; readonly message: string }
  /** Tells the agent something and lets it go on. */
  | { readonly kind: 'context'; readonly context: string; readonly message?: string };

export const NOTHING: HookAnswer = { kind: 'nothing' };
