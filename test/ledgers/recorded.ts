/** The recorded ledgers, and how they are read. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { knownEntry } from '../../src/domain/run/ledger-entry.ts';
import type { Timed } from '../../src/domain/run/state.ts';
import type { Entry } from '../../src/store/journal.ts';

/** Runs that take one step after the other, and those that work in lanes. */
export const STEPPED = ['run', 'loop', 'loop-commit', 'loop-back', 'prd'] as const;
export const PARALLEL = ['prd-parallel', 'tasks', 'best-of'] as const;
export type LedgerName = (typeof STEPPED)[number] | (typeof PARALLEL)[number] | 'session';

export function recordedPath(name: LedgerName): string {
  return join(import.meta.dirname, 'recorded', `${name}.jsonl`);
}

/** The events of a recorded ledger, as a run that is resumed reads them. */
export function recordedEvents(name: LedgerName): readonly Timed[] {
  return lines(readFileSync(recordedPath(name), 'utf8')).map(line => {
    const entry = JSON.parse(line) as Entry;
    const known = knownEntry(entry);
    if (!known) throw new Error(`a line of ${name} is not known: ${line}`);
    return { ...known, time: Date.parse(known.at), ticks: entry.ticks };
  });
}

/** The kinds of its lines. How often each comes depends on time: words arrive in pieces, lanes run side by side. */
export function typesIn(ledger: string): readonly string[] {
  return [...new Set(lines(ledger).map(line => (JSON.parse(line) as Entry).type))].sort();
}

function lines(text: string): readonly string[] {
  return text.split('\n').filter(Boolean);
}
