/** The engine: asks what is next, performs it, and asks again, until the run ends. Start and resume are the same. Prints nothing. */
import { endsWorse } from '../domain/run/best.ts';
import { next, type Step, turnForHint } from '../domain/run/next.ts';
import { type LoopResult, runResult } from '../domain/run/result.ts';
import { isSuccess, type StopReason } from '../domain/run/stop-reason.ts';
import { diskTrouble } from '../platform/disk.ts';
import { createPerformer, goBack, restoreFiles } from './perform.ts';
import type { EngineWorld, Steps } from './steps.ts';
import { isBrokenOff } from './stop.ts';

type End = Extract<Step, { readonly kind: 'end' }>;

export async function drive(steps: Steps, world: EngineWorld): Promise<LoopResult> {
  const perform = createPerformer(steps, world);
  try {
    for (;;) {
      const step = nextStep(steps, world);
      if (step.kind === 'end') return await end(steps, world, step);
      const ending = await perform(step);
      if (ending) return await end(steps, world, ending);
      await world.flushed();
    }
  } catch (error) {
    const trouble = diskTrouble(error);
    if (trouble === undefined) throw error;
    world.disk.failed(trouble);
    return await end(steps, world, {
      kind: 'end',
      reason: 'disk_failed',
      detail: world.disk.trouble() ?? '',
    });
  }
}

/**
 * A run that was asked to stop begins no further turn and no further check. What has been judged is finished and committed all the same,
 * and a verdict that ends the run outranks the request: proven work is not thrown away by a Ctrl-C.
 */
function nextStep(steps: Steps, world: EngineWorld): Step {
  const { past, stop, disk, goal } = world;
  const trouble = disk.trouble();
  if (trouble !== undefined) return { kind: 'end', reason: 'disk_failed', detail: trouble };
  const decided = doneAlready(steps, world) ?? next(past(), goal);
  const step = (decided.kind === 'end' && stepForHint(steps, world, decided)) || decided;
  const requested = stop.requested();
  const isVerdict = step.kind === 'end' && !past().open;
  const mayFinish = step.kind === 'finish' && !stop.abort.aborted;
  return !requested || isVerdict || mayFinish ? step : { kind: 'end', ...requested };
}

/** A list of stories that is done has nothing left that an agent could be asked for. */
function stepForHint(steps: Steps, { past, goal, stop, steering }: EngineWorld, end: End): Step | undefined {
  const isAsked = stop.requested() !== undefined || (steps.stories !== undefined && isSuccess(end.reason));
  return !isAsked && steering.hasHints() ? turnForHint(end, past(), goal) : undefined;
}

function doneAlready(steps: Steps, { past, goal, steering }: EngineWorld): End | undefined {
  const { prepared, open, last } = past();
  if (!prepared || open || last || steering.hasRound() || !steps.isDone?.()) return undefined;
  return { kind: 'end', reason: goal.success };
}

async function end(steps: Steps, world: EngineWorld, given: End): Promise<LoopResult> {
  const { open } = world.past();
  const lost = isSuccess(given.reason) ? await steps.lostBranch?.() : undefined;
  const { reason, detail } = lost === undefined ? given : { reason: 'scm_failed' as const, detail: lost };
  // Whoever looks at the files now should not find what the agent must not change.
  if (open?.turn && !open.judged && world.disk.trouble() === undefined) await restoreFiles(steps, world);
  if (!isSuccess(reason)) await leaveBest(steps, world);
  world.steering.reportUndelivered();
  const duration = world.meter.duration();
  const tests = await lookBack(steps, world, reason);
  const ended = runResult(world.past(), {
    runId: world.runId,
    stopReason: reason,
    detail,
    duration,
    place: world.place,
    tests,
  });
  const result = { ...ended, ...steps.findings?.(ended.iterations) };
  world.emit({ type: 'run-ended', result });
  await world.flushed();
  return result;
}

/** An iteration that is open is continued with its files by whoever resumes the run. */
async function leaveBest(steps: Steps, world: EngineWorld): Promise<void> {
  const { goal, stop, disk } = world;
  const { best, open, ...past } = world.past();
  if (!best || open || stop.abort.aborted || disk.trouble() !== undefined) return;
  if (past.restoring) await goBack(steps, world, past.restoring);
  else if (endsWorse({ best }, goal.goBack)) await goBack(steps, world, { to: best.at.number, why: 'end' });
}

async function lookBack({ lookBack: ask }: Steps, { stop, disk }: EngineWorld, reason: StopReason) {
  return !ask || isBrokenOff(stop, reason) || disk.trouble() !== undefined ? [] : ask();
}
