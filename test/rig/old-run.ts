/** A run that version 0.1 has recorded: a loop that was stopped by its limit, resumed, and stopped by it again. */
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, type Repo } from './repo.ts';

const FIXTURE = join(import.meta.dirname, '../fixtures/run-of-0.1');
export const OLD_RUN = '20261115-171456-2023';

export type Line = Readonly<Record<string, unknown>>;

export function oldLines(): readonly Line[] {
  return readFileSync(join(FIXTURE, OLD_RUN, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Line);
}

/** A project with that run in it. */
export function oldProject(): Repo & { readonly events: string } {
  const project = folder();
  mkdirSync(project.path('.ralph/runs'), { recursive: true });
  cpSync(FIXTURE, project.path('.ralph/runs'), { recursive: true });
  return { ...project, events: project.path(`.ralph/runs/${OLD_RUN}/events.jsonl`) };
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
