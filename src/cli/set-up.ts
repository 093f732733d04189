/** What every loop command does before it starts: settings, agent, and everything that is wrong with them, at once. */
import { type Command, Option } from 'commander';
import { type FlagSpec, flagsOf, settingsFromFlags } from '../config/flags.ts';
import { type LoadedSettings, loadSettings } from '../config/load.ts';
import { withoutSecrets } from '../config/secrets.ts';
import type { SettingsCommand, SettingsLayer } from '../config/setting.ts';
import { defaultOf } from '../config/settings.ts';
import type { Settings } from '../config/settings-shape.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import { type ProjectPaths, projectPaths } from '../store/paths.ts';
import { agentRequest, invocationOf, shownCommand } from '../turns/agent-turn.ts';
import {
  type ChoiceWorld,
  type ChosenAgent,
  chooseAgent,
  chooseFallbacks,
  chooseNamed,
} from '../turns/choose-agent.ts';
import { limitProblems } from '../turns/limit-notices.ts';
import { missingCommands } from '../turns/missing-commands.ts';
import { listCheckInputs } from '../workspace/check-inputs.ts';
import { answer, type Call, Problems } from './command.ts';

/** Declares the flags of the settings that a command takes. */
export function declareSettings(command: Command, name: SettingsCommand): void {
  for (const flag of flagsOf(name)) declareFlag(command, flag, defaultOf(flag.setting, name));
}

export function declareFlag(
  command: Command,
  { setting, declaration, negation, repeats, aliases }: FlagSpec,
  fallback: unknown,
): void {
  const help = described(setting.help, fallback);
  if (repeats) command.option(declaration, help, collect);
  else command.option(declaration, help);
  if (negation) command.option(negation, 'the opposite');
  for (const alias of aliases) command.addOption(new Option(alias.declaration, help).hideHelp());
}

/** For a flag that may be given again. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

export const DRY_RUN = [
  '--dry-run',
  'run nothing: show the settings, the agent command and the first prompt',
] as const;

function described(help: string, fallback: unknown): string {
  return fallback === undefined || fallback === false || typeof fallback === 'object'
    ? help
    : `${help} (default: ${fallback})`;
}

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
}

/** Throws all problems together, those of the command's own input (`own`) last. `more` comes from elsewhere, such as a YAML file. */
export function setUp(
  command: SettingsCommand,
  { options, root, env, output }: Call,
  own: (settings: Settings) => readonly Problem[],
  more: SettingsLayer = { layer: {}, problems: [] },
): SetUp {
  const project = projectPaths(root, env);
  const flags = settingsFromFlags(command, options);
  const loaded = loadSettings(project, command, more.layer, flags.layer);
  if (output.verbose)
    for (const file of loaded.files) output.error(`[ralph] Loading settings from ${file}\n`);
  const world = { cwd: root, env };
  const problems = [
    ...flags.problems,
    ...more.problems,
    ...loaded.problems,
    ...own(loaded.settings),
    ...(command === 'prd' || loaded.problems.length > 0
      ? []
      : unstartable(checksOf(command, loaded.settings), loaded.settings, world)),
  ];
  const isReady = loaded.problems.length === 0;
  const found = isReady ? findAgents(command, loaded, world, problems) : { agents: [] };
  const {
    agents: [agent, ...fallbacks],
    reviewer,
  } = found;
  if (problems.length > 0 || !agent) throw new Problems(problems);
  const { settings } = loaded;
  return { project, settings, agent, fallbacks, ...(reviewer && { reviewer }), flags: flags.layer };
}

function checksOf(command: SettingsCommand, { guardrails, checks }: Settings): readonly string[] {
  return command === 'run' ? guardrails.map(each => each.command) : checks;
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
  world: { readonly cwd: string; readonly env: Call['env'] },
  problems: Problem[],
): FoundAgents {
  const { implementer, reviewer: wanted } = command === 'prd' ? settings : {};
  const named = (flag: string, name: string) => chooseNamed(flag, name, settings, fromFiles, world);
  const agent =
    implementer === undefined ? chooseAgent(settings, fromFiles, world) : named('--implementer', implementer);
  const reviewer = wanted === undefined ? undefined : named('--reviewer', wanted);
  const found = [agent, ...chooseFallbacks(settings, fromFiles, world)];
  const all = [...found, ...(reviewer ? [reviewer] : [])];
  problems.push(...all.filter(isProblem));
  const isChosen = (each: ChosenAgent | Problem): each is ChosenAgent => !isProblem(each);
  if (problems.length === 0)
    problems.push(...all.filter(isChosen).flatMap(each => limitProblems(settings, each)));
  return { agents: found.filter(isChosen), reviewer: reviewer && isChosen(reviewer) ? reviewer : undefined };
}

/** `--dry-run`: what would be run, and with which first prompt. */
export function showPlan(
  { output, env }: Call,
  { settings, agent, project }: SetUp,
  prompt: string,
  checks: readonly string[] = [],
): void {
  const mode = settings.streamAgentOutput ? 'stream' : 'text';
  const command = shownCommand(invocationOf(agent, agentRequest(agent, settings, mode, project.prompt(1))));
  const { name } = agent;
  const shown = withoutSecrets(settings);
  const checkInputs = listCheckInputs({ cwd: project.root, env, commands: checks });
  const rests =
    checks.length === 0
      ? ''
      : `\nThe checks rest on\n${checkInputs.join('\n') || 'no file that Ralph knows of'}\n`;
  const lines = () => `Settings
${JSON.stringify(shown, null, 2)}

Agent (${name}: ${agent.why})
${command}
${rests}
Prompt of the first iteration, on its stdin (${prompt.length} characters)
${prompt}`;
  answer(output, { settings: shown, agent: name, command, checkInputs, prompt }, lines);
}
