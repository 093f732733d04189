/** Who builds the stories, and who reviews them. */
import type { StoryMode } from '../domain/story-mode.ts';
import type { Role } from '../domain/story-report.ts';
import type { Roster } from '../turns/roster.ts';

export interface Roles {
  readonly agent: { readonly name: string };
  readonly roster: Roster;
  /** Who reviews, and the fallbacks behind; absent: the agent does. */
  readonly reviewers?: Roster;
}

export function rosterOf({ roster, reviewers }: Roles, mode: StoryMode): Roster {
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
