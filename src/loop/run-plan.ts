/** The plan of `ralph run`: a prompt, guardrails, and source control when they pass. */
import type { TurnReport } from '../agents/invoke.ts';
import { runChecks } from '../checks/run-checks.ts';
import type { Settings } from '../config/settings.ts';
import type { Check } from '../domain/check.ts';
import type { CompletionRule } from '../domain/completion.ts';
import { budgetSpent, type Limits } from '../domain/limits.ts';
import { COMMIT_PROMPT, runPrompt } from '../domain/prompt.ts';
import { addUsage, type Usage } from '../domain/usage.ts';
import { ensureFolder, linkOver, writePrivate } from '../platform/files.ts';
import type { ProjectPaths, RunPaths } from '../store/paths.ts';
import { runScmTasks } from '../workspace/scm.ts';
import { deadlines, oneTurn } from './agent-turn.ts';
import type { ChosenAgent } from './choose-agent.ts';
import type { LoopPlan, LoopWorld } from './loop.ts';
import type { PromptSource } from './prompt-source.ts';
import type { Tally } from './tally.ts';

export interface RunParts {
  readonly settings: Settings;
  readonly agent: ChosenAgent;
  readonly source: PromptSource;
  readonly project: ProjectPaths;
  readonly paths: RunPaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends what runs, at once. */
  readonly abort: AbortSignal;
}

type World = Pick<LoopWorld, 'cwd' | 'clock' | 'emit' | 'stopping'>;

export function runPlan(parts: RunParts, world: World): LoopPlan {
  const { settings, agent, source, project } = parts;
  const rule = completionRule(settings);
  const limits = limitsOf(settings);
  const checks = checksOf(settings);
  return {
    command: 'run',
    run: { rule, limits },
    agent,
    checks,
    prompt(iteration, feedback) {
      const base = source.read();
      if (typeof base !== 'string') return base;
      return firstPrompt(settings, base, iteration, feedback);
    },
    turn: (iteration, prompt, tally) => workTurn(parts, world, { iteration, prompt, tally, rule, limits }),
    check: iteration =>
      runChecks({
        checks,
        iteration,
        project,
        paths: parts.paths.iteration(iteration),
        cwd: world.cwd,
        env: parts.env,
        outputChars: settings.outputTruncateChars,
        clock: world.clock,
        emit: world.emit,
        stopping: world.stopping,
        abort: parts.abort,
      }),
    keep: iteration => keepWork(parts, world, iteration, rule),
  };
}

export function completionRule(settings: Settings): CompletionRule {
  return { kind: 'response', text: settings.completionResponse };
}

export function firstPrompt(
  settings: Settings,
  base: string,
  iteration = 1,
  feedback: Parameters<LoopPlan['prompt']>[1] = [],
): string {
  return runPrompt({
    base,
    feedback,
    iteration,
    maxIterations: settings.maximumIterations,
    countIterations: settings.includeIterationCountInPrompt,
  });
}

function limitsOf({ maximumIterations, maxCost, maxTokens, maxTime, maxFailures }: Settings): Limits {
  return {
    maxIterations: maximumIterations,
    ...(maxCost !== undefined && { maxCost }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxTime !== undefined && { maxTime }),
    maxFailures,
  };
}

function checksOf({ guardrails, guardrailTimeout }: Settings): readonly Check[] {
  return guardrails.map(({ command, failAction = 'APPEND', hint, timeout = guardrailTimeout }) => ({
    command,
    failAction,
    timeout,
    ...(hint && { hint }),
  }));
}

interface Work {
  readonly iteration: number;
  readonly prompt: string;
  readonly tally: Tally;
  readonly rule: CompletionRule;
  readonly limits: Limits;
}

async function workTurn(
  parts: RunParts,
  world: World,
  { iteration, prompt, tally, rule, limits }: Work,
): Promise<TurnReport> {
  const { settings, project } = parts;
  const paths = parts.paths.iteration(iteration);
  ensureFolder(paths.folder);
  writePrivate(paths.prompt, prompt);
  linkOver(paths.prompt, project.prompt(iteration));
  const before = tally.spent();
  return oneTurn(
    { ...parts, ...world },
    {
      purpose: 'work',
      prompt,
      rule,
      mode: settings.streamAgentOutput ? 'stream' : 'text',
      rawFile: paths.agent,
      errorFile: paths.agentErrors,
      deadlines: deadlines(settings, before.elapsed),
      overBudget: usage => budgetSpent(limits, iteration === 1 ? usage : addUsage(before.usage, usage)),
    },
  );
}

/** Asks for a commit message and runs the tasks. Returns what the asking used up. */
async function keepWork(
  parts: RunParts,
  world: World,
  iteration: number,
  rule: CompletionRule,
): Promise<Usage | undefined> {
  const { scm } = parts.settings;
  if (!scm?.command || !scm.tasks?.length) return undefined;
  const paths = parts.paths.iteration(iteration);
  let usage: Usage | undefined;
  const askForMessage = async () => {
    const { turn, outcome } = await oneTurn(
      { ...parts, ...world },
      {
        purpose: 'commit-message',
        prompt: COMMIT_PROMPT,
        rule,
        mode: 'text',
        rawFile: `${paths.folder}/commit-message.txt`,
        errorFile: paths.agentErrors,
        deadlines: deadlines(parts.settings, 0),
        overBudget: () => undefined,
      },
    );
    usage = turn.usage;
    return outcome.kind === 'completed' ? turn.lastWords : undefined;
  };
  await runScmTasks({
    command: scm.command,
    tasks: scm.tasks,
    cwd: world.cwd,
    env: parts.env,
    abort: parts.abort,
    emit: world.emit,
    askForMessage,
  });
  return usage;
}
