/** The protected files of a loop in a session: kept as they are when it begins, and put back at every stop, as after the turn of an outer loop. */
import type { RunEvent } from '../domain/event.ts';
import type { Violation } from '../domain/evidence.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { SessionState } from '../domain/session.ts';
import { projectPaths, runPaths } from '../store/paths.ts';
import { createProtection } from '../workspace/protect.ts';

type Loop = Pick<SessionState, 'runId' | 'iteration' | 'protect' | 'kept'>;

/** As the files are now; the name of what was kept. */
export async function keepProtected(
  root: string,
  loop: Pick<Loop, 'runId' | 'protect'>,
  newFiles: 'allow' | 'forbid',
): Promise<{ readonly kept: string | null; readonly notes: readonly string[] } | Problem> {
  const protection = await open(root, { ...loop, kept: null }, newFiles);
  if (isProblem(protection)) return protection;
  protection.close();
  return { kept: protection.name() ?? null, notes: protection.notes };
}

/** Puts back what the agent has changed. */
export async function restoreProtected(
  root: string,
  loop: Loop,
  record: (...events: readonly RunEvent[]) => void,
): Promise<readonly Violation[]> {
  const protection = await open(root, loop, 'allow');
  if (isProblem(protection)) {
    const violation = { what: `protected files cannot be looked at: ${protection.what}`, restored: false };
    record({ type: 'violation', violation });
    return [violation];
  }
  const found = (what: readonly string[]) => record({ type: 'tampered', what });
  const violations = await protection.restore(loop.iteration, { found, pending: [] });
  record(...violations.map(violation => ({ type: 'violation', violation }) as const));
  protection.close();
  return violations;
}

/** What is kept says itself whether new files are looked for. */
function open(root: string, { runId, protect, kept }: Omit<Loop, 'iteration'>, newFiles: 'allow' | 'forbid') {
  const paths = runPaths(projectPaths(root), runId);
  return createProtection({
    cwd: root,
    env: process.env,
    globs: protect,
    newFiles,
    aside: paths.aside,
    keepIn: paths.state.kept,
    ...(kept !== null && { recall: kept }),
  });
}
