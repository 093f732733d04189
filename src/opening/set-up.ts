/** What every loop begins with, on the command line and in the library: settings, agents, and everything that is wrong with them, at once. */
import { resolve } from 'node:path';
import { type LoadedSettings, loadSettings } from '../config/load.ts';
import type { SettingsCommand, SettingsLayer } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { Env } from '../platform/git.ts';
import type { ProjectPaths } from '../store/paths.ts';
import {
  type ChoiceWorld,
  type ChosenAgent,
  chooseAgent,
  chooseFallbacks,
  chooseNamed,
} from '../turns/choose-agent.ts';
import { limitProblems } from '../turns/limit-notices.ts';
import { missingCommands } from '../turns/missing-commands.ts';

export interface SetUp {
  readonly project: ProjectPaths;
  readonly settings: Settings;
  readonly agent: ChosenAgent;
  /** Agents to use while it is rate-limited. */
  readonly fallbacks: readonly ChosenAgent[];
  /** Who reviews stories, where that is not the agent. */
  readonly reviewer?: ChosenAgent;
  /** Settings from flags. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** The settings files that were there, relative to the project. */
  readonly files: readonly string[];
}

export interface SetUpRequest {
  readonly project: ProjectPaths;
  readonly env: Env;
  /** From flags, or from the call of a program: they win. */
  readonly flags: SettingsLayer;
  /** From elsewhere, such as a YAML file. */
  readonly more?: SettingsLayer | undefined;
  /** An agent that a program brings. */
  readonly agent?: ((settings: Settings, world: ChoiceWorld) => ChosenAgent | Problem) | undefined;
  /** Checks that are functions: no program is looked for. */
  readonly functions?: readonly string[] | undefined;
  /** What is wrong with the command's own input; listed last. */
  own?(settings: Settings): readonly Problem[];
}

export function setUpRun(command: SettingsCommand, request: SetUpRequest): SetUp | readonly Problem[] {
  const { project, flags, more } = request;
  const loaded = loadSettings(project, command, more?.layer ?? {}, flags.layer);
  const { settings, files } = loaded;
  const problems = [
    ...flags.problems,
    ...(more?.problems ?? []),
    ...loaded.problems,
    ...(request.own?.(settings) ?? []),
    ...(command === 'prd' || loaded.problems.length > 0
      ? []
      : unstartable(commandsOf(command, settings, request), settings, {
          cwd: project.root,
          env: request.env,
        })),
  ];
  const isReady = loaded.problems.length === 0;
  const found = isReady ? findAgents(command, loaded, request, problems) : { agents: [] };
  const {
    agents: [agent, ...fallbacks],
    reviewer,
  } = found;
  if (problems.length > 0 || !agent) return problems;
  return { project, settings, agent, fallbacks, ...(reviewer && { reviewer }), flags: flags.layer, files };
}

function commandsOf(
  command: SettingsCommand,
  { guardrails, checks }: Settings,
  { functions = [] }: SetUpRequest,
): readonly string[] {
  const all = command === 'run' ? guardrails.map(each => each.command) : checks;
  return all.filter(each => !functions.includes(each));
}

/** Checks that would fail for ever, whatever the agent does. What is in the image of a sandbox, nobody outside knows. */
export function unstartable(
  commands: readonly string[],
  { sandbox: { provider } }: Settings,
  world: ChoiceWorld,
): readonly Problem[] {
  return provider === 'container' || provider === 'sbx' ? [] : missingCommands(commands, world);
}

interface FoundAgents {
  /** The agent, and behind it its fallbacks. */
  readonly agents: readonly ChosenAgent[];
  readonly reviewer?: ChosenAgent | undefined;
}

function findAgents(
  command: SettingsCommand,
  { settings, fromFiles }: LoadedSettings,
  { project, env, agent: given }: SetUpRequest,
  problems: Problem[],
): FoundAgents {
  const world = { cwd: project.root, env };
  const { implementer, reviewer: wanted } = command === 'prd' ? settings : {};
  const named = (flag: string, name: string) => chooseNamed(flag, name, settings, fromFiles, world);
  const chosen = () =>
    implementer === undefined ? chooseAgent(settings, fromFiles, world) : named('--implementer', implementer);
  const agent = given?.(settings, world) ?? chosen();
  const reviewer = wanted === undefined ? undefined : named('--reviewer', wanted);
  const found = [agent, ...chooseFallbacks(settings, fromFiles, world)];
  const all = [...found, ...(reviewer ? [reviewer] : [])];
  problems.push(...all.filter(isProblem));
  const isChosen = (each: ChosenAgent | Problem): each is ChosenAgent => !isProblem(each);
  if (problems.length === 0)
    problems.push(...all.filter(isChosen).flatMap(each => limitProblems(settings, each)));
  return { agents: found.filter(isChosen), reviewer: reviewer && isChosen(reviewer) ? reviewer : undefined };
}

/** The settings of `-c FILE`. */
export async function yamlSettings(
  file: string | undefined,
  cwd: string,
): Promise<SettingsLayer | undefined> {
  if (file === undefined) return undefined;
  const { loadYaml } = await import('../config/yaml.ts');
  return loadYaml(resolve(cwd, file), file);
}
