/** What every loop begins with, on the command line and in the library: settings, agents, and everything that is wrong with them, at once. */
import { resolve } from 'node:path';
import { type LoadedSettings, loadSettings } from '../config/load.ts';
import type { SettingsCommand, SettingsLayer } from '../config/setting.ts';
import type { Settings } from '../config/settings-shape.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Env } from '../platform/git.ts';
import { type ChosenAgent, chooseAgent, chooseFallbacks, chooseNamed } from '../run/turns/choose-agent.ts';
import { limitProblems } from '../run/turns/limit-notices.ts';
import { missingCommands } from '../run/turns/missing-commands.ts';
import type { ProjectPaths } from '../store/paths.ts';
import type { Place } from '../workspace/repository.ts';

export interface SetUp {
  readonly project: ProjectPaths;
  readonly settings: Settings;
  /** The agent, and after it those that stand in for it. */
  readonly agents: readonly [ChosenAgent, ...ChosenAgent[]];
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
  readonly agent?: ((settings: Settings, world: Place) => ChosenAgent | Problem) | undefined;
  /** Checks that are functions: no program is looked for. */
  readonly functions?: readonly string[] | undefined;
  /** How many iterations the work should have room for, where nobody has set a limit. */
  readonly iterations?: number | undefined;
  /** What is wrong with the command's own input; listed last. */
  own?(settings: Settings): readonly Problem[];
}

export function setUpRun(command: SettingsCommand, request: SetUpRequest): SetUp | readonly Problem[] {
  const { project, more } = request;
  const given = more?.layer ?? {};
  const layer = withRoom(loadSettings(project, command, given, request.flags.layer), request);
  const flags = { ...request.flags, layer };
  const loaded = loadSettings(project, command, given, layer);
  const { settings, files } = loaded;
  const isReady = loaded.problems.length === 0;
  const problems = [
    ...flags.problems,
    ...(more?.problems ?? []),
    ...loaded.problems,
    ...(request.own?.(settings) ?? []).filter(({ where }) => isReady || !NEEDS_CHECKS.has(where)),
    ...(command === 'prd' || !isReady
      ? []
      : unstartable(
          settings.checks.filter(each => !request.functions?.includes(each)),
          settings,
          {
            cwd: project.root,
            env: request.env,
          },
        )),
  ];
  const found = isReady ? findAgents(command, loaded, request, problems) : undefined;
  if (problems.length > 0 || !found) return problems;
  return { ...found, project, settings, flags: flags.layer, files };
}

/** A file that is wrong may be the one that names them. */
const NEEDS_CHECKS: ReadonlySet<string> = new Set(['--check', 'checks']);

/** The flags, with a limit that fits where neither they nor the settings have one. */
export function withRoom(
  { fromFiles, settings }: LoadedSettings,
  { flags, more, iterations = 0 }: Pick<SetUpRequest, 'flags' | 'more' | 'iterations'>,
): SettingsLayer['layer'] {
  const isSet = [fromFiles, more?.layer, flags.layer].some(each => each?.maximumIterations !== undefined);
  return isSet || iterations <= settings.maximumIterations
    ? flags.layer
    : { ...flags.layer, maximumIterations: iterations };
}

/** Checks that would fail for ever, whatever the agent does. What is in the image of a sandbox, nobody outside knows. */
export function unstartable(
  commands: readonly string[],
  { sandbox: { provider } }: Settings,
  world: Place,
): readonly Problem[] {
  return provider === 'container' || provider === 'sbx' ? [] : missingCommands(commands, world);
}

function findAgents(
  command: SettingsCommand,
  { settings, fromFiles }: LoadedSettings,
  { project, env, agent: given }: SetUpRequest,
  problems: Problem[],
): Pick<SetUp, 'agents' | 'reviewer'> | undefined {
  const world = { cwd: project.root, env };
  const { implementer, reviewer: wanted } = command === 'prd' ? settings : {};
  const named = (flag: string, name: string) => chooseNamed(flag, name, settings, fromFiles, world);
  const chosen = () =>
    implementer === undefined ? chooseAgent(settings, fromFiles, world) : named('--implementer', implementer);
  const agent = given?.(settings, world) ?? chosen();
  const reviewer = wanted === undefined ? undefined : named('--reviewer', wanted);
  const found = [agent, ...chooseFallbacks(settings, fromFiles, world)];
  const isChosen = (each: ChosenAgent | Problem): each is ChosenAgent => !isProblem(each);
  const all = [...found, ...(reviewer ? [reviewer] : [])];
  problems.push(...all.filter(isProblem));
  if (problems.length === 0)
    problems.push(...all.filter(isChosen).flatMap(each => limitProblems(settings, each)));
  const [first, ...others] = found.filter(isChosen);
  if (!first || isProblem(reviewer)) return undefined;
  return { agents: [first, ...others], ...(reviewer && { reviewer }) };
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
