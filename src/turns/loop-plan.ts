/** The plan of `ralph loop`: a task, a clean context each time, and checks that must all pass. */
import { buildLoopPrompt, type LoopPrompt } from '../domain/loop-prompt.ts';
import { formatProblem, isProblem, type Problem } from '../domain/problem.ts';
import { createRedactor } from '../domain/secrets.ts';
import { type LoopPlan, warn } from '../engine/plan.ts';
import { writeAtomic } from '../platform/files.ts';
import { createProgress } from '../store/progress.ts';
import { accumulatedDiff } from '../workspace/diff.ts';
import type { TreeStatus } from '../workspace/tree-status.ts';
import { createTreeWatch } from '../workspace/tree-watch.ts';
import { checksOf, createBaseline, runRound } from './check-round.ts';
import { mutationStep } from './mutation.ts';
import { createPausing, type Held, preparedWith, recallInputs } from './pausing.ts';
import { commitWork, limitsOf, standstillLimits, TERMS, workTurn } from './plan-parts.ts';
import type { PromptSource } from './prompt-source.ts';
import { checkedTree, createProver, type ProverParts, release } from './prover.ts';
import { speaksPlainly } from './roster.ts';

export interface LoopParts extends ProverParts {
  /** The task, or the text of the spec file. */
  readonly task: string;
  /** The spec file, to be read anew when the user has had his hands on it. */
  readonly spec: PromptSource | undefined;
  /** The commit from which changes are counted. */
  readonly startRef: string;
  readonly notices: readonly string[];
  readonly place: LoopPlan['place'] | undefined;
}

const DIFF_CHARS = 5_000;

export function loopPlan(parts: LoopParts): LoopPlan {
  const { settings, agent, cwd, env } = parts;
  const run = { ...TERMS.loop(settings), limits: limitsOf(settings) };
  const { rule } = run;
  const checks = checksOf(settings.checks, settings, parts.ownChecks);
  const progress = createProgress(parts.project, parts.paths);
  const tree = createTreeWatch({ cwd, env, on: true });
  const baseline = createBaseline({ ...parts, checks: () => checks, excused: settings.baselineUngated });
  const { steps, inputs } = createProver(parts, settings.checks, (iteration, more) =>
    runRound({ ...parts, ...more }, { iteration, checks, as: baseline.excuse }),
  );
  const task = createTask(parts);
  const pausing = createPausing({ ...parts, inputs }, tree, task);
  return {
    command: 'loop',
    run,
    standstill: standstillLimits(settings),
    agent,
    checks,
    notices: parts.notices,
    ...(parts.place && { place: parts.place }),
    async prepare() {
      const prepared = preparedWith(await tree.start(), parts, inputs.take());
      if (!settings.baseline) return prepared;
      await baseline.take(steps.check);
      tree.touched();
      return prepared;
    },
    async recall(past, prepared) {
      tree.recall(prepared.tree);
      baseline.recall(past.baseline);
      for (const result of past.results) progress.add(result);
      return preparedWith(prepared.tree, parts, recallInputs(inputs, past, prepared));
    },
    prompt: (iteration, feedback) =>
      promptFor(parts, {
        task: task.text(),
        iteration,
        feedback,
        rule,
        checks: baseline.told(),
        progress: progress.latest(),
        status: tree.takeStatus(),
      }),
    turn: (iteration, prompt) => workTurn(parts, run, { iteration, prompt, userChars: task.text().length }),
    restore: pausing.restore,
    ...steps,
    ...mutationStep(parts),
    look: tree.look,
    commit(iteration, before) {
      if (settings.scm) tree.touched();
      return commitWork(parts, iteration, rule, before, checkedTree(parts) ?? tree.checked());
    },
    note: result => progress.add(result),
    close: () => release(parts),
  };
}

interface HeldTask extends Held {
  text(): string;
}

/** The task; of a spec file only what the user wrote into it, while the run was paused: an agent may not change its own task. */
function createTask({ task, spec, emit, paths }: LoopParts): HeldTask {
  let text = task;
  let held: string | Problem | undefined;
  return {
    text: () => text,
    hold() {
      held = spec?.read();
    },
    release() {
      const now = spec?.read();
      if (now === undefined || now === held) return;
      if (typeof now === 'string') {
        text = now;
        writeAtomic(paths.task, now);
      } else warn(emit, `${formatProblem(now)}. The task stays as it was.`);
    },
  };
}

interface PromptInput extends Omit<LoopPrompt, 'maxIterations' | 'diff'> {
  readonly status: TreeStatus | undefined;
}

async function promptFor(parts: LoopParts, { status, ...input }: PromptInput): Promise<string | Problem> {
  const { cwd, env, startRef, settings } = parts;
  const diff = await accumulatedDiff({ cwd, env, startRef, maxChars: DIFF_CHARS, ...(status && { status }) });
  if (isProblem(diff)) return diff;
  return buildLoopPrompt({
    ...input,
    isPlain: speaksPlainly(parts.roster, settings),
    maxIterations: settings.maximumIterations,
    diff: createRedactor(env)(diff.text),
  });
}
