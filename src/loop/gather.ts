/** Takes one turn and gathers the evidence of it. */
import type { Evidence } from '../domain/evidence.ts';
import type { IterationResult } from '../domain/result.ts';
import { secondsSince } from '../platform/clock.ts';
import type { LoopPlan, LoopWorld } from './plan.ts';
import { createRepeats } from './repeats.ts';
import type { Tally } from './tally.ts';

export interface Gathered {
  readonly evidence: Evidence;
  /** The stop came before every check had run. */
  readonly cutShort: boolean;
  /** What goes on record when the iteration is over. */
  record(): IterationResult;
}

export function createGatherer(plan: LoopPlan, { emit, stopping, clock }: LoopWorld, tally: Tally) {
  const repeatsOf = createRepeats();
  return async (iteration: number, prompt: string): Promise<Gathered> => {
    const began = clock.ticks();
    const { turn, outcome, countsTools, refusals } = await plan.turn(iteration, prompt, tally);
    tally.count(outcome, turn.usage, countsTools ? turn.toolCalls : null);
    // What the checks rest on is put right before they run.
    const undone = await plan.guard(iteration);
    for (const violation of undone) emit({ type: 'violation', violation });
    const violations = [...refusals, ...undone];
    const checks = stopping.aborted ? [] : await plan.check(iteration);
    const cutShort = stopping.aborted && checks.length < plan.checks.length;
    const { changed, state } = await plan.tree();
    const { claim, blocked } = turn;
    const repeats = repeatsOf({ outcome, claim, checks, tree: state });
    const evidence: Evidence = {
      outcome,
      claim,
      ...(blocked !== undefined && { blocked }),
      checks,
      violations,
      treeChanged: changed,
      repeats,
      spent: tally.spent(),
    };
    const record = () => {
      const duration = secondsSince(clock, began);
      return tally.add({
        number: iteration,
        mode: plan.command,
        turn,
        outcome,
        checks,
        violations,
        countsTools,
        cutShort,
        duration,
      });
    };
    return { evidence, cutShort, record };
  };
}
