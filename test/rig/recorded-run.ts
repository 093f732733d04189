/** A run that was recorded: a loop that was stopped by its limit, resumed, and stopped by it again. */
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newRunPaths, projectPaths } from '../../src/store/paths.ts';
import { folder, type Repo } from './repo.ts';

const FIXTURE = join(import.meta.dirname, '../fixtures/recorded-run');
export const RECORDED_RUN = '20261115-171456-2023';

export type Line = Readonly<Record<string, unknown>>;

export function recordedLines(): readonly Line[] {
  return readFileSync(join(FIXTURE, RECORDED_RUN, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Line);
}

/** A project with a copy of that run in it, which was recorded elsewhere. */
export function projectWithCopy(): Repo {
  const project = folder();
  mkdirSync(project.path('.ralph/runs'), { recursive: true });
  cpSync(FIXTURE, project.path('.ralph/runs'), { recursive: true });
  return project;
}

/** The same, recorded here; `events` is what counts. */
export function recordedProject(): Repo & { readonly events: string } {
  const project = projectWithCopy();
  const { state, mirror } = newRunPaths(projectPaths(project.dir), RECORDED_RUN);
  mkdirSync(state.folder, { recursive: true, mode: 0o700 });
  for (const copy of ['run', 'task', 'events'] as const) cpSync(mirror[copy], state[copy]);
  return { ...project, events: state.events };
}

/** Writes a ledger of these lines, with a chain of hashes that holds. */
export function writeLedger(path: string, lines: readonly Line[]): void {
  let prev = '0'.repeat(32);
  const text = lines.map((line, at) => {
    const { seq: _, prev: __, ...rest } = line;
    const json = JSON.stringify({ seq: at + 1, at: line.at, prev, ...rest });
    prev = createHash('sha256').update(json).digest('hex').slice(0, 32);
    return `${json}\n`;
  });
  writeFileSync(path, text.join(''));
}
