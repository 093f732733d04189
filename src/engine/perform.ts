/** Performs one step: everything that happens in it is an event, and the last of them says that the step is over. */
import { beforeVerdict } from '../domain/before-verdict.ts';
import { type CheckResult, isGreen } from '../domain/check.ts';
import type { EndedTurn } from '../domain/event.ts';
import type { Evidence, Violation } from '../domain/evidence.ts';
import { pick } from '../domain/fields.ts';
import { timeIsUp, uncheckedLimit } from '../domain/limits.ts';
import type { Step } from '../domain/next.ts';
import type { PastIteration } from '../domain/past-iteration.ts';
import { formatProblem } from '../domain/problem.ts';
import { findStandstill, timesRepeated, traceOf } from '../domain/standstill.ts';
import { isSuccess } from '../domain/stop-reason.ts';
import { spentSoFar } from '../domain/usage.ts';
import { judge } from '../domain/verdict.ts';
import { secondsSince } from '../platform/clock.ts';
import { stayLean } from '../platform/memory.ts';
import { type EngineWorld, type LoopPlan, warn } from './plan.ts';
import { LOOK_EVERY } from './steering.ts';
import { pause } from './wait.ts';

type Performed = Promise<Extract<Step, { readonly kind: 'end' }> | undefined>;

