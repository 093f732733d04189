/**
 * An iteration may take several attempts: when an attempt ends in trouble that passes, it is waited for, or another agent
 * takes over, and the same prompt is tried again. `domain/turn/retry.ts` decides; what is done here is on the ledger.
 */

import type { TurnReport } from '../../agents/invoke.ts';
import type { Emit, EndedTurn } from '../../domain/run/event.ts';
import { defined } from '../../domain/text/fields.ts';
import { type NextStep, nextStep, type Situation } from '../../domain/turn/retry.ts';
import { isLimit, type Trouble, type TroubleClass } from '../../domain/turn/trouble.ts';
import type { Turn } from '../../domain/turn/turn.ts';
import { addUsage, type Usage } from '../../domain/turn/usage.ts';
import { localZone, secondsSince } from '../../platform/clock.ts';
import { waitFor } from '../wait.ts';
import { currentAgent } from './agent-pool.ts';
import type { RunContext } from './context.ts';

export interface Attempt {
  /** Counted from 1. */
  readonly number: number;
  readonly world: RunContext;
  /** What earlier attempts at this iteration have used. */
  readonly used: Usage | undefined;
}

/** Returns the last attempt, with the costs and tool calls of all. */
export async function takeAttempts(
  world: RunContext,
  iteration: number,
  take: (attempt: Attempt) => Promise<TurnReport>,
): Promise<EndedTurn> {
  const { roster, stopping } = world;
  const sum = createSum();
  const times = new Map<TroubleClass, number>();
  let waited = 0;
  for (let number = 1; ; number++) {
    learnLimits(world);
    goTo(world, roster.pick(world.clock.now()), 'free-again');
    const agent = currentAgent(roster);
    const entry = await enter(world, agent.name);
    const listening = { ...world, agent, emit: entry?.emit ?? world.emit };
    const report = await take({ number, world: listening, used: sum.usage() });
    sum.add(report, agent.adapter.reports.toolCalls);
    if (hasWorked(report.turn)) {
      roster.worked(roster.current());
      waited = 0;
    }
    const { outcome } = report;
    if (outcome.kind !== 'failed' || stopping.aborted) {
      entry?.leave();
      return sum.report(report);
    }
    const { trouble } = outcome;
    times.set(trouble.class, (times.get(trouble.class) ?? 0) + 1);
    const step = decide(world, trouble, { times: times.get(trouble.class) ?? 1, waited });
    // Those who wait behind this one know of the limit before it steps aside.
    if (step.kind !== 'stand' && step.limit !== undefined)
      world.budget?.accounts.limited(agent.name, step.limit);
    entry?.leave();
    if (step.kind === 'stand') {
      return sum.report({
        ...report,
        outcome: { ...outcome, ...(step.why !== undefined && { why: step.why }) },
      });
    }
    const seconds = await carryOut(world, trouble, step);
    if (isLimit(trouble)) waited += seconds * 1000;
    world.meter.pause(await world.steering.pausePoint(iteration));
    if (stopping.aborted) return sum.report(report);
  }
}

/** What another run has met counts here, too. */
function learnLimits({ roster, budget, clock }: RunContext): void {
  const known = roster.limits();
  for (const [index, { name }] of roster.agents.entries()) {
    const until = budget?.accounts.until(name) ?? 0;
    if (roster.agents.length > 1 && until > clock.now() && until > (known[index] ?? 0))
      roster.limit(index, until);
  }
}

async function enter({ budget, stopping, settings, emit }: RunContext, agent: string) {
  if (!budget) return undefined;
  const entry = await budget.accounts.enter(agent, stopping, settings.maxWait * 1000);
  const listen: Emit = event => {
    // Words alone may be the limit itself.
    if (event.type === 'agent' && event.event.kind === 'tool-start') entry.works();
    emit(event);
  };
  return { emit: listen, leave: entry.leave };
}

function decide(
  { roster, clock, settings, meter, random = Math.random }: RunContext,
  trouble: Trouble,
  { times, waited }: { readonly times: number; readonly waited: number },
): NextStep {
  const { maxTime, maxWait, maxRetries } = settings;
  const situation: Situation = {
    now: clock.now(),
    zone: localZone(),
    rules: { maxWait, maxRetries },
    limitedUntil: roster.limits(),
    current: roster.current(),
    times,
    limitsInARow: isLimit(trouble) ? roster.met(roster.current()) : 0,
    waited,
    timeLeft: maxTime === undefined ? Number.POSITIVE_INFINITY : (maxTime - meter.elapsed()) * 1000,
    chance: random(),
  };
  return nextStep(trouble, situation);
}

/** Waits or switches to another agent; answers the seconds it took. */
async function carryOut(
  world: RunContext,
  trouble: Trouble,
  step: Exclude<NextStep, { kind: 'stand' }>,
): Promise<number> {
  const { roster, clock, emit, stopping, settings } = world;
  const { limit } = step;
  if (limit !== undefined) roster.limit(roster.current(), limit);
  if (step.kind === 'switch') {
    goTo(world, step.to, 'limited', step.limit);
    return 0;
  }
  const { to, ms, until } = step;
  if (ms === 0) return 0;
  const began = clock.ticks();
  emit({
    type: 'waiting',
    agent: currentAgent(roster).name,
    trouble,
    until: until ?? Math.round(clock.now() + ms),
  });
  const longest = isLimit(trouble) ? settings.maxWait * 1000 : ms;
  await waitFor({ ms, longest, ...(until !== undefined && { until }) }, clock, stopping);
  roster.limit(to, 0); // the wait is over, whatever the clock on the wall says now
  return secondsSince(clock, began);
}

function goTo({ roster, emit }: RunContext, to: number, why: 'limited' | 'free-again', until?: number): void {
  const from = currentAgent(roster).name;
  if (to === roster.current()) return;
  roster.use(to);
  const known = until !== undefined && Number.isFinite(until) ? { until } : {};
  emit({ type: 'agent-switched', from, to: currentAgent(roster).name, why, ...known });
}

function hasWorked(turn: Turn): boolean {
  return turn.toolCalls > 0 || turn.lastWords.trim() !== '';
}

/** Adds up what the attempts have used; one that did nothing and reported nothing cost nothing. */
function createSum() {
  let usage: Usage | undefined;
  let toolCalls = 0;
  let steps = 0;
  let countsTools = true;
  let idle = true;
  return {
    usage: () => usage,
    add({ turn }: TurnReport, counts: boolean): void {
      idle &&= !hasWorked(turn);
      const isNothing = !hasWorked(turn) && turn.usage.cost === undefined && !turn.usage.tokens;
      if (!isNothing) usage = usage ? addUsage(usage, turn.usage) : turn.usage;
      toolCalls += turn.toolCalls;
      steps += turn.steps;
      countsTools &&= counts;
    },
    report: ({
      turn: { claim, blocked, question, reviews, keeps, refused, usage: last },
      outcome,
    }: TurnReport): EndedTurn => ({
      outcome,
      claim,
      ...defined({ blocked, question, reviews, keeps, refused }),
      steps,
      toolCalls: countsTools ? toolCalls : null,
      usage: usage ?? last,
      ...(idle && { idle }),
    }),
  };
}
