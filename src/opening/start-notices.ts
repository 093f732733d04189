/** What a user would want to know before leaving a run alone. */

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { LoginTraces, Permissions } from '../agents/agent.ts';
import type { Settings } from '../config/settings-shape.ts';
import { parentOf } from '../domain/lanes/board.ts';
import { fileSize, readSlice, tryTo } from '../platform/files.ts';
import type { ChosenAgent } from '../run/turns/choose-agent.ts';
import { costNotices } from '../run/turns/limit-notices.ts';
import { guardNotice } from '../run/turns/run-hooks.ts';
import { liveRuns } from '../store/run-file.ts';
import type { Place } from '../workspace/repository.ts';
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
  const { name, adapter, command } = agent;
  // Another command that speaks like it may not mind.
  const { rootNeeds = [] } = basename(command) === adapter.name ? adapter : {};
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

/** A notice and no refusal: an agent may have learned another way to log in. */
export function loginNotices(
  agents: readonly ChosenAgent[],
  world: Place,
  platform = process.platform,
): readonly string[] {
  if (platform === 'darwin') return []; // its keychain has a login without a trace
  return agents.flatMap(agent => {
    const { adapter, command, prefix, name } = agent;
    const { login } = adapter;
    // Another command that speaks like it has logins of its own.
    if (!login || command !== adapter.name || prefix.length > 0 || hasLogin(agent, login.traces, world))
      return [];
    const [key] = adapter.needs.keys;
    return [
      `${name} does not seem to be logged in: there is no login of yours in ${adapter.needs.state[0]}, and no key in the environment. Log in with \`${login.fix}\`, or set ${key}.`,
    ];
  });
}

function hasLogin({ adapter, flags }: ChosenAgent, traces: LoginTraces, { cwd, env }: Place): boolean {
  const { state, stateVariable = '' } = adapter.needs;
  const [folder = ''] = state;
  const home = env.HOME || homedir();
  const moved = env[stateVariable];
  const at = (path: string) => {
    if (moved && path.startsWith(`${folder}/`)) return join(resolve(cwd, moved), path.slice(folder.length));
    return path.startsWith('~/') ? join(home, path.slice(2)) : resolve(cwd, path);
  };
  return (
    Object.keys(env).some(name => traces.variables.test(name) && env[name]) ||
    traces.files.some(file => existsSync(at(file))) ||
    traces.words.test(flags.join(' ')) ||
    traces.settings.some(file => speaksOf(traces.words, at(file)))
  );
}

function speaksOf(words: RegExp, path: string): boolean {
  if (fileSize(path) === 0) return false;
  const text = tryTo(() => readSlice(path, 0, ENOUGH));
  return text === undefined || words.test(text);
}

const ENOUGH = 1_000_000;
