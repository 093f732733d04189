/** Performs one step: everything that happens in it is an event, and the last of them says that the step is over. */
import { isGreen } from '../domain/check.ts';
import type { Evidence } from '../domain/evidence.ts';
import type { Step } from '../domain/next.ts';
import type { PastIteration } from '../domain/past-iteration.ts';
import { formatProblem } from '../domain/problem.ts';
import { findStandstill, timesRepeated, traceOf } from '../domain/standstill.ts';
import { countTurn, spentSoFar } from '../domain/usage.ts';
import { judge } from '../domain/verdict.ts';
import { secondsSince } from '../platform/clock.ts';
import { stayLean } from '../platform/memory.ts';
import type { EngineWorld, LoopPlan } from './plan.ts';

type Performed = Promise<Extract<Step, { readonly kind: 'end' }> | undefined>;

/** Answers how the run must end, where a step cannot be performed. When the run is stopping, a step may return before it is over. */
export function createPerformer(plan: LoopPlan, world: EngineWorld) {
  const { clock } = world;
  let [began, before] = [clock.ticks(), secondsOf(world)];
  return async (step: Exclude<Step, { readonly kind: 'end' }>): Performed => {
    switch (step.kind) {
      case 'prepare':
        world.emit({ type: 'prepared', ...(await plan.prepare()) });
        return undefined;
      case 'turn':
        return takeTurn(plan, world, step, () => {
          [began, before] = [clock.ticks(), 0];
        });
      case 'check':
        return checkTurn(plan, world, step.iteration);
      case 'finish':
        return finish(plan, world, step.iteration, () => before + secondsSince(clock, began));
      default:
        return step satisfies never;
    }
  };
}

/** What an iteration had taken when the run was cut off. */
function secondsOf({ past }: EngineWorld): number {
  const { open, time } = past();
  return open ? Math.max(0, Math.round(time.latest - open.startedAt) / 1000) : 0;
}

/** Iterations after which memory is kept small: the larger we are, the longer it takes to start a child. */
const LONG_RUN = 50;

async function takeTurn(
  plan: LoopPlan,
  world: EngineWorld,
  { iteration, feedback }: Extract<Step, { readonly kind: 'turn' }>,
  begins: () => void,
): Performed {
  const { steering, stop, emit, meter } = world;
  meter.pause(await steering.pausePoint(iteration));
  if (stop.stopping.aborted) return undefined;
  const prompt = await plan.prompt(iteration, feedback);
  if (typeof prompt !== 'string')
    return { kind: 'end', reason: 'invalid_config', detail: formatProblem(prompt) };
  if (iteration === LONG_RUN) stayLean();
  begins();
  emit({ type: 'iteration-started', iteration, ...plan.assignment?.() });
  const turn = await plan.turn(iteration, steering.addHints(iteration, prompt));
  emit({ type: 'turn-ended', ...turn });
  return undefined;
}

async function checkTurn(plan: LoopPlan, world: EngineWorld, iteration: number): Performed {
  const { emit, stop, meter, past, sandbox } = world;
  // What the checks rest on is restored before they run.
  await restoreFiles(plan, world);
  const known = openIteration(world).checks;
  const { length: wanted } = plan.checksFor?.(iteration) ?? plan.checks;
  const checks = known.length === wanted ? known : await plan.check(iteration);
  if (stop.stopping.aborted && checks.length < wanted) return undefined;
  const { changed, state } = await plan.look();
  const denials = sandbox?.takeDenials() ?? [];
  const stories = plan.stories?.(iteration);
  const { turn, violations } = openIteration(world);
  if (!turn) return undefined;
  const ending = { ...turn, checks, tree: state };
  const traces = [...past().traces, traceOf(ending, turn.usage)];
  const standstill = plan.standstill && findStandstill(traces, plan.standstill);
  const seen = {
    treeChanged: changed,
    repeats: timesRepeated(past().repeated, ending),
    ...(standstill && { standstill }),
    ...(denials.length > 0 && { denials }),
    ...(stories && { stories }),
    spent: spentSoFar(countTurn(past().totals, turn), meter.elapsed()),
  };
  const { outcome, claim, blocked } = turn;
  const blocks = blocked !== undefined && { blocked };
  const evidence: Evidence = { ...seen, outcome, claim, ...blocks, checks, violations };
  const verdict = judge(plan.run, evidence);
  emit({ type: 'judged', iteration, verdict, ...seen, tree: state, limits: plan.run.limits });
  return undefined;
}

/** Undoes what the agent must not have changed, and says so; what was said before the run was cut off is not said again. */
export async function restoreFiles(plan: LoopPlan, world: EngineWorld): Promise<void> {
  const { number, tampered, violations } = openIteration(world);
  const known = new Set(violations.map(({ what }) => what));
  const found = [...(world.sandbox?.restore() ?? []), ...(await plan.restore(number, tampered))];
  for (const violation of found) {
    if (known.has(violation.what)) continue;
    known.add(violation.what);
    world.emit({ type: 'violation', violation });
  }
}

async function finish(
  plan: LoopPlan,
  world: EngineWorld,
  iteration: number,
  seconds: () => number,
): Performed {
  const { turn, checks, judged, tasks, story } = openIteration(world);
  if (!turn || !judged) return undefined;
  if (turn.outcome.kind !== 'failed' && isGreen(checks)) await plan.commit(iteration, tasks);
  const done = plan.assignment?.().story;
  world.emit({
    type: 'iteration-ended',
    iteration,
    claim: turn.claim,
    verdict: judged.verdict,
    usage: world.past().totals.usage ?? { costSource: 'unknown' },
    duration: seconds(),
    ...(done !== undefined && done !== story && { story: done }),
  });
  const result = world.past().results.at(-1);
  if (result) plan.note(result);
  return undefined;
}

function openIteration({ past }: EngineWorld): PastIteration {
  const { open } = past();
  if (!open) throw new Error('no iteration has begun');
  return open;
}
