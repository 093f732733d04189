/** The plan of `ralph run`: a prompt, guardrails, and source control when they pass. */
import { runChecks } from '../checks/run-checks.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { Check } from '../domain/check.ts';
import { buildRunPrompt } from '../domain/prompt.ts';
import type { Feedback } from '../domain/verdict.ts';
import type { LoopPlan } from '../engine/plan.ts';
import { linkOver } from '../platform/files.ts';
import { createTreeWatch } from '../workspace/tree-watch.ts';
import {
  commitWork,
  limitsOf,
  type PlanParts,
  standstillLimits,
  TERMS,
  timeLeft,
  workTurn,
} from './plan-parts.ts';
import type { PromptSource } from './prompt-source.ts';

export interface RunParts extends PlanParts {
  readonly source: PromptSource;
  readonly notices: readonly string[];
}

export function runPlan(parts: RunParts): LoopPlan {
  const { settings, agent, source, project, cwd, env } = parts;
  const run = { ...TERMS.run(settings), limits: limitsOf(settings) };
  const checks = checksOf(settings);
  let userChars = 0;
  const { stuckAfter, unchangedAfter, thrashingAfter } = settings;
  // Looking at the files costs time; only what is asked for needs it.
  const tree = createTreeWatch({ cwd, env, on: stuckAfter + unchangedAfter + thrashingAfter > 0 });
  parts.steering.care({
    begin: tree.hold,
    async end() {
      parts.emit({ type: 'prepared', tree: await tree.release() });
    },
  });
  return {
    command: 'run',
    run,
    standstill: standstillLimits(settings),
    agent,
    checks,
    notices: parts.notices,
    prepare: async () => ({ tree: await tree.start() }),
    async recall(_, prepared) {
      tree.recall(prepared.tree);
      return prepared;
    },
    async prompt(iteration, feedback) {
      const base = source.read();
      if (typeof base !== 'string') return base;
      userChars = base.length;
      return promptOf(settings, base, iteration, feedback);
    },
    turn: (iteration, prompt) => workTurn(parts, run, { iteration, prompt, userChars }),
    restore: async () => [],
    check: iteration =>
      runChecks({
        ...parts,
        ...timeLeft(parts),
        checks,
        paths: parts.paths.iteration(iteration),
        root: project.root,
        publish(log, slug) {
          const published = project.guardrailLog(iteration, slug);
          linkOver(log, published);
          return published;
        },
        excerpt: { chars: settings.outputTruncateChars, from: 'head' },
        parallel: false,
        retries: 0,
      }),
    look: tree.look,
    commit: (iteration, before) => commitWork(parts, iteration, run.rule, before, tree.checked()),
    note() {},
    close() {},
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
  });
}

function checksOf({ guardrails, guardrailTimeout }: Settings): readonly Check[] {
  return guardrails.map(({ command, failAction = 'APPEND', hint, timeout = guardrailTimeout }) => ({
    command,
    failAction,
    timeout,
    ...(hint && { hint }),
  }));
}
