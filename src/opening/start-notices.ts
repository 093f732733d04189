/** What a user would want to know before leaving a run alone. */
import type { Settings } from '../config/settings-shape.ts';
import { parentOf } from '../domain/board.ts';
import type { ProjectPaths } from '../store/paths.ts';
import { liveRuns } from '../store/run-file.ts';
import type { ChosenAgent } from '../turns/choose-agent.ts';
import { costNotices } from '../turns/limit-notices.ts';
import { guardNotice } from '../turns/run-hooks.ts';
import { loginNotices } from './login-notice.ts';

export interface Start {
  readonly settings: Settings;
  /** The agent, its fallbacks and its reviewer. */
  readonly agents: readonly [ChosenAgent, ...ChosenAgent[]];
  readonly project: ProjectPaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandboxed: boolean;
  /** The id of this run. */
  readonly own: string;
}

export function startNotices({ settings, agents, project, env, sandboxed, own }: Start): readonly string[] {
  const [agent] = agents;
  // Lanes of one run have worktrees of their own.
  const whole = (id: string) => parentOf(id) ?? id;
  const others = liveRuns(project).filter(({ id }) => whole(id) !== whole(own));
  return [
    ...(settings.agent === undefined && !agent.function
      ? [`Agent: ${agent.name}, because ${agent.why}.`]
      : []),
    ...(settings.permissions === 'skip' && !sandboxed && !agent.function
      ? permissionNotices(agent, settings, env)
      : []),
    // In a container an agent has a login of its own.
    ...(sandboxed && settings.sandbox.provider !== 'srt'
      ? []
      : loginNotices(agents, { cwd: project.root, env })),
    ...modelNotices(agent),
    ...costNotices(settings, agent),
    ...others.map(({ id }) => `Another run is working in this folder: ${id}.`),
  ];
}

function modelNotices({ name, adapter, unseenModel }: ChosenAgent): readonly string[] {
  if (unseenModel === undefined) return [];
  const why =
    adapter.name === 'generic'
      ? `Ralph does not know how ${name} takes one. Put its own flag into agent.flags`
      : 'agent.flags choose another';
  return [`The model ${unseenModel} is not used: ${why}.`];
}

function permissionNotices(agent: ChosenAgent, settings: Settings, env: Start['env']): readonly string[] {
  const { name, adapter } = agent;
  const { rootNeeds = [] } = adapter;
  const isRefused =
    process.getuid?.() === 0 && rootNeeds.length > 0 && !rootNeeds.some(variable => env[variable]);
  return [
    'The agent may do everything without asking, and there is no sandbox around it. Add one with --sandbox.',
    guardNotice(agent, settings, false),
    ...(isRefused
      ? [
          `As root, ${name} refuses to skip its permissions: run as another user, set ${rootNeeds[0]}=1 if this machine is a sandbox, or give --permissions host.`,
        ]
      : []),
  ];
}
