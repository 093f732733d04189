/** The plan of `ralph run`: a prompt, guardrails, and source control when they pass. */
import { type RoundChanges, runChecks } from '../checks/run-checks.ts';
import type { Settings } from '../config/settings-shape.ts';
import type { Check, CheckResult } from '../domain/check.ts';
import { buildRunPrompt } from '../domain/prompt.ts';
import type { Feedback } from '../domain/verdict.ts';
import type { LoopPlan } from '../engine/plan.ts';
import { linkOver } from '../platform/files.ts';
import { createTreeWatch } from '../workspace/tree-watch.ts';
import { createPausing, preparedWith, recallInputs } from './pausing.ts';
import { commitWork, limitsOf, standstillLimits, TERMS, timeLeft, workTurn } from './plan-parts.ts';
import type { PromptSource } from './prompt-source.ts';
import { checkedTree, createProver, type ProverParts, release } from './prover.ts';

export interface RunParts extends ProverParts {
  readonly source: PromptSource;
  readonly notices: readonly string[];
}

export function runPlan(parts: RunParts): LoopPlan {
  const { settings, agent, source, cwd, env } = parts;
  const run = { ...TERMS.run(settings), limits: limitsOf(settings) };
  const checks = checksOf(settings);
  let userChars = 0;
  const { stuckAfter, unchangedAfter, thrashingAfter } = settings;
  // Looking at the files costs time; only what is asked for needs it.
  const tree = createTreeWatch({ cwd, env, on: stuckAfter + unchangedAfter + thrashingAfter > 0 });
  const commands = checks.map(({ command }) => command);
  const { steps, inputs } = createProver(parts, commands, (iteration, more) =>
    runRound(parts, checks, iteration, more),
  );
  const pausing = createPausing({ ...parts, inputs }, tree, { hold() {}, release() {} });
  return {
    command: 'run',
    run,
    standstill: standstillLimits(settings),
    agent,
    checks,
    notices: parts.notices,
    prepare: async () => preparedWith(await tree.start(), parts, inputs.take()),
    async recall(past, prepared) {
      tree.recall(prepared.tree);
      return preparedWith(prepared.tree, parts, recallInputs(inputs, past, prepared));
    },
    async prompt(iteration, feedback) {
      const base = source.read();
      if (typeof base !== 'string') return base;
      userChars = base.length;
      return promptOf(settings, base, iteration, feedback);
    },
    turn: (iteration, prompt) => workTurn(parts, run, { iteration, prompt, userChars }),
    restore: pausing.restore,
    ...steps,
    look: tree.look,
    commit: (iteration, before) =>
      commitWork(parts, iteration, run.rule, before, checkedTree(parts) ?? tree.checked()),
    note() {},
    close: () => release(parts),
  };
}

function runRound(
  parts: RunParts,
  checks: readonly Check[],
  iteration: number,
  more: RoundChanges,
): Promise<readonly CheckResult[]> {
  const { project, settings } = parts;
  return runChecks({
    ...parts,
    ...timeLeft(parts),
    ...more,
    checks,
    iteration,
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
  });
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
