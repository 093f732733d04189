/** An in-session loop is a run like any other: every decision of a hook is a line in its ledger. */
import type { SessionRequest } from '../domain/session.ts';
import { projectPaths } from '../store/paths.ts';
import { createRun } from '../store/run-file.ts';
import { record } from '../store/session-ledger.ts';

export function openRun(root: string, request: SessionRequest, host: string): string {
  const project = projectPaths(root);
  const { file } = createRun(project, {
    command: 'session',
    version: '',
    config: request,
    now: Date.now(),
    pid: clientPid(),
  });
  record(root, file.id, {
    type: 'run-started',
    runId: file.id,
    command: 'session',
    agent: host,
    maxIterations: request.maxIterations,
    checks: request.checks,
    cwd: root,
  });
  return file.id;
}

/** The host's own process: the loop lives as long as the session does. */
function clientPid(): number {
  const named = Number(process.env.CLAUDE_PID);
  return Number.isSafeInteger(named) && named > 0 ? named : process.ppid;
}