/** Answers how the run must end, where a step cannot be performed. When the run is stopping, a step may return before it is over. */
export function createPerformer(plan: LoopPlan, world: EngineWorld) {
  const { clock } = world;
  let [began, before] = [clock.ticks(), secondsOf(world)];
  return async (step: Exclude<Step, { readonly kind: 'end' }>): Performed => {
    switch (step.kind) {
      case 'prepare':
        return prepare(plan, world);
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

/** A baseline that was cut off is taken again. */
async function prepare(plan: LoopPlan, { emit, stop }: EngineWorld): Performed {
  const prepared = await plan.prepare();
  if (!stop.stopping.aborted) emit({ type: 'prepared', ...prepared });
  return undefined;
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
  const ready = plan.ready?.() ?? 'yes';
  if (ready === 'wait') return waitForUser(plan, world);
  if (ready !== 'yes') return { kind: 'end', ...ready };
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

/** A moment; then the run asks again what is next, so that a pause and a cancel are seen. */
async function waitForUser({ run }: LoopPlan, { meter, stop }: EngineWorld): Performed {
  const late = timeIsUp(run.limits.maxTime, { elapsed: meter.elapsed() });
  if (late) return { kind: 'end', ...late };
  await pause(LOOK_EVERY, stop.stopping);
  return undefined;
}

async function checkTurn(plan: LoopPlan, world: EngineWorld, iteration: number): Performed {
  const { emit, stop } = world;
  // What the checks rest on is restored before they run.
  await restoreFiles(plan, world);
  const { length: wanted } = plan.checksFor?.(iteration) ?? plan.checks;
  const checks = await plan.check(iteration);
  const { turn } = openIteration(world);
  if (!turn) return undefined;
  const isCut = (ran: readonly CheckResult[]) => ran.length < wanted;
  const cutOff = async (): Performed =>
    stop.stopping.aborted
      ? undefined
      : { kind: 'end', ...uncheckedLimit(plan.run.limits, turn, world.meter.elapsed()) };
  if (isCut(checks)) return cutOff();
  const gathered = await gather(plan, world, iteration, turn);
  let { evidence, seen } = gathered(checks);
  let verdict = judge(plan.run, evidence);
  if (plan.proveClean && verdict.kind === 'stop' && isSuccess(verdict.reason)) {
    const clean = await plan.proveClean(iteration);
    if (isCut(clean) && isGreen(clean)) return cutOff();
    ({ evidence, seen } = gathered([...checks, ...clean]));
    verdict = judge(plan.run, evidence);
  }
  if (plan.mutate && verdict.kind === 'stop' && isSuccess(verdict.reason)) {
    const measured = await plan.mutate();
    if (!measured) return cutOff();
    emit({ type: 'mutated', iteration, ...measured });
    verdict = judge(plan.run, { ...evidence, ...pick(openIteration(world), 'mutation', 'survivorsTold') });
  }
  emit({ type: 'judged', iteration, verdict, ...seen, limits: plan.run.limits });
  return undefined;
}

/** Looks at everything but the checks, once; answers what is to be judged with these checks. */
async function gather(plan: LoopPlan, world: EngineWorld, iteration: number, turn: EndedTurn) {
  const { meter, past, sandbox } = world;
  const { changed, state } = await plan.look();
  const denials = sandbox?.takeDenials() ?? [];
  const stories = plan.stories?.(iteration);
  const before = beforeVerdict(past(), turn);
  return (checks: readonly CheckResult[]) => {
    const ending = { ...turn, checks, tree: state };
    const traces = [...before.traces, traceOf(ending, turn.usage)];
    const standstill = plan.standstill && findStandstill(traces, plan.standstill);
    const seen = {
      treeChanged: changed,
      repeats: timesRepeated(before.repeated, ending),
      ...(standstill && { standstill }),
      ...(denials.length > 0 && { denials }),
      ...(stories && { stories }),
      ...plan.checked?.(),
      tree: state,
      spent: spentSoFar(before.totals, meter.elapsed()),
    };
    const { violations } = openIteration(world);
    const { outcome, claim, blocked } = turn;
    const blocks = blocked !== undefined && { blocked };
    const evidence: Evidence = { ...seen, outcome, claim, ...blocks, checks, violations };
    return { evidence, seen };
  };
}

/** Undoes what the agent must not have changed, and says so; what was said before the run was cut off is not said again. */
export async function restoreFiles(plan: LoopPlan, world: EngineWorld): Promise<void> {
  const { number, tampered, violations } = openIteration(world);
  const known = new Set(violations.map(({ what }) => what)); // whoever did it
  const found = [
    ...(await restoreOwn(world)),
    ...(world.sandbox?.restore() ?? []),
    ...(await plan.restore(number, tampered)),
  ];
  for (const violation of found) {
    if (known.has(violation.what)) continue;
    known.add(violation.what);
    world.emit({ type: 'violation', violation });
  }
}

/** Ralph's own folder in the project: it comes first, the others write there. */
async function restoreOwn(world: EngineWorld): Promise<readonly Violation[]> {
  const { restored, lost } = await world.restoreOwn();
  for (const what of lost) warn(world.emit, what);
  return restored.map(what => ({ what, restored: true }));
}

async function finish(
  plan: LoopPlan,
  world: EngineWorld,
  iteration: number,
  seconds: () => number,
): Performed {
  for (const { what } of await restoreOwn(world)) warn(world.emit, `After the checks: ${what}.`);
  const { turn, checks, clean, judged, story } = openIteration(world);
  if (!turn || !judged) return undefined;
  const commits = turn.outcome.kind !== 'failed' && isGreen([...checks, ...clean]);
  if (commits && !(await settleTasks(plan, world, iteration))) return undefined;
  world.secure(); // hooks of git have run
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

/** False: they were cut off with the run, or a hook has changed what was committed: then the checks run again. */
async function settleTasks(plan: LoopPlan, world: EngineWorld, iteration: number): Promise<boolean> {
  if (!(await plan.commit(iteration, openIteration(world).tasks))) return false;
  const { judged, tasks } = openIteration(world);
  if (!judged) return false;
  const { verdict } = judged;
  const begun = tasks.filter(({ outcome }) => outcome !== 'failed');
  // The last chance: what failed may have been a lock or a network that is free again.
  const isLast = verdict.kind === 'stop' && isSuccess(verdict.reason);
  return !isLast || begun.length === tasks.length || plan.commit(iteration, begun);
}

function openIteration({ past }: EngineWorld): PastIteration {
  const { open } = past();
  if (!open) throw new Error('no iteration has begun');
  return open;
}
