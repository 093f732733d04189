/** Ending a loop by hand: by command, or by deleting its file. */
import type { SessionState } from '../domain/session.ts';
import { endSession, isLive, type SessionFile } from '../store/session-file.ts';
import { endRun } from '../store/session-ledger.ts';

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
