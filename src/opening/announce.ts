/** The first event of a run, or of its resumption: what it is, for every reader. */
import type { RunHead } from '../domain/event.ts';
import { resumedStep } from '../domain/next.ts';
import { fold } from '../domain/past.ts';
import type { CrewPlan, EngineWorld, LoopPlan } from '../engine/plan.ts';
import type { ResumedRun } from './resume.ts';
import type { Sandbox } from './sandbox.ts';

interface Announced {
  readonly cwd: string;
  readonly title: string | undefined;
  readonly sandbox: Sandbox;
  readonly resumed: ResumedRun | undefined;
}

export function announce(plan: LoopPlan | CrewPlan, world: EngineWorld, announced: Announced): void {
  const { command, agent, run, checks, notices } = plan;
  const { cwd, title, sandbox, resumed } = announced;
  const { emit, runId } = world;
  const head: RunHead = {
    runId,
    command,
    agent: agent.name,
    ...(agent.model !== undefined && { model: agent.model }),
    ...(title !== undefined && { title }),
    maxIterations: run.limits.maxIterations,
    checks: checks.map(check => check.command),
    cwd,
    ...(sandbox.words !== undefined && { sandbox: sandbox.words }),
    contained: sandbox.contained,
  };
  if (resumed) {
    const draft = { type: 'run-resumed', ...head, ...resumed.repairs, step: 'next', iteration: 0 } as const;
    const after = fold(world.past(), { ...draft, time: world.past().time.latest });
    emit({ ...draft, ...resumedStep(after, run) });
  } else emit({ type: 'run-started', ...head });
  world.meter.begin();
  for (const text of [...sandbox.notices, ...notices]) emit({ type: 'notice', level: 'warning', text });
}
