/** What a stop changes outside of itself, and the same for somebody who only wants to know. */
import { wasCancelled } from '../store/session-end.ts';
import { changeSession, endSession } from '../store/session-file.ts';
import { endRun, hold, openRun, record } from '../store/session-ledger.ts';

/** What a decision changes. */
export interface Effects {
  /** Whether they are none: somebody wants to know, and the stop itself comes later. */
  readonly isPeek: boolean;
  readonly open: typeof openRun;
  readonly hold: typeof hold;
  readonly record: typeof record;
  readonly change: typeof changeSession;
  readonly end: typeof endSession;
  readonly endRun: typeof endRun;
  readonly isOver: typeof wasCancelled;
}

export const EFFECTS: Effects = {
  isPeek: false,
  open: openRun,
  hold,
  record,
  change: changeSession,
  end: endSession,
  endRun,
  isOver: wasCancelled,
};

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
