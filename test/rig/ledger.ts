/** What a run has written down. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RunEvent } from '../../src/domain/event.ts';
import { openHead } from '../../src/store/head.ts';
import { lastEntry } from '../../src/store/ledger-end.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import type { Repo } from './repo.ts';

/** The ids of a project's runs, oldest first. */
export function runsOf(project: Repo): readonly string[] {
  return readdirSync(project.path('.ralph/runs')).sort();
}

/** The events of a run, of the first one without an id; a line that is just being written is not there yet. */
export function ledgerOf(project: Repo, id = runsOf(project)[0] ?? ''): readonly RunEvent[] {
  const text = readFileSync(join(project.path('.ralph/runs'), id, 'events.jsonl'), 'utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as RunEvent);
}

/** A ledger that a test has shortened, as if the run had been killed there. */
export function acceptEnd(project: Repo, id = runsOf(project)[0] ?? ''): void {
  const paths = runPaths(projectPaths(project.dir), id);
  const { prev } = lastEntry(paths.events);
  openHead(paths, { offset: statSync(paths.events).size, prev }).close();
}

export function only<Type extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: Type,
): readonly Extract<RunEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<RunEvent, { type: Type }> => event.type === type);
}
