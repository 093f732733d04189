/** An in-session loop is a run like any other: every decision of a hook is a line in its ledger. */
import type { RunEvent } from '../domain/event.ts';
import { createRedactor } from '../domain/secrets.ts';
import type { SessionRequest } from '../domain/session.ts';
import { createJournal } from '../store/journal.ts';
import { projectPaths, runPaths } from '../store/paths.ts';
import { createRun } from '../store/run-file.ts';

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
  const told = Number(process.env.CLAUDE_PID);
  return Number.isSafeInteger(told) && told > 0 ? told : process.ppid;
}

/** Never the reason that a hook fails. */
export function record(root: string, runId: string, ...events: readonly RunEvent[]): void {
  if (runId === '') return;
  try {
    const journal = createJournal(
      runPaths(projectPaths(root).runs, runId).events,
      Date.now,
      createRedactor(process.env),
    );
    for (const event of events) journal.append(event);
    journal.close();
  } catch {
    // a full disk, a folder swept away: the loop goes on without its ledger
  }
}
