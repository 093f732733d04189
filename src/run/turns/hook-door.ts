/**
 * Hooks that are answered by the process of the run, where the agent can make requests: starting a program for each takes as
 * long as many a tool. The agent must have given its version first, so the first turn has programs, and a run of one
 * turn opens nothing. Refused requests keep the agent from its tools; so at the first sign of them there are programs again.
 */

import { compareVersions } from '../../agents/agent.ts';
import type { Emit } from '../../domain/run/event.ts';
import type { Env } from '../../domain/text/secret-values.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import { warn } from '../steps.ts';
import type { ChosenAgent } from './choose-agent.ts';

/** Brought by whoever puts the run together. */
export interface ServedHooks {
  readonly url: string;
  /** How many calls there have been. */
  calls(): number;
  close(): Promise<void>;
}

/** Two agents may be of one kind, and not of one version. */
export type Caller = Pick<ChosenAgent, 'command' | 'prefix' | 'adapter'>;

export interface HookDoor {
  /** undefined: its hooks are programs. */
  urlFor(agent: Caller, env: Env): Promise<string | undefined>;
  hear(agent: Caller, event: AgentEvent): void;
  close(): Promise<void>;
}

export function createHookDoor(serve: () => Promise<ServedHooks>, emit: Emit): HookDoor {
  const versions = new Map<string, string>();
  let served: ServedHooks | undefined;
  let isShut = false;
  /** Tools that have run since an agent was given the address. */
  let tools = 0;

  const shut = (why: string) => {
    isShut = true;
    warn(emit, `${why}: from now on each hook is a process of its own.`);
  };
  return {
    async urlFor(agent, env) {
      const { name, callsHooksSince } = agent.adapter;
      const version = versions.get(keyOf(agent));
      if (isShut || callsHooksSince === undefined || version === undefined || hasProxy(env)) return undefined;
      if (compareVersions(version, callsHooksSince) < 0) return undefined;
      if (served && tools > 0 && served.calls() === 0) {
        shut(`${name} did not reach the hooks of this run`);
        return undefined;
      }
      try {
        served ??= await serve();
      } catch (error) {
        shut(`The hooks cannot be served (${error instanceof Error ? error.message : String(error)})`);
      }
      return isShut ? undefined : served?.url;
    },
    hear(agent, event) {
      if (event.kind === 'session' && event.version !== undefined) versions.set(keyOf(agent), event.version);
      if (event.kind === 'tool-end' && served) tools++;
    },
    close: async () => served?.close(),
  };
}

const keyOf = ({ command, prefix }: Caller) => [command, ...prefix].join(' ');

/** Then the requests might go elsewhere. */
function hasProxy(env: Env): boolean {
  return Object.entries(env).some(([name, value]) => /^(?:https?|all)_proxy$/i.test(name) && value);
}
