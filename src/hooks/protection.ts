/** Loads what looks after the protected files of a loop in a session. */
import type { SessionState } from '../domain/session/session.ts';
import { projectPaths, runPaths } from '../store/paths.ts';
import { createProtection } from '../workspace/protect.ts';

/** As they were kept when the loop began; where nothing is yet, as they are now. What is kept says itself whether new files are looked for. */
export function openProtected(
  root: string,
  { runId, protect, kept }: Pick<SessionState, 'runId' | 'protect' | 'kept'>,
  newFiles: 'allow' | 'forbid' = 'allow',
) {
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
