/** Performs one step: everything that happens in it is an event, and the last of them says that the step is over. */

import { type CheckResult, isGreen } from '../domain/checks/check.ts';
import type { EndedTurn } from '../domain/run/event.ts';
import type { Evidence, StoryEvidence, Violation } from '../domain/run/evidence.ts';
import { timeIsUp, uncheckedLimit } from '../domain/run/limits.ts';
import type { Step } from '../domain/run/next.ts';
import { beforeVerdict } from '../domain/run/result.ts';
import { findStandstill, timesRepeated, traceOf } from '../domain/run/standstill.ts';
import type { IterationState } from '../domain/run/state.ts';
import { isSuccess } from '../domain/run/stop-reason.ts';
import { judge } from '../domain/run/verdict.ts';
import { pick } from '../domain/text/fields.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { spentSoFar } from '../domain/turn/usage.ts';
import { secondsSince } from '../platform/clock.ts';
import { stayLean } from '../platform/memory.ts';
import { LOOK_EVERY } from './steering.ts';
import { type EngineWorld, type Steps, warn } from './steps.ts';
import { pause } from './wait.ts';

type Performed = Promise<Extract<Step, { readonly kind: 'end' }> | undefined>;

/** Returns how the run must end, where a step cannot be performed. When the run is stopping, a step may return before it is over. */
export function createPerformer(steps: Steps, world: EngineWorld) {
  const { clock } = world;
  let [began, before] = [clock.ticks(), secondsOf(world)];
  return async (step: Exclude<Step, { readonly kind: 'end' }>): Performed => {
    switch (step.kind) {
      case 'prepare':
        return prepare(steps, world);
      case 'turn':
        return takeTurn(steps, world, step, () => {
          [began, before] = [clock.ticks(), 0];
        });
      case 'check':
        return checkTurn(steps, world, step.iteration);
      case 'finish':
        return finish(steps, world, step.iteration, () => before + secondsSince(clock, began));
      case 'restore':
        return goBack(steps, world, step);
      default:
        return step satisfies never;
    }
  };
}

/** A baseline that was cut off is taken again. */
async function prepare(steps: Steps, { emit, stop }: EngineWorld): Performed {
  const prepared = await steps.prepare();
  if (!stop.stopping.aborted) emit({ type: 'prepared', ...prepared });
  return undefined;
}

/** To the files of an earlier iteration; what is planned is on the ledger before anything is moved. */
export async function goBack(
  steps: Steps,
  { emit, past, flushed }: EngineWorld,
  { to, why }: Omit<Extract<Step, { readonly kind: 'restore' }>, 'kind'>,
): Performed {
  const from = past().last?.number ?? to;
  if (!past().restoring) {
    const plan = await steps.planReturn();
    if (isProblem(plan)) {
      emit({ type: 'restored', from, to, why, undone: [], problem: formatProblem(plan) });
      return undefined;
    }
    emit({ type: 'restore-started', from, to, why, ...plan });
    await flushed();
  }
  const { restoring } = past();
  if (restoring) emit({ type: 'restored', from, to, why, ...(await steps.goBack(restoring)) });
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
  steps: Steps,
  world: EngineWorld,
  { iteration, feedback }: Extract<Step, { readonly kind: 'turn' }>,
  begins: () => void,
): Performed {
  const { steering, stop, emit, meter } = world;
  meter.pause(await steering.pausePoint(iteration));
  if (stop.stopping.aborted) return undefined;
  const ready = steps.ready?.() ?? 'yes';
  if (ready === 'wait') return waitForUser(world);
  if (ready !== 'yes') return { kind: 'end', ...ready };
  await steps.undoOthers?.();
  const prompt = await steps.prompt(iteration, feedback);
  if (typeof prompt !== 'string')
    return { kind: 'end', reason: 'invalid_config', detail: formatProblem(prompt) };
  if (iteration === LONG_RUN) stayLean();
  begins();
  emit({ type: 'iteration-started', iteration, ...steps.assignment?.() });
  const turn = await steps.turn(iteration, steering.addHints(iteration, prompt));
  emit({ type: 'turn-ended', ...turn });
  return undefined;
}

/** A moment; then the run asks again what is next, so that a pause and a cancel are seen. */
async function waitForUser({ goal, meter, stop }: EngineWorld): Performed {
  const late = timeIsUp(goal.limits.maxTime, { elapsed: meter.elapsed() });
  if (late) return { kind: 'end', ...late };
  await pause(LOOK_EVERY, stop.stopping);
  return undefined;
}

