/** `ralph run`: seed 001's loop. */
import { FLAGS, settingsFromFlags } from '../../config/flags.ts';
import { type LoadedSettings, loadSettings } from '../../config/load.ts';
import { markerOf } from '../../domain/completion.ts';
import type { Problem } from '../../domain/problem.ts';
import { type ExitCode, exitCodeOf } from '../../domain/stop-reason.ts';
import { agentRequest, invocationOf, limitProblems, shownCommand } from '../../loop/agent-turn.ts';
import { type ChosenAgent, chooseAgent } from '../../loop/choose-agent.ts';
import { runLoop } from '../../loop/loop.ts';
import { type PromptSource, promptSource } from '../../loop/prompt-source.ts';
import { completionRule, firstPrompt, runPlan } from '../../loop/run-plan.ts';
import { systemClock } from '../../platform/clock.ts';
import { type ProjectPaths, projectPaths, runPaths } from '../../store/paths.ts';
import { createRun, isRunning, listRuns, readRunFile } from '../../store/run-file.ts';
import { type Call, type CliCommand, isProblem, Problems } from '../command.ts';
import { createReporters } from '../reporters.ts';
import { listenForSignals } from '../signals.ts';
import { VERSION } from '../version.ts';

export const run: CliCommand = {
  declare(command) {
    command
      .option('-p, --prompt <text>', 'the prompt')
      .option('-f, --prompt-file <file>', 'a file with the prompt, read anew for every iteration');
    for (const { setting, declaration, negation } of FLAGS) {
      command.option(declaration, described(setting.help, setting.default));
      if (negation) command.option(negation, 'the opposite');
    }
    command.option(
      '--dry-run',
      'show the resolved settings, the agent command and the first prompt; run nothing',
    );
    command.addHelpText('after', EXAMPLES);
  },
  async run(call) {
    const setup = prepare(call);
    if (call.options.dryRun === true) return dryRun(call, setup);
    return start(call, setup);
  },
};

const EXAMPLES = `
Examples:
  ralph run -p "Fix the failing test. When all tests pass, say <response>DONE</response>"
  ralph run -f PROMPT.md --agent codex -m 20
  ralph run -f PROMPT.md --max-cost 5 --iteration-timeout 1800
  ralph run -f PROMPT.md --dry-run

Guardrails and source control are set in .ralph/settings.json: ralph init
`;

function described(help: string, fallback: unknown): string {
  return fallback === undefined || typeof fallback === 'object' ? help : `${help} (default: ${fallback})`;
}

interface Setup {
  readonly project: ProjectPaths;
  readonly loaded: LoadedSettings;
  readonly agent: ChosenAgent;
  readonly source: PromptSource;
}

/** Finds everything that is wrong before anything is written or run. */
function prepare({ options, cwd, env, output }: Call): Setup {
  const project = projectPaths(cwd);
  const flags = settingsFromFlags(options);
  const loaded = loadSettings(project, flags.layer);
  if (output.verbose)
    for (const file of loaded.files) output.error(`[ralph] Loading settings from ${file}\n`);
  const source = promptSource(options as { prompt?: string; promptFile?: string }, cwd);
  const problems: Problem[] = [...flags.problems, ...loaded.problems];
  if (isProblem(source)) problems.push(source);
  const agent =
    problems.length === 0 || loaded.problems.length === 0
      ? chooseAgent(loaded.settings, loaded.fromFiles, { cwd, env })
      : undefined;
  if (isProblem(agent)) problems.push(agent);
  else if (agent && problems.length === 0) problems.push(...limitProblems(loaded.settings, agent));
  if (problems.length > 0 || isProblem(source) || agent === undefined || isProblem(agent))
    throw new Problems(problems);
  return { project, loaded, agent, source };
}

function dryRun({ output }: Call, { loaded, agent, source, project }: Setup): ExitCode {
  const { settings } = loaded;
  const mode = settings.streamAgentOutput ? 'stream' : 'text';
  const command = shownCommand(invocationOf(agent, agentRequest(agent, settings, mode, project.prompt(1))));
  const base = source.read();
  const prompt = typeof base === 'string' ? firstPrompt(settings, base) : '';
  if (output.json)
    output.answer(`${JSON.stringify({ settings, agent: agent.adapter.name, command, prompt })}\n`);
  else {
    output.answer(
      `Settings\n${JSON.stringify(settings, null, 2)}\n\nAgent (${agent.adapter.name}: ${agent.why})\n${command}\n\n`,
    );
    output.answer(`Prompt of the first iteration, on its stdin (${prompt.length} characters)\n${prompt}\n`);
  }
  return 0;
}

async function start(
  { cwd, env, output }: Call,
  { project, loaded, agent, source }: Setup,
): Promise<ExitCode> {
  const { settings } = loaded;
  const others = listRuns(project).filter(id => runs(project, id));
  const { file, paths } = createRun(project, {
    command: 'run',
    version: VERSION,
    config: settings,
    now: systemClock.now(),
  });
  const reporters = createReporters({
    output,
    cwd,
    env,
    journal: paths.events,
    streamAgentOutput: settings.streamAgentOutput,
  });
  const signals = listenForSignals(text => output.error(text));
  const world = {
    runId: file.id,
    cwd,
    clock: systemClock,
    emit: reporters.emit,
    stopping: signals.stopping,
    stopReason: () => 'interrupted' as const,
  };
  const plan = runPlan({ settings, agent, source, project, paths, env, abort: signals.abort }, world);
  try {
    const result = await runLoop({ ...plan, notices: notices(settings, agent, source, others) }, world);
    if (output.json) output.answer(`${JSON.stringify(result)}\n`);
    return exitCodeOf(result.stopReason);
  } finally {
    reporters.close();
    signals.dispose();
  }
}

function runs(project: ProjectPaths, id: string): boolean {
  const file = readRunFile(runPaths(project.runs, id));
  return file !== undefined && isRunning(file);
}

/** What a user would want to know before he leaves it alone. */
function notices(
  settings: LoadedSettings['settings'],
  agent: ChosenAgent,
  source: PromptSource,
  others: readonly string[],
): readonly string[] {
  const rule = completionRule(settings);
  const prompt = source.read();
  const told = typeof prompt === 'string' && prompt.toLowerCase().includes(`<${rule.kind}>`);
  return [
    ...(settings.agent === undefined ? [`Agent: ${agent.name}, because ${agent.why}.`] : []),
    ...(told
      ? []
      : [`The prompt does not say how to end: ask the agent for ${markerOf(rule)} when it is done.`]),
    ...(settings.permissions === 'skip'
      ? ['The agent may do everything without asking, and there is no sandbox around it.']
      : []),
    ...others.map(id => `Another run is working in this folder: ${id}.`),
  ];
}
