/** Runs the checks of a session before the agent may stop; not again while the files have not changed. */
import { runChecks } from '../checks/run-checks.ts';
import type { CheckResult } from '../domain/check.ts';
import type { RunEvent } from '../domain/event.ts';
import { isProblem } from '../domain/problem.ts';
import type { SessionState } from '../domain/session.ts';
import { systemClock } from '../platform/clock.ts';
import { readIfThere, writePrivate } from '../platform/files.ts';
import { projectPaths, runPaths } from '../store/paths.ts';
import { SESSION_FILES } from '../store/session-file.ts';
import { readStatus, treeState } from '../workspace/tree-status.ts';

/** Seconds that all checks of one stop may take together; a little less than the host gives the hook. */
export const CHECK_BUDGET = 570;
const OUTPUT_CHARS = 2_000;

export async function verify(
  root: string,
  state: SessionState,
  emit: (event: RunEvent) => void,
): Promise<readonly CheckResult[]> {
  if (state.checks.length === 0) return [];
  const paths = runPaths(projectPaths(root), state.runId);
  const tree = await filesNow(root);
  const known = typeof tree === 'string' ? cached(paths.state.checks, tree) : undefined;
  if (known) return known;
  const never = new AbortController().signal;
  const results = await runChecks({
    checks: state.checks.map(command => ({
      command,
      failAction: 'APPEND',
      timeout: CHECK_BUDGET / state.checks.length,
    })),
    paths: paths.iteration(state.iteration),
    cwd: root,
    root,
    env: process.env,
    excerpt: { chars: OUTPUT_CHARS, from: 'tail' },
    parallel: false,
    retries: 0,
    clock: systemClock,
    emit,
    stopping: never,
    abort: never,
  });
  // What the checks themselves have written belongs to the state they were run in.
  const after = await filesNow(root);
  if (typeof after === 'string') writePrivate(paths.state.checks, JSON.stringify({ tree: after, results }));
  return results;
}

/** A name for what the files are. The loop's own state changes with every turn and is not one of them. */
async function filesNow(root: string) {
  const place = { cwd: root, env: process.env };
  const status = await readStatus({ ...place, exclude: [SESSION_FILES] });
  return isProblem(status) ? status : treeState({ ...place, status });
}

function cached(path: string, tree: string): readonly CheckResult[] | undefined {
  try {
    const kept = JSON.parse(readIfThere(path) ?? 'null');
    return kept?.tree === tree && Array.isArray(kept.results) ? kept.results : undefined;
  } catch {
    return undefined;
  }
}
