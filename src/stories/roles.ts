/** Who builds the stories, and who reviews them. */
import type { StoryMode } from '../domain/stories/assignment.ts';
import type { Role } from '../domain/stories/report.ts';
import type { AgentPool } from '../turns/agent-pool.ts';

export interface Roles {
  readonly agent: { readonly name: string };
  readonly roster: AgentPool;
  /** Who reviews, and the fallbacks behind; absent: the agent does. */
  readonly reviewers?: AgentPool;
}

export function poolOf({ roster, reviewers }: Roles, mode: StoryMode): AgentPool {
  return mode === 'review' ? (reviewers ?? roster) : roster;
}

export function roleOf(mode: StoryMode): Role {
  return mode === 'review' ? 'reviewer' : 'implementer';
}

/** undefined: one agent does everything. */
export function rolesOf({ agent, reviewers }: Roles): Readonly<Record<Role, string>> | undefined {
  const reviewer = reviewers?.agents[0]?.name;
  return reviewer === undefined ? undefined : { implementer: agent.name, reviewer };
}
