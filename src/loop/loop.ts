/** Driver A: starts the agent afresh each iteration, gathers evidence, and lets `judge` decide. Prints nothing. */
import type { TurnReport } from '../agents/invoke.ts';
import type { Check, CheckResult } from '../domain/check.ts';
import type { Emit, LoopCommand } from '../domain/event.ts';
import { formatProblem, type Problem } from '../domain/problem.ts';
import type { LoopResult } from '../domain/result.ts';
import type { StopReason } from '../domain/stop-reason.ts';
import type { Usage } from '../domain/usage.ts';
import { type Feedback, judge, type Run } from '../domain/verdict.ts';
import { type Clock, secondsSince } from '../platform/clock.ts';
import type { ChosenAgent } from './choose-agent.ts';
import { createTally, type Tally } from './tally.ts';

/** What a command brings to the loop: what counts as done and how the steps of an iteration are done. */
export interface LoopPlan {
  readonly command: LoopCommand;
  readonly run: Run;
  readonly agent: ChosenAgent;
  readonly checks: readonly Check[];
  /** What the user should know before the first iteration. */
  readonly notices?: readonly string[];
  /** The prompt of an iteration; a problem ends the run. */
  prompt(iteration: number, feedback: readonly Feedback[]): string | Problem;
  turn(iteration: number, prompt: string, tally: Tally): Promise<TurnReport>;
  check(iteration: number): Promise<readonly CheckResult[]>;
  /** After a turn that did not fail and whose checks are all green; what it used up. */
  keep(iteration: number): Promise<Usage | undefined>;
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

export async function runLoop(plan: LoopPlan, world: LoopWorld): Promise<LoopResult> {
  const { emit, stopping, clock } = world;
  const tally = createTally(clock);
  announce(plan, world);
  const end = (reason: StopReason, detail?: string): LoopResult => {
    const result = tally.result(world.runId, reason, detail);
    emit({ type: 'run-ended', result });
    return result;
  };

  let feedback: readonly Feedback[] = [];
  for (let iteration = 1; ; iteration++) {
    if (stopping.aborted) return end(world.stopReason());
    const prompt = plan.prompt(iteration, feedback);
    if (typeof prompt !== 'string') return end('invalid_config', formatProblem(prompt));

    emit({ type: 'iteration-started', iteration });
    const began = clock.ticks();
    const { turn, outcome } = await plan.turn(iteration, prompt, tally);
    tally.count(outcome, turn.usage);
    const checks = stopping.aborted ? [] : await plan.check(iteration);
    const cutShort = stopping.aborted && checks.length < plan.checks.length;

    const verdict = judge(plan.run, {
      outcome,
      claim: turn.claim,
      checks,
      violations: [],
      spent: tally.spent(),
    });
    const green = !cutShort && outcome.kind !== 'failed' && checks.every(check => check.passed);
    const extra = green && !stopping.aborted ? await plan.keep(iteration) : undefined;
    if (extra) tally.extra(extra);

    const countsTools = plan.agent.adapter.reports.toolCalls;
    const duration = secondsSince(clock, began);
    tally.add({
      number: iteration,
      mode: plan.command,
      turn,
      outcome,
      checks,
      countsTools,
      duration,
      cutShort,
    });
    emit({ type: 'iteration-ended', iteration, claim: turn.claim, verdict, usage: tally.spent().usage });
    if (stopping.aborted) return end(world.stopReason());
    if (verdict.kind === 'stop') return end(verdict.reason, verdict.detail);
    feedback = verdict.feedback;
  }
}

function announce(
  { command, agent, run, checks, notices = [] }: LoopPlan,
  { emit, runId, cwd }: LoopWorld,
): void {
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
