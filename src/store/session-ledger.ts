/** The ledger of an in-session loop, a run like any other: written by whoever decides something in it, a process each time. */
import { closeSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { RunEvent } from '../domain/event.ts';
import { createRedactor, redactDeep } from '../domain/secrets.ts';
import type { SessionRequest } from '../domain/session.ts';
import { ensureFolder, tryTo } from '../platform/files.ts';
import { createJournal } from './journal.ts';
import { projectPaths, runPaths } from './paths.ts';
import { createRun } from './run-file.ts';

/** Never the reason that a hook fails. */
export function record(root: string, runId: string, ...events: readonly RunEvent[]): void {
  if (runId === '') return;
  try {
    const secrets = createRedactor(process.env);
    const paths = runPaths(projectPaths(root), runId);
    withTurn(paths.state.lock, () => {
      const journal = createJournal(paths.events, {
        run: runId,
        now: Date.now,
        redact: event => redactDeep(event, secrets),
        durable: false,
        place: paths,
      });
      for (const event of events) journal.append(event);
      journal.close();
    });
  } catch {
    // a full disk, a folder that was deleted: the loop continues without its ledger
  }
}

/** Milliseconds. Longer than anybody needs for a few lines: whoever holds it then is dead. */
const LONGEST_TURN = 2_000;
const A_MOMENT = 2;

/** Hooks of one session may run side by side, and the ledger is a chain. */
function withTurn(lock: string, action: () => void): void {
  ensureFolder(dirname(lock));
  for (let waited = 0; !isTaken(lock) && waited < LONGEST_TURN; waited += A_MOMENT)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, A_MOMENT);
  try {
    action();
  } finally {
    rmSync(lock, { force: true });
  }
}

function isTaken(lock: string): boolean {
  const fd = tryTo(() => openSync(lock, 'wx', 0o600));
  if (fd !== undefined) closeSync(fd);
  return fd !== undefined;
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
