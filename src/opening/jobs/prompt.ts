/** `ralph run`: a prompt, checks, and source control when they pass. */
import type { Settings } from '../../config/settings-shape.ts';
import { buildRunPrompt } from '../../domain/run/prompt.ts';
import { titleOf } from '../../domain/run/title.ts';
import type { Feedback } from '../../domain/run/verdict.ts';
import type { Steps } from '../../run/steps.ts';
import { baseSteps } from '../../run/turns/base-steps.ts';
import { checksOf } from '../../run/turns/check-round.ts';
import type { RunContext } from '../../run/turns/context.ts';
import type { PromptSource } from '../../run/turns/prompt-source.ts';
import { createProver } from '../../run/turns/prover.ts';
import { createTreeWatch } from '../../workspace/tree-watch.ts';
import type { Job } from '../job.ts';

export interface PromptGiven {
  readonly source: PromptSource;
  /** Where the prompt was read from; else it is `prompt`. */
  readonly promptFile?: string | undefined;
  readonly prompt?: string | undefined;
}

export function promptJob({ source, promptFile, prompt: task }: PromptGiven): Job {
  return {
    command: 'run',
    async enter({ project }) {
      const prompt = source.read();
      return {
        cwd: project.root,
        title: typeof prompt === 'string' ? titleOf(prompt) : undefined,
        given: promptFile === undefined ? {} : { promptFile },
        task,
        steps: async context => promptSteps(context, source),
      };
    },
  };
}

function promptSteps(context: RunContext, source: PromptSource): Steps {
  const { settings } = context;
  const checks = checksOf(settings.checks, settings, context.ownChecks);
  let userChars = 0;
  const prover = createProver(context, {
    commands: settings.checks,
    checks: () => checks,
    areGuardrails: true,
  });
  return {
    checks,
    ...baseSteps(context, { tree: createTreeWatch(context), prover, userChars: () => userChars }),
    async prompt(iteration, feedback) {
      const base = source.read();
      if (typeof base !== 'string') return base;
      userChars = base.length;
      return promptOf(settings, base, iteration, feedback);
    },
  };
}

export function promptOf(
  settings: Settings,
  base: string,
  iteration: number,
  feedback: readonly Feedback[],
): string {
  return buildRunPrompt({
    base,
    feedback,
    iteration,
    maxIterations: settings.maximumIterations,
    countIterations: settings.includeIterationCountInPrompt,
    protect: settings.protect,
    only: settings.only,
  });
}
