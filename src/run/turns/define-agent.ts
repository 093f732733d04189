/** An agent that is a function: for tests, for models called directly, for anything that is no command line. Importing it costs nothing. */
import type { Reports } from '../../agents/agent.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';

/** What an agent that is a function is given for one turn. */
export interface AgentTurn {
  readonly prompt: string;
  /** Where to work. */
  readonly cwd: string;
  /** Counted from 1. */
  readonly iteration: number;
  /** Fired when the turn must end: a limit, or the end of the run. What comes after is not waited for. */
  readonly signal: AbortSignal;
  /** Tells what happens as it happens: words, tools, usage. */
  emit(event: AgentEvent): void;
}

/** The result of a turn. Its text is the agent's own words; a thrown error is a failed turn, of the class of the last `trouble` it reported. */
export interface AgentReply {
  readonly text?: string;
  readonly toolCalls?: number;
  /** Dollars. */
  readonly cost?: number;
  readonly tokens?: { readonly input: number; readonly output: number };
}

/** Must resolve or reject soon after `turn.signal` has fired. */
export type AgentFunction = (turn: AgentTurn) => Promise<AgentReply | string | undefined>;

/** An agent that is a function of the program. */
export interface FunctionAgent {
  readonly name: string;
  readonly run: AgentFunction;
  /** What its replies and events hold; a limit on what they do not hold is refused. */
  readonly reports: Reports;
}

/** What is said of an agent that is a function. */
export interface AgentTraits {
  /** What it reports. Default: its tool calls, and neither cost nor tokens. */
  readonly reports?: Partial<Reports>;
}

/** Makes an agent of a function: give it to a call as `agent`. */
export function defineAgent(name: string, run: AgentFunction, traits: AgentTraits = {}): FunctionAgent {
  return { name, run, reports: { cost: 'never', tokens: 'never', toolCalls: true, ...traits.reports } };
}
