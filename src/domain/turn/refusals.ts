/**
 * Tool calls that the permissions of the agent did not allow, as its stream says in fields of its own. What Ralph's guard refused is none of
 * them: hosts report it in the same way, so it is known by the guard's own words.
 */
import type { AgentEvent } from './agent-event.ts';

/** How every refusal of the guard begins. */
export const GUARD_REFUSED = "Ralph's guard refused this";

export interface RefusedCall {
  readonly id: string;
  /** The name of the tool, where the record of the refusal has it. */
  readonly tool?: string;
}

/** What was refused in a turn. */
export interface RefusedCalls {
  readonly calls: number;
  /** The names of the tools, each once, the first few. */
  readonly tools: readonly string[];
}

/** Of a turn. */
const MOST = 1_000;
const MOST_NAMED = 5;
const LONGEST_NAME = 60;

export function createRefusals() {
  /** The names of the calls that have begun and not ended. */
  const open = new Map<string, string>();
  const refused = new Map<string, string>();
  const guarded = new Set<string>();
  const refuse = ({ id, tool }: RefusedCall) => {
    if (refused.size < MOST) refused.set(id, (tool ?? open.get(id) ?? 'a tool').slice(0, LONGEST_NAME));
  };
  return {
    add(event: AgentEvent): void {
      if (event.kind === 'tool-start' && open.size < MOST) open.set(event.id, event.name);
      if (event.kind === 'trouble' && event.call) refuse(event.call);
      if (event.kind === 'result') for (const call of event.refused ?? []) refuse(call);
      if (event.kind !== 'tool-end') return;
      open.delete(event.id);
      if (!event.ok && guarded.size < MOST && event.output.preview.includes(GUARD_REFUSED))
        guarded.add(event.id);
    },
    /** undefined: nothing was. */
    found(): RefusedCalls | undefined {
      const names = [...refused].flatMap(([id, tool]) => (guarded.has(id) ? [] : [tool]));
      return names.length === 0
        ? undefined
        : { calls: names.length, tools: [...new Set(names)].slice(0, MOST_NAMED) };
    },
  };
}
