/** Driver A: starts the agent afresh each iteration, gathers evidence, and lets `judge` decide. Prints nothing. */
import { isGreen } from '../domain/check.ts';
import { formatProblem } from '../domain/problem.ts';
import type { LoopResult } from '../domain/result.ts';
import type { StopReason } from '../domain/stop-reason.ts';
import { type Feedback, judge } from '../domain/verdict.ts';
import { createGatherer } from './gather.ts';
import type { LoopPlan, LoopWorld } from './plan.ts';
import { createTally } from './tally.ts';

export async function drive(plan: LoopPlan, world: LoopWorld): Promise<LoopResult> {
  try {
    return await iterate(plan, world);
  } finally {
    plan.close();
  }
}

async function iterate(plan: LoopPlan, world: LoopWorld): Promise<LoopResult> {
  const { emit, stopping, steering, clock } = world;
  const tally = createTally(clock);
  const gather = createGatherer(plan, world, tally);
  const end = (reason: StopReason, detail?: string): LoopResult => {
    steering.close();
    const result = tally.result({ runId: world.runId, stopReason: reason, detail, place: plan.place });
    emit({ type: 'run-ended', result });
    return result;
  };

  announce(plan, world);
  await plan.prepare();
  let feedback: readonly Feedback[] = [];
  for (let iteration = 1; ; iteration++) {
    tally.pause(await steering.pausePoint(iteration));
    if (stopping.aborted) return end(world.stopReason());
    const prompt = await plan.prompt(iteration, feedback);
    if (typeof prompt !== 'string') return end('invalid_config', formatProblem(prompt));

    emit({ type: 'iteration-started', iteration });
    const { evidence, cutShort, record } = await gather(iteration, steering.tell(iteration, prompt));
    const verdict = judge(plan.run, evidence);
    const isGood = !cutShort && evidence.outcome.kind !== 'failed' && isGreen(evidence.checks);
    const extra = isGood && !stopping.aborted ? await plan.keep(iteration) : undefined;
    if (extra) tally.extra(extra);
    plan.note(record());
    emit({ type: 'iteration-ended', iteration, claim: evidence.claim, verdict, usage: tally.spent().usage });
    steering.settle();

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
