/** The ledger of an in-session loop, a run like any other: written by whoever decides something in it, a process each time. */
import type { RunEvent } from '../domain/event.ts';
import { createRedactor, redactDeep } from '../domain/secrets.ts';
import type { SessionRequest } from '../domain/session.ts';
import { createJournal } from './journal.ts';
import { projectPaths, runPaths } from './paths.ts';
import { createRun } from './run-file.ts';

/** Never the reason that a hook fails. */
export function record(root: string, runId: string, ...events: readonly RunEvent[]): void {
  if (runId === '') return;
  try {
    const redact = createRedactor(process.env);
    const path = runPaths(projectPaths(root).runs, runId).events;
    const journal = createJournal(path, {
      run: runId,
      now: Date.now,
      redact: event => redactDeep(event, redact),
      durable: false,
    });
    for (const event of events) journal.append(event);
    journal.close();
  } catch {
    // a full disk, a folder that was deleted: the loop continues without its ledger
  }
}

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
