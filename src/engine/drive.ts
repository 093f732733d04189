/** The engine: asks what is next, performs it, and asks again, until the run ends. Start and resume are the same. Prints nothing. */
import { next, type Step } from '../domain/next.ts';
import type { Past } from '../domain/past.ts';
import { type LoopResult, runResult } from '../domain/result.ts';
import { diskTrouble } from '../platform/disk.ts';
import { createPerformer, restoreFiles } from './perform.ts';
import type { EngineWorld, LoopPlan } from './plan.ts';

type End = Extract<Step, { readonly kind: 'end' }>;

export async function drive(plan: LoopPlan, world: EngineWorld): Promise<LoopResult> {
  const perform = createPerformer(plan, world);
  try {
    for (;;) {
      const step = nextStep(plan, world);
      if (step.kind === 'end') return await end(plan, world, step);
      const ending = await perform(step);
      if (ending) return await end(plan, world, ending);
      await world.settled();
    }
  } catch (error) {
    const trouble = diskTrouble(error);
    if (trouble === undefined) throw error;
    world.disk.failed(trouble);
    return await end(plan, world, { kind: 'end', reason: 'disk_failed', detail: world.disk.trouble() ?? '' });
  }
}

/**
 * A run that was asked to stop begins no further turn and no further check. What has been judged is finished and committed all the same,
 * and a verdict that ends the run outranks the request: proven work is not thrown away by a Ctrl-C.
 */
function nextStep(plan: LoopPlan, { past, stop, disk }: EngineWorld): Step {
  const trouble = disk.trouble();
  if (trouble !== undefined) return { kind: 'end', reason: 'disk_failed', detail: trouble };
  const step = doneAlready(plan, past()) ?? next(past(), plan.run);
  const requested = stop.requested();
  const isVerdict = step.kind === 'end' && !past().open;
  const mayFinish = step.kind === 'finish' && !stop.abort.aborted;
  return !requested || isVerdict || mayFinish ? step : { kind: 'end', ...requested };
}

function doneAlready(plan: LoopPlan, { prepared, open, last }: Past): End | undefined {
  if (!prepared || open || last || !plan.isDone?.()) return undefined;
  return { kind: 'end', reason: plan.run.success };
}

async function end(plan: LoopPlan, world: EngineWorld, { reason, detail }: End): Promise<LoopResult> {
  const { open } = world.past();
  // Whoever looks at the files now should not find what the agent must not change.
  if (open?.turn && !open.judged && world.disk.trouble() === undefined) await restoreFiles(plan, world);
  world.steering.reportUndelivered();
  const duration = world.meter.duration();
  const ended = runResult(world.past(), {
    runId: world.runId,
    stopReason: reason,
    detail,
    duration,
    place: plan.place,
  });
  const result = { ...ended, ...plan.findings?.(ended.iterations) };
  world.emit({ type: 'run-ended', result });
  await world.settled();
  return result;
}
