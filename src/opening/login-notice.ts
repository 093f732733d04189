/** Whether an agent is known to be logged out, from files and variables alone: it is not started for that. Whatever may be a login counts as one. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { LoginTraces } from '../agents/agent.ts';
import { fileSize, readSlice, tryTo } from '../platform/files.ts';
import type { ChosenAgent } from '../turns/choose-agent.ts';
import type { Place } from '../workspace/repository.ts';

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
