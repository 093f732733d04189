/** What a stop changes outside of itself, and the same for somebody who only wants to know. */
import { changeSession, endSession } from '../store/session-file.ts';
import { endRun, hold, openRun, record, wasCancelled } from '../store/session-ledger.ts';

/** What a decision changes. */
export const EFFECTS = {
  /** Whether they are none: somebody wants to know, and the stop itself comes later. */
  isPeek: false,
  open: openRun,
  hold,
  record,
  change: changeSession,
  end: endSession,
  endRun,
  isOver: wasCancelled,
};

export type Effects = typeof EFFECTS;

/** For a host that must know the answer to a stop before it happens. */
export const NO_EFFECTS: Effects = {
  isPeek: true,
  open: () => '',
  hold() {},
  record() {},
  change: ({ state }, change) => change(state),
  end: ({ state }) => state,
  endRun() {},
  isOver: () => false,
};
