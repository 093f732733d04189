/** The agents of a run in the order of preference, and until when each of them is limited. */
import type { Settings } from '../../config/settings-shape.ts';
import type { ChosenAgent } from './choose-agent.ts';

export interface AgentPool {
  readonly agents: readonly ChosenAgent[];
  /** The one that works, or worked last. */
  current(): number;
  /** Who should work now: the most preferred one that is free. */
  pick(now: number): number;
  use(index: number): void;
  /** It has met a limit once more; answers how often in a row, without any work in between. */
  met(index: number): number;
  /** It is limited until then; 0: it is free. */
  limit(index: number, until: number): void;
  /** It has worked: the next limit is a new one. */
  worked(index: number): void;
  limits(): readonly number[];
}

/** `limits`: what is known of them from before a resumption, by their names. */
export function createRoster(
  agents: readonly [ChosenAgent, ...ChosenAgent[]],
  limits: Readonly<Record<string, number>> = {},
): AgentPool {
  const until = agents.map(agent => (agents.length > 1 ? (limits[agent.name] ?? 0) : 0));
  const inARow = agents.map(() => 0);
  let current = 0;
  return {
    agents,
    current: () => current,
    pick(now) {
      const free = until.findIndex(each => each <= now);
      return free === -1 ? current : free;
    },
    use(index) {
      current = index;
    },
    met(index) {
      inARow[index] = (inARow[index] ?? 0) + 1;
      return inARow[index];
    },
    limit(index, at) {
      until[index] = at;
    },
    worked(index) {
      inARow[index] = 0;
    },
    limits: () => [...until],
  };
}

/** The agent that works, or worked last. */
export function currentAgent(roster: AgentPool): ChosenAgent {
  return roster.agents[roster.current()] as ChosenAgent;
}

/** Somebody in it prints plain text, in which an echo of the prompt has to be distinguished from the agent's own words. */
export function speaksPlainly(
  { agents }: AgentPool,
  { streamAgentOutput }: Pick<Settings, 'streamAgentOutput'>,
): boolean {
  return agents.some(agent => !agent.function && (!streamAgentOutput || agent.adapter.name === 'generic'));
}
