/** Ending a loop of a session by hand: by command, or by deleting its file. */
import type { SessionState } from '../domain/session.ts';
import { tryTo } from '../platform/files.ts';
import { deletedSessions, endSession, isLive, type SessionFile } from './session-file.ts';
import { endRun } from './session-ledger.ts';

/** The loop as it was last; undefined: it had ended already. */
export function cancel(root: string, file: SessionFile): SessionState | undefined {
  const state = endSession(file);
  if (state) endRun(root, state, { stopReason: 'cancelled' });
  return state;
}

/** True: the loop was ended by hand while its hook ran, and the ledger says so. */
export function wasCancelled(root: string, file: SessionFile): boolean {
  if (isLive(file)) return false;
  cancel(root, file); // its file was deleted: nobody else has written that down
  return true;
}

/** No hook runs in a project without a loop's file: that one was deleted is written down by whoever looks next, if it can be. */
export function endDeleted(root: string): void {
  tryTo(() => deletedSessions(root).map(file => cancel(root, file)));
}
