/** What a run has written down. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunEvent } from '../../src/domain/event.ts';
import type { Repo } from './repo.ts';

/** The ids of a project's runs, oldest first. */
export function runsOf(project: Repo): readonly string[] {
  return readdirSync(project.path('.ralph/runs')).sort();
}

/** The events of a run, of the first one without an id. */
export function ledgerOf(project: Repo, id = runsOf(project)[0] ?? ''): readonly RunEvent[] {
  return readFileSync(join(project.path('.ralph/runs'), id, 'events.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as RunEvent);
}

export function only<Type extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: Type,
): readonly Extract<RunEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<RunEvent, { type: Type }> => event.type === type);
}
