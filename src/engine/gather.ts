/** Takes one turn and gathers the evidence of it. */
import type { CheckResult } from '../domain/check.ts';
import type { EndedTurn, Judged } from '../domain/event.ts';
import type { Evidence, TurnOutcome, Violation } from '../domain/evidence.ts';
import type { PastIteration } from '../domain/past.ts';
import type { IterationResult } from '../domain/result.ts';
import { secondsSince } from '../platform/clock.ts';
import type { Account } from './account.ts';
import { createHistory } from './history.ts';
import type { LoopPlan, LoopWorld } from './plan.ts';
import { createRepeats } from './repeats.ts';

export interface Gathered {
  readonly evidence: Evidence;
  /** A name for what the files are; null: not looked at. */
  readonly tree: string | null;
  /** The stop came before every check had run. */
  readonly cutShort: boolean;
  /** What goes on record when the iteration is over. */
  record(): IterationResult;
}

export function createGatherer(plan: LoopPlan, world: LoopWorld, account: Account) {
  const { emit, stopping, clock, past, sandbox } = world;
  const repeatsOf = createRepeats(past);
  const standstillOf = createHistory(plan.standstill, past);
  /** `open`: an iteration that was cut off after its turn; what is known of it is not done again. */
  return async (iteration: number, prompt: string, open?: PastIteration): Promise<Gathered> => {
    const began = clock.ticks();
    const { turn, outcome, countsTools, refusals } = open?.turn
      ? recalled(open.turn)
      : await plan.turn(iteration, prompt, account);
    if (!open) emit({ type: 'turn-ended', ...factsOf(turn, outcome, countsTools) });
    if (!open?.judged) account.count(outcome, turn.usage, countsTools ? turn.toolCalls : null);
    // What the checks rest on is put right before they run.
    const violations = open?.judged
      ? open.violations
      : [...refusals, ...(await guarded(plan, world, iteration, open))];
    const checks = await checked(plan, stopping, iteration, open);
    const cutShort = stopping.aborted && checks.length < plan.checks.length;
    const { changed, state } = open?.judged ? seen(open.judged) : await plan.tree();
    const denials = sandbox?.takeDenials() ?? [];
    const stories = plan.stories?.(iteration);
    const { claim, blocked } = turn;
    const repeats = open?.judged?.repeats ?? repeatsOf({ outcome, claim, checks, tree: state });
    const standstill = open?.judged ? undefined : standstillOf({ checks, tree: state, usage: turn.usage });
    const evidence: Evidence = {
      outcome,
      claim,
      ...(blocked !== undefined && { blocked }),
      checks,
      violations,
      ...(denials.length > 0 && { denials }),
      ...(stories && { stories }),
      treeChanged: changed,
      repeats,
      ...(standstill && { standstill }),
      spent: open?.judged?.spent ?? account.spent(),
    };
    const record = () => {
      const duration = secondsSince(clock, began) + (open?.duration ?? 0);
      return account.add({
        number: iteration,
        ...(plan.assignment?.() ?? { mode: plan.command }),
        turn,
        outcome,
        checks,
        violations,
        countsTools,
        cutShort,
        duration,
      });
    };
    return { evidence, tree: state, cutShort, record };
  };
}

function factsOf(
  { claim, blocked, steps, toolCalls, usage }: Omit<EndedTurn, 'outcome'>,
  outcome: TurnOutcome,
  countsTools: boolean,
): EndedTurn {
  const blocks = blocked !== undefined && { blocked };
  return { outcome, claim, ...blocks, steps, toolCalls: countsTools ? toolCalls : null, usage };
}

/** The turn is evidence, and it is on record: the agent is not asked again. */
function recalled({ outcome, claim, blocked, steps, toolCalls, usage }: EndedTurn) {
  const turn = { claim, steps, toolCalls, usage, ...(blocked !== undefined && { blocked }) };
  // What a hook refused is among the violations on record.
  return { turn, outcome, countsTools: toolCalls !== null, refusals: [] };
}

async function guarded(
  plan: LoopPlan,
  { emit, sandbox }: LoopWorld,
  iteration: number,
  open: PastIteration | undefined,
): Promise<readonly Violation[]> {
  const known = open?.violations ?? [];
  const found = [...(sandbox?.putBack() ?? []), ...(await plan.guard(iteration, open?.tampered ?? []))];
  const fresh = found.filter(({ what }) => !known.some(each => each.what === what));
  for (const violation of fresh) emit({ type: 'violation', violation });
  return [...known, ...fresh];
}

async function checked(
  plan: LoopPlan,
  stopping: AbortSignal,
  iteration: number,
  open: PastIteration | undefined,
): Promise<readonly CheckResult[]> {
  if (open && open.checks.length === plan.checks.length) return open.checks;
  return stopping.aborted ? [] : await plan.check(iteration);
}

function seen({ treeChanged, tree }: Judged) {
  return { changed: treeChanged, state: tree };
}
