/** The protected files of a loop in a session. Only one that has some loads what looks after them. */
import type { Violation } from '../domain/evidence.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { SessionState } from '../domain/session.ts';
import type { record } from '../store/session-ledger.ts';
import { loadBeside } from './beside.ts';
import { hookSettings } from './settings.ts';

/** The loop, with its protected files kept as they are now. */
export async function withProtected(
  root: string,
  state: SessionState,
): Promise<{ readonly state: SessionState; readonly notes: readonly string[] } | Problem> {
  const { guard, protectNew } = hookSettings(root);
  const { protect } = guard;
  if (protect.length === 0) return { state: { ...state, protect, kept: null }, notes: [] };
  const { keepProtected } = loadBeside('ralph-hook-more');
  const found = await keepProtected(root, { runId: state.runId, protect }, protectNew ? 'forbid' : 'allow');
  if (isProblem(found)) return found;
  return { state: { ...state, protect, kept: found.kept }, notes: found.notes };
}

/** For the user, whose prompt it was that ended the turn. */
export function undoneWords(violations: readonly Violation[]): string {
  const all = violations.every(({ restored }) => restored);
  const what = violations.map(violation => violation.what).join(', ');
  return `⚠️ Ralph: the agent changed protected files: ${what}. ${all ? 'This was undone.' : 'Not all of it could be undone.'}`;
}

/** Puts back what the agent has changed, and writes it down. */
export async function putBack(
  root: string,
  state: SessionState,
  write: typeof record,
): Promise<readonly Violation[]> {
  if (state.kept === null) return [];
  const { restoreProtected } = loadBeside('ralph-hook-more');
  return await restoreProtected(root, state, (...events) => write(root, state.runId, ...events));
}
