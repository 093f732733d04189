/** The ledger of an in-session loop: written by whoever decides something in it, a process each time. */
import type { RunEvent } from '../domain/event.ts';
import { createRedactor } from '../domain/secrets.ts';
import { createJournal } from './journal.ts';
import { projectPaths, runPaths } from './paths.ts';

/** An event that has been for a while. */
export interface Happened {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly event: RunEvent;
}

export function record(root: string, runId: string, ...events: readonly RunEvent[]): void {
  const at = Date.now();
  recordLate(
    root,
    runId,
    events.map(event => ({ at, event })),
  );
}

/** Never the reason that a hook fails. */
export function recordLate(root: string, runId: string, happened: readonly Happened[]): void {
  if (runId === '') return;
  try {
    let now = 0;
    const path = runPaths(projectPaths(root).runs, runId).events;
    const journal = createJournal(path, {
      run: runId,
      now: () => now,
      redact: createRedactor(process.env),
      durable: false,
    });
    for (const { at, event } of happened) {
      now = at;
      journal.append(event);
    }
    journal.close();
  } catch {
    // a full disk, a folder swept away: the loop goes on without its ledger
  }
}
