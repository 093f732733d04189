/** Which agent works, and why that one: the flag, the settings, or the first that is installed. */
import { accessSync, constants, statSync } from 'node:fs';
import { basename, delimiter, isAbsolute, resolve } from 'node:path';
import type { AgentAdapter, AgentRequest } from '../../agents/agent.ts';
import { estimateFor } from '../../agents/prices.ts';
import { ADAPTERS, findAdapter, PREFERRED, protocolOf } from '../../agents/registry.ts';
import { modelName } from '../../config/kinds.ts';
import type { AgentSettings, Settings } from '../../config/settings-shape.ts';
import { closest, isProblem, type Problem } from '../../domain/text/problem.ts';
import type { Prices } from '../../domain/turn/usage.ts';
import { splitFlag, splitWords } from '../../platform/shell.ts';
import type { Place } from '../../workspace/repository.ts';
import type { FunctionAgent } from './define-agent.ts';

export interface ChosenAgent extends Prices {
  readonly adapter: AgentAdapter;
  /** What people call it. */
  readonly name: string;
  readonly command: string;
  /** More words of the command itself, as in `npx some-agent`. */
  readonly prefix: readonly string[];
  readonly flags: readonly string[];
  readonly model?: string;
  /** One that was asked for, and that the command never sees. */
  readonly unseenModel?: string;
  /** In one sentence, for the user. */
  readonly why: string;
  /** It is no command but a function. */
  readonly function?: FunctionAgent;
}

export function chooseAgent(
  settings: Settings,
  fromFiles: Readonly<Record<string, unknown>>,
  world: Place,
): ChosenAgent | Problem {
  const { agent } = settings;
  if (agent === undefined) return firstInstalled(settings, world);
  if (typeof agent === 'string') return byName(agent, settings, fromFiles, world);
  if (agent.command === undefined) {
    const found = firstInstalled(settings, world);
    return 'where' in found
      ? found
      : choose({ ...agent, command: found.command }, settings, found.why, world);
  }
  return choose(agent, settings, 'the settings say so', world);
}

/** The agents of `--fallback`, each as `agent` or `agent:model`. */
export function chooseFallbacks(
  settings: Settings,
  fromFiles: Readonly<Record<string, unknown>>,
  world: Place,
): readonly (ChosenAgent | Problem)[] {
  return settings.fallback.map(name => chooseNamed('--fallback', name, settings, fromFiles, world));
}

/** An agent beside the agent itself, as `agent` or `agent:model`; `flag` asked for it. */
export function chooseNamed(
  flag: string,
  name: string,
  settings: Settings,
  fromFiles: Readonly<Record<string, unknown>>,
  world: Place,
): ChosenAgent | Problem {
  const { model: _, ...rest } = settings; // that one is meant for the agent itself
  const [agent, model] = modelOf(name, settings);
  const [wrong] = model ? modelName.check(model, `${flag} ${name}`) : [];
  if (wrong) return wrong;
  const chosen = chooseAgent({ ...rest, agent, ...(model && { model }) }, fromFiles, world);
  // With its model: it may be the same agent with another one.
  return isProblem(chosen) ? { ...chosen, where: `${flag} ${name}` } : { ...chosen, name };
}

/** A name of the user's own may hold a colon. */
function modelOf(name: string, { agents }: Settings): readonly [string, string?] {
  const colon = name.indexOf(':');
  if (colon === -1 || Object.hasOwn(agents, name) || protocolOf(name)) return [name];
  return [name.slice(0, colon), name.slice(colon + 1)];
}

function firstInstalled(settings: Settings, world: Place): ChosenAgent | Problem {
  const name = PREFERRED.find(each => isExecutable(each, world));
  if (name) return choose({ command: name }, settings, 'it is the first one installed here', world);
  return {
    where: 'agent',
    what: `none is set, and none of ${PREFERRED.join(', ')} is on the PATH`,
    fix: `install one (${ADAPTERS[0]?.install}) or name a command with --agent`,
  };
}

/** A name of the user's own first, then what the settings call by this command, then the command itself. */
function byName(
  name: string,
  settings: Settings,
  fromFiles: Readonly<Record<string, unknown>>,
  world: Place,
): ChosenAgent | Problem {
  const own = Object.hasOwn(settings.agents, name) ? settings.agents[name] : undefined;
  if (own) {
    const chosen = choose({ command: name, ...own }, settings, `it is ${name} of the settings`, world);
    return isProblem(chosen) ? chosen : { ...chosen, name };
  }
  const configured = fromFiles.agent;
  if (
    typeof configured === 'object' &&
    configured !== null &&
    'command' in configured &&
    configured.command === name
  ) {
    return choose(configured as AgentSettings, settings, 'it was asked for', world);
  }
  const chosen = choose(protocolOf(name) ?? { command: name }, settings, 'it was asked for', world);
  if (!isProblem(chosen)) return chosen;
  const near = closest(name, [...Object.keys(settings.agents), ...ADAPTERS.map(adapter => adapter.name)]);
  return near && near !== name ? { ...chosen, fix: `did you mean ${near}?` } : chosen;
}

/** One whose adapter a program brings. */
export function chooseGiven(
  adapter: AgentAdapter,
  command: string,
  settings: Settings,
  world: Place,
): ChosenAgent | Problem {
  const chosen = choose({ command }, settings, 'it was given', world, adapter);
  return isProblem(chosen) ? chosen : { ...chosen, name: adapter.name };
}

function choose(
  agent: AgentSettings,
  settings: Settings,
  why: string,
  world: Place,
  given?: AgentAdapter,
): ChosenAgent | Problem {
  const [command = '', ...prefix] = isExecutable(agent.command ?? '', world)
    ? [agent.command ?? '']
    : splitWords(agent.command ?? '');
  const adapter = given ?? findAdapter(command, agent.adapter);
  if (!isExecutable(command, world)) {
    const fix =
      adapter.isProtocol || adapter.name === 'generic' || adapter.install === ''
        ? 'give the name of a command or a path to one'
        : `install it: ${adapter.install}`;
    return { where: `agent ${command}`, what: 'there is no such command', fix };
  }
  const model = settings.model ?? agent.model;
  const flags = (agent.flags ?? []).flatMap(splitFlag);
  const isSeen = model !== undefined && seesModel(adapter, { command, flags, model });
  return {
    adapter,
    name: adapter.isProtocol || adapter.name === 'generic' ? basename(command) : adapter.name,
    command: command.includes('/') && !isAbsolute(command) ? resolve(world.cwd, command) : command,
    prefix,
    flags,
    ...(model !== undefined && (isSeen ? { model } : { unseenModel: model })),
    prices: { ...settings.prices, ...agent.prices },
    // Only to keep a limit: a cost that nobody asked for is better unknown than guessed.
    ...(settings.maxCost !== undefined && { listPrice: estimateFor(adapter.name, model) }),
    why,
  };
}

/** Whether the model reaches the command: flags of the user's own may choose another, and not every command takes one. */
function seesModel(adapter: AgentAdapter, asked: Pick<AgentRequest, 'command' | 'flags' | 'model'>): boolean {
  const { argv, env } = adapter.invocation({ ...asked, mode: 'stream', permissions: 'host', scratch: '' });
  return [...argv, ...Object.values(env)].some(word => word.includes(String(asked.model)));
}

export function isExecutable(command: string, { cwd, env }: Place): boolean {
  if (command === '') return false;
  if (command.includes('/')) return canRun(resolve(cwd, command));
  return (env.PATH ?? '').split(delimiter).some(folder => canRun(resolve(cwd, folder, command)));
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
