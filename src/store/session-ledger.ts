/** The ledger of an in-session loop: written by whoever decides something in it, a process each time. */
import type { RunEvent } from '../domain/event.ts';
import { createRedactor } from '../domain/secrets.ts';
import { createJournal } from './journal.ts';
import { projectPaths, runPaths } from './paths.ts';

/** Never the reason that a hook fails. */
export function record(root: string, runId: string, ...events: readonly RunEvent[]): void {
  if (runId === '') return;
  try {
    const path = runPaths(projectPaths(root).runs, runId).events;
    const journal = createJournal(path, {
      run: runId,
      now: Date.now,
      redact: createRedactor(process.env),
      durable: false,
    });
    for (const event of events) journal.append(event);
    journal.close();
  } catch {
    // a full disk, a folder that was deleted: the loop continues without its ledger
  }
}