async function checkTurn(steps: Steps, world: EngineWorld, iteration: number): Performed {
  const { emit, stop, goal } = world;
  // What the checks rest on is restored before they run.
  await restoreFiles(steps, world);
  const { length: wanted } = steps.checksFor?.(iteration) ?? steps.checks;
  let checks = await steps.check(iteration);
  const { turn } = openIteration(world);
  if (!turn) return undefined;
  const isCut = (ran: readonly CheckResult[]) => ran.length < wanted;
  const cutOff = async (): Performed =>
    stop.stopping.aborted
      ? undefined
      : { kind: 'end', ...uncheckedLimit(goal.limits, turn, world.meter.elapsed()) };
  if (isCut(checks)) return cutOff();
  let gathered = await gather(steps, world, iteration, turn);
  let { evidence, seen } = gathered(checks);
  let verdict = judge(goal, evidence);
  if (steps.confirm && verdict.kind === 'stop' && isSuccess(verdict.reason)) {
    const before = checks;
    checks = await steps.confirm(iteration);
    if (isCut(checks)) return cutOff();
    if (checks !== before) gathered = await gather(steps, world, iteration, turn, evidence.stories);
    ({ evidence, seen } = gathered(checks));
    verdict = judge(goal, evidence);
  }
  const again =
    verdict.kind === 'stop' && isSuccess(verdict.reason)
      ? await steps.proveHandedOver?.(iteration)
      : undefined;
  if (again) {
    if (isCut(again) && isGreen(again)) return cutOff();
    // In a clean checkout they are more evidence; else they take the place of those that saw another tree.
    ({ evidence, seen } = gathered(again.some(({ clean }) => clean) ? [...checks, ...again] : again));
    verdict = judge(goal, evidence);
  }
  if (steps.mutate && verdict.kind === 'stop' && isSuccess(verdict.reason)) {
    const measured = await steps.mutate();
    if (!measured) return cutOff();
    emit({ type: 'mutated', iteration, ...measured });
    verdict = judge(goal, { ...evidence, ...pick(openIteration(world), 'mutation', 'survivorsShown') });
  }
  emit({ type: 'judged', iteration, verdict, ...seen, limits: goal.limits });
  return undefined;
}

/** Looks at everything but the checks; returns what is to be judged with these checks. `known`: what the stories said before. */
async function gather(
  steps: Steps,
  world: EngineWorld,
  iteration: number,
  turn: EndedTurn,
  known?: StoryEvidence,
) {
  const { meter, past, sandbox, standstill: limits } = world;
  const { changed, state } = await steps.look();
  const denials = sandbox?.takeDenials() ?? [];
  const stories = known ?? steps.stories?.(iteration);
  const before = beforeVerdict(past(), turn);
  return (checks: readonly CheckResult[]) => {
    const ending = { ...turn, checks, tree: state };
    const traces = [...before.traces, traceOf(turn, ending, before.tree)];
    const standstill = findStandstill(traces, limits);
    const seen = {
      treeChanged: changed,
      repeats: timesRepeated(before.repeated, ending),
      ...(standstill && { standstill }),
      ...(denials.length > 0 && { denials }),
      ...(stories && { stories }),
      ...steps.checked?.(),
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
export async function restoreFiles(steps: Steps, world: EngineWorld): Promise<void> {
  const { number, tampered, violations } = openIteration(world);
  const known = new Set(violations.map(({ what }) => what)); // whoever did it
  const found = [
    ...(await restoreOwn(world)),
    ...(world.sandbox?.restore() ?? []),
    ...(await steps.restore(number, tampered)),
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

async function finish(steps: Steps, world: EngineWorld, iteration: number, seconds: () => number): Performed {
  for (const { what } of await restoreOwn(world)) warn(world.emit, `After the checks: ${what}.`);
  const { turn, checks, clean, judged, story } = openIteration(world);
  if (!turn || !judged) return undefined;
  const commits = turn.outcome.kind !== 'failed' && isGreen([...checks, ...clean]);
  if (commits && !(await finishTasks(steps, world, iteration))) return undefined;
  world.secure(); // hooks of git have run
  const done = steps.assignment?.().story;
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
  if (result) steps.note?.(result);
  return undefined;
}

/** False: they were cut off with the run, or a hook has changed what was committed: then the checks run again. */
async function finishTasks(steps: Steps, world: EngineWorld, iteration: number): Promise<boolean> {
  if (!(await steps.commit(iteration, openIteration(world).tasks))) return false;
  const { judged, tasks } = openIteration(world);
  if (!judged) return false;
  const { verdict } = judged;
  const begun = tasks.filter(({ outcome }) => outcome !== 'failed');
  // What a hook refuses it refuses again.
  if (tasks.some(({ refused }) => refused !== undefined)) return true;
  // The last chance: what failed may have been a lock or a network that is free again.
  const isLast = verdict.kind === 'stop' && isSuccess(verdict.reason);
  return !isLast || begun.length === tasks.length || steps.commit(iteration, begun);
}

function openIteration({ past }: EngineWorld): IterationState {
  const { open } = past();
  if (!open) throw new Error('no iteration has begun');
  return open;
}
