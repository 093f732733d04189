/**
 * The protected files of a loop in a session: kept as they are when it begins, and put back at every stop, as after the turn of an outer
 * loop. Only one that has some loads what looks after them.
 */
import type { Violation } from '../domain/run/evidence.ts';
import type { SessionState } from '../domain/session/session.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { record } from '../store/session-ledger.ts';
import { loadBeside } from './load-heavy.ts';
import { hookSettings } from './settings.ts';

/** The loop, with its protected files kept as they are now. */
export async function withProtected(
  root: string,
  state: SessionState,
): Promise<{ readonly state: SessionState; readonly notes: readonly string[] } | Problem> {
  const { guard, protectNew } = hookSettings(root);
  const begun = { ...state, protect: guard.protect, kept: null };
  if (guard.protect.length === 0) return { state: begun, notes: [] };
  const { openProtected } = loadBeside('ralph-hook-more');
  const protection = await openProtected(root, begun, protectNew ? 'forbid' : 'allow');
  if (isProblem(protection)) return protection;
  return { state: { ...begun, kept: protection.name() }, notes: protection.notes };
}

/** For the user, whose prompt it was that ended the turn. */
export function undoneWords(violations: readonly Violation[]): string {
  const all = violations.every(({ restored }) => restored);
  const what = violations.map(violation => violation.what).join(', ');
  return `⚠️ Ralph: the agent changed protected files: ${what}. ${all ? 'This was undone.' : 'Not all of it could be undone.'}`;
}

/** Puts back what the agent has changed, and writes it down. */
export async function putBack(root: string, state: SessionState): Promise<readonly Violation[]> {
  if (state.kept === null) return [];
  const protection = await loadBeside('ralph-hook-more').openProtected(root, state);
  const found = (what: readonly string[]) => record(root, state.runId, { type: 'tampered', what });
  const violations = isProblem(protection)
    ? [unseen(protection)]
    : await protection.restore(state.iteration, { found, pending: [] });
  record(root, state.runId, ...violations.map(violation => ({ type: 'violation', violation }) as const));
  return violations;
}

export function unseen({ what }: Problem): Violation {
  return { what: `protected files cannot be looked at: ${what}`, restored: false };
}
