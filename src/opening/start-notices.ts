/** What a user would want to know before leaving a run alone. */
import type { Permissions } from '../agents/agent.ts';
import type { Settings } from '../config/settings-shape.ts';
import { parentOf } from '../domain/lanes/board.ts';
import { liveRuns } from '../store/run-file.ts';
import type { ChosenAgent } from '../turns/choose-agent.ts';
import { costNotices } from '../turns/limit-notices.ts';
import { guardNotice } from '../turns/run-hooks.ts';
import { loginNotices } from './login-notice.ts';
import type { RunRequest } from './open-run.ts';

/** `own`: the id of this run. */
export function startNotices(
  { settings, agents, reviewer, project, env }: RunRequest,
  sandboxed: boolean,
  own: string,
): readonly string[] {
  const [agent] = agents;
  // Lanes of one run have worktrees of their own.
  const whole = (id: string) => parentOf(id) ?? id;
  const others = liveRuns(project).filter(({ id }) => whole(id) !== whole(own));
  return [
    ...(settings.agent === undefined && !agent.function
      ? [`Agent: ${agent.name}, because ${agent.why}.`]
      : []),
    ...(settings.permissions === 'skip' && !sandboxed && !agent.function && !isRestricted(agent)
      ? permissionNotices(agent, settings, env)
      : []),
    // In a container an agent has a login of its own.
    ...(sandboxed && settings.sandbox.provider !== 'srt'
      ? []
      : loginNotices(reviewer ? [...agents, reviewer] : agents, { cwd: project.root, env })),
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

/** Flags of the user say what it may do, and win over the one that skips every question. */
function isRestricted({ adapter, command, flags }: ChosenAgent): boolean {
  const words = (permissions: Permissions, own: readonly string[]) =>
    adapter.invocation({ command, flags: own, mode: 'stream', permissions, scratch: '' }).argv;
  const usual = words('host', []);
  const skipping = words('skip', []).filter(word => !usual.includes(word));
  return skipping.length > 0 && !words('skip', flags).some(word => skipping.includes(word));
}

function permissionNotices(
  agent: ChosenAgent,
  settings: Settings,
  env: RunRequest['env'],
): readonly string[] {
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
