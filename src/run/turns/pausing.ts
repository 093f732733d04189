/** What the user changes while the run is paused is his; what the agent had changed by then is still the agent's. */
import type { Prepared } from '../../domain/run/event.ts';
import type { Violation } from '../../domain/run/evidence.ts';
import type { RunState } from '../../domain/run/state.ts';
import { defined } from '../../domain/text/fields.ts';
import { formatProblem } from '../../domain/text/problem.ts';
import type { InputWatch } from '../../workspace/check-inputs.ts';
import type { TreeWatch } from '../../workspace/tree-watch.ts';
import { type Steps, warn } from '../steps.ts';
import type { RunContext } from './context.ts';

type PausingParts = Pick<RunContext, 'protection' | 'steering' | 'emit'> &
  Partial<Pick<RunContext, 'included'>> & { readonly inputs?: InputWatch };

/** What a job has of its own that the user may change. */
export interface Held {
  /** Undoes what the agent may not do, beside the protected paths. */
  restore?(iteration: number): readonly Violation[];
  hold(): void;
  release(): void;
}

export function createPausing(
  { protection, included, steering, emit, inputs }: PausingParts,
  tree: TreeWatch,
  held: Held,
): Pick<Steps, 'restore'> {
  const early: Violation[] = [];
  const found = (what: readonly string[]) => emit({ type: 'tampered', what });
  const restore = async (iteration: number, pending: readonly string[] = []) => [
    ...((await protection?.restore(iteration, { found, pending })) ?? []),
    ...(held.restore?.(iteration) ?? []),
  ];
  steering.care({
    async begin(iteration) {
      early.push(...(await restore(iteration)));
      await tree.hold();
      held.hold();
    },
    async end() {
      const problem = await protection?.renew();
      if (problem) warn(emit, formatProblem(problem));
      const state = await tree.release();
      held.release();
      // A run that is resumed later begins with what the user has left.
      emit({ type: 'prepared', ...preparedWith(state, { protection, included }, inputs?.take()) });
    },
  });
  return {
    restore: async (iteration, pending) => [...early.splice(0), ...(await restore(iteration, pending))],
  };
}

export function preparedWith(
  tree: string | null,
  { protection, included }: Partial<Pick<RunContext, 'protection' | 'included'>>,
  inputs?: Prepared['inputs'],
): Prepared {
  return { tree, ...defined({ kept: protection?.name(), inputs, included: included?.name }) };
}

/** As they were when the run began; what the user did while it was paused is the new start. */
export function recallInputs(inputs: InputWatch, { time }: RunState, prepared: Prepared): Prepared['inputs'] {
  if (time.isPaused || !prepared.inputs) return inputs.take();
  inputs.recall(prepared.inputs);
  return prepared.inputs;
}
