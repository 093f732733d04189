/** What every loop command does before it starts: settings, agent, and everything that is wrong with them, at once. */
import { type Command, Option } from 'commander';
import { type FlagSpec, flagsOf, settingsFromFlags } from '../config/flags.ts';
import { shownSettings } from '../config/secrets.ts';
import type { SettingsCommand, SettingsLayer } from '../config/setting.ts';
import { defaultOf } from '../config/settings.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { Problem } from '../domain/text/problem.ts';
import { createRedactor } from '../domain/text/secrets.ts';
import { type SetUp, setUpRun } from '../opening/set-up.ts';
import { agentRequest, invocationOf, shownCommand } from '../run/turns/agent-turn.ts';
import { projectPaths } from '../store/paths.ts';
import { listCheckInputs } from '../workspace/check-inputs.ts';
import { answer, type Call, Problems } from './command.ts';

/** Declares the flags of the settings that a command takes. */
export function declareSettings(command: Command, name: SettingsCommand, fallback?: string): void {
  for (const flag of flagsOf(name)) declareFlag(command, flag, fallback ?? defaultOf(flag.setting, name));
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
  'show what would be run; the settings, the agent command and the first prompt',
] as const;

function described(help: string, fallback: unknown): string {
  return fallback === undefined || fallback === false || typeof fallback === 'object'
    ? help
    : `${help} (default: ${fallback})`;
}

/** Throws all problems together, those of the command's own input (`own`) last. `more` comes from elsewhere, such as a YAML file. */
export function setUp(
  command: SettingsCommand,
  { options, root, env, output }: Call,
  own: (settings: Settings) => readonly Problem[],
  more?: SettingsLayer,
  iterations?: number,
): SetUp {
  const flags = settingsFromFlags(command, options);
  const ready = setUpRun(command, { project: projectPaths(root, env), env, flags, more, iterations, own });
  if (!('settings' in ready)) throw new Problems(ready);
  if (output.verbose) for (const file of ready.files) output.error(`[ralph] Loading settings from ${file}\n`);
  return ready;
}

/** `--dry-run`: what would be run, and with which first prompt. */
export function showPlan(
  { output, env }: Call,
  { settings, agents: [agent], project }: SetUp,
  prompt: string,
  checks: readonly string[] = [],
): void {
  const mode = settings.streamAgentOutput ? 'stream' : 'text';
  const command = shownCommand(invocationOf(agent, agentRequest(agent, settings, mode, project.prompt(1))));
  const { name } = agent;
  const shown = shownSettings(settings, createRedactor(env));
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
