/** Driver A: starts the agent afresh each iteration, gathers evidence, and lets `judge` decide. Prints nothing. */
import type { TurnReport } from '../agents/invoke.ts';
import { type Check, type CheckResult, isGreen } from '../domain/check.ts';
import type { Emit, LoopCommand } from '../domain/event.ts';
import type { Violation } from '../domain/evidence.ts';
import { formatProblem, type Problem } from '../domain/problem.ts';
import type { IterationResult, LoopResult } from '../domain/result.ts';
import type { StopReason } from '../domain/stop-reason.ts';
import type { Usage } from '../domain/usage.ts';
import { type Feedback, judge, type Run } from '../domain/verdict.ts';
import type { Clock } from '../platform/clock.ts';
import type { ChosenAgent } from './choose-agent.ts';
import { createGatherer } from './gather.ts';
import { createTally, type Tally } from './tally.ts';

/** What a command brings to the loop: what counts as done and how the steps of an iteration are done. */
export interface LoopPlan {
  readonly command: LoopCommand;
  readonly run: Run;
  readonly agent: ChosenAgent;
  readonly checks: readonly Check[];
  /** What the user should know before the first iteration. */
  readonly notices: readonly string[];
  /** Where the work is, when it is not in the project itself. */
  readonly place?: { readonly worktreePath: string; readonly branch: string };
  /** What is to be done once, before the first iteration. */
  prepare(): Promise<void>;
  /** The prompt of an iteration; a problem ends the run. */
  prompt(iteration: number, feedback: readonly Feedback[]): Promise<string | Problem>;
  turn(iteration: number, prompt: string, tally: Tally): Promise<TurnReport>;
  /** Finds and undoes changes to what is not the agent's to change. */
  guard(iteration: number): Promise<readonly Violation[]>;
  check(iteration: number): Promise<readonly CheckResult[]>;
  /** Whether the files have changed since the run began, and a name for what they are now; null: not looked at. */
  tree(): Promise<{ readonly changed: boolean | null; readonly state: string | null }>;
  /** After a turn that did not fail and whose checks are all green; what it used up. */
  keep(iteration: number): Promise<Usage | undefined>;
  /** An iteration is over. */
  note(result: IterationResult): void;
  /** The run is over, however it ended. */
  close(): void;
}

export interface LoopWorld {
  readonly runId: string;
  readonly cwd: string;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Set when the run should end after the step it is in. */
  readonly stopping: AbortSignal;
  /** What to call it then. */
  stopReason(): StopReason;
}

export async function drive(plan: LoopPlan, world: LoopWorld): Promise<LoopResult> {
  try {
    return await iterate(plan, world);
  } finally {
    plan.close();
  }
}

async function iterate(plan: LoopPlan, world: LoopWorld): Promise<LoopResult> {
  const { emit, stopping, clock } = world;
  const tally = createTally(clock);
  const gather = createGatherer(plan, world, tally);
  const end = (reason: StopReason, detail?: string): LoopResult => {
    const result = tally.result({ runId: world.runId, stopReason: reason, detail, place: plan.place });
    emit({ type: 'run-ended', result });
    return result;
  };

  announce(plan, world);
  await plan.prepare();
  let feedback: readonly Feedback[] = [];
  for (let iteration = 1; ; iteration++) {
    if (stopping.aborted) return end(world.stopReason());
    const prompt = await plan.prompt(iteration, feedback);
    if (typeof prompt !== 'string') return end('invalid_config', formatProblem(prompt));

    emit({ type: 'iteration-started', iteration });
    const { evidence, cutShort, record } = await gather(iteration, prompt);
    const verdict = judge(plan.run, evidence);
    const isGood = !cutShort && evidence.outcome.kind !== 'failed' && isGreen(evidence.checks);
    const extra = isGood && !stopping.aborted ? await plan.keep(iteration) : undefined;
    if (extra) tally.extra(extra);
    plan.note(record());
    emit({ type: 'iteration-ended', iteration, claim: evidence.claim, verdict, usage: tally.spent().usage });

    if (stopping.aborted) return end(world.stopReason());
    if (verdict.kind === 'stop') return end(verdict.reason, verdict.detail);
    feedback = verdict.feedback;
  }
}

function announce({ command, agent, run, checks, notices }: LoopPlan, { emit, runId, cwd }: LoopWorld): void {
  emit({
    type: 'run-started',
    runId,
    command,
    agent: agent.name,
    ...(agent.model !== undefined && { model: agent.model }),
    maxIterations: run.limits.maxIterations,
    checks: checks.map(check => check.command),
    cwd,
  });
  for (const text of notices) emit({ type: 'notice', level: 'warning', text });
}
