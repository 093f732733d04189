/** An agent CLI that Ralph does not know: how to call it, and how to read what it prints. */
import {
  type AgentAdapter,
  type AgentNeeds,
  type AgentRequest,
  NO_NEEDS,
  type Reports,
} from '../agents/agent.ts';
import type { AgentEvent } from '../domain/turn/agent-event.ts';

/** What a program says of a CLI of its own. */
export interface AdapterDefinition {
  /** What people call it. */
  readonly name: string;
  /** The executable, or a path to it; default: the name. */
  readonly command?: string;
  /** The words behind the command; the prompt is on its stdin. Default: the user's own flags. */
  args?(request: AgentRequest): readonly string[];
  /** Added to the environment where the user has not set the variable himself. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * The events of one line that it prints. Must not throw. Only what the agent itself says to the user is `text`: a claim in it counts.
   * A CLI that prints plain words only needs no adapter; name its command as `agent`.
   */
  read(line: string): readonly AgentEvent[];
  /** What it reports, and when; a limit on what it does not report is refused. Default: nothing. */
  readonly reports?: Partial<Reports>;
  /** What it must have of the world to work in a sandbox; default: nothing. */
  readonly needs?: Partial<AgentNeeds>;
  /** How to install it, one line: said where it is missing. */
  readonly install?: string;
  /** The signal that it answers best; default: SIGTERM. */
  readonly stopSignal?: AgentAdapter['stopSignal'];
  /** A stream without a `result` event was cut short; default: it has no such event. */
  readonly endsWithResult?: boolean;
}

/** A command line that works as an agent. */
export interface AdapterAgent {
  readonly adapter: AgentAdapter;
  readonly command: string;
}

/** Makes an agent of a CLI of your own: give it to a call as `agent`. */
export function defineAdapter(definition: AdapterDefinition): AdapterAgent {
  const { name, command = name, args, env = {}, reports } = definition;
  const adapter: AgentAdapter = {
    name,
    install: definition.install ?? '',
    reports: { ...REPORTS_NOTHING, ...reports },
    endsWithResult: definition.endsWithResult ?? false,
    needsFile: false,
    needs: { ...NO_NEEDS, ...definition.needs },
    stopSignal: definition.stopSignal ?? 'SIGTERM',
    invocation: request => ({ argv: [request.command, ...(args?.(request) ?? request.flags)], env }),
    read: line => definition.read(line),
  };
  return { adapter, command };
}

/** What an agent reports of which nothing is said. */
export const REPORTS_NOTHING: Reports = { cost: 'never', tokens: 'never', toolCalls: false };
