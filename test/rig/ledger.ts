/** What a run has written down. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { keepEnd, lastEntry } from '../../src/store/ledger-end.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import type { Env } from '../../src/store/state.ts';
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

/** Where what counts of a run is kept, outside of the project. */
export function recordOf(project: Pick<Repo, 'dir'>, id: string, env: Env = process.env) {
  return runPaths(projectPaths(project.dir, env), id).state;
}

/** A ledger as a kill leaves it: these lines, and no later one was ever written. */
export function writeKilled(events: string, lines: readonly string[]): void {
  const text = lines.map(line => `${line}\n`).join('');
  writeFileSync(events, text);
  keepEnd(events, { ...lastEntry(events), offset: Buffer.byteLength(text) });
}

export function only<Type extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: Type,
): readonly Extract<RunEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<RunEvent, { type: Type }> => event.type === type);
}

/** The prompt of an iteration. */
export function promptOf(work: Pick<Repo, 'dir'>, runId: string, iteration: number): string {
  return readFileSync(runPaths(projectPaths(work.dir), runId).iteration(iteration).prompt, 'utf8');
}
