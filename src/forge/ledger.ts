/** The ledger of a run that has ended, for what is done at the forge: each act before and after it. */
import type { ForgeEvent } from '../domain/forge/forge-event.ts';
import { afterForgeEvent, type ForgeState, NOTHING_DONE } from '../domain/forge/forge-state.ts';
import type { RunState } from '../domain/run/state.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { systemClock } from '../platform/clock.ts';
import { openRunStore, type StoreOptions } from '../store/run-store.ts';

export interface ForgeLedger {
  state(): ForgeState;
  note(event: ForgeEvent): void;
  /** What was noted is safe, also where it is copied to. */
  flushed(): Promise<void>;
  /** Writes down that it begins, and what came of it. */
  act<Value, Wrong extends Problem>(
    begun: Omit<ForgeEvent & { type: 'forge-started' }, 'type'>,
    perform: () => Promise<Value | Wrong>,
    done: (value: Exclude<Value, Problem>) => Partial<ForgeEvent & { type: 'forge' }>,
  ): Promise<Value | Wrong>;
  /** Whether somebody has asked for its end with `ralph cancel`; once. */
  takeCancel(): boolean;
  /** Gives the run up: it is worked on again. */
  close(): Promise<void>;
}

/** `env`: with the token in it, so that no line can hold it. */
export function openForgeLedger(
  { past, ...where }: Pick<StoreOptions, 'project' | 'id' | 'env' | 'copy'> & { readonly past: RunState },
  saw: (event: ForgeEvent) => void,
): ForgeLedger {
  let state = past.forge ?? NOTHING_DONE;
  const store = openRunStore({
    ...where,
    now: systemClock.now,
    ticks: systemClock.ticks,
    lost: () => {},
  });
  const note = (event: ForgeEvent) => {
    store.append(event);
    if (event.type !== 'forge-said') state = afterForgeEvent(state, event);
    saw(event);
  };
  return {
    state: () => state,
    note,
    flushed: () => store.flushed(),
    async act(begun, perform, done) {
      const { act, what } = begun;
      note({ type: 'forge-started', ...begun });
      await store.flushed();
      const value = await perform();
      const detail = isProblem(value) ? value.what : what;
      if (isProblem(value)) note({ type: 'forge', act, outcome: 'failed', detail });
      else note({ type: 'forge', act, outcome: 'done', detail, ...done(value as never) });
      await store.flushed();
      return value;
    },
    takeCancel() {
      const found = store.messages().filter(({ kind }) => kind === 'cancel');
      for (const { id: message } of found) store.removeMessage(message);
      return found.length > 0;
    },
    async close() {
      await store.flushed();
      store.close();
    },
  };
}
