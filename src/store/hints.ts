/** What the user wants the agent to be told: a file each in the run's folder, moved away when it has been told. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { ensureFolder, errorCode, readIfThere, writeAtomic } from '../platform/files.ts';
import { openJournal } from './journal.ts';
import type { RunPaths } from './paths.ts';

export interface Hint {
  /** The name of its file: hints are told in the order in which they came. */
  readonly id: string;
  readonly text: string;
}

const NAME = /^\d{14}-[0-9a-f]{8}\.md$/;

/** Whole or not at all: a run never reads half a hint. Answers its id. */
export function addHint(paths: RunPaths, text: string, now: number): string {
  ensureFolder(paths.hints);
  const id = `${String(now).padStart(14, '0')}-${randomBytes(4).toString('hex')}.md`;
  writeAtomic(join(paths.hints, id), text);
  return id;
}

/** Those that have not been told yet, oldest first. */
export function waitingHints(paths: RunPaths): readonly Hint[] {
  return names(paths.hints).flatMap(id => {
    const text = readIfThere(join(paths.hints, id));
    return text === undefined ? [] : [{ id, text }];
  });
}

/** The iteration that carried them is over. */
export function markTold(paths: RunPaths, ids: readonly string[]): void {
  if (ids.length === 0) return;
  ensureFolder(paths.toldHints);
  for (const id of ids) {
    try {
      renameSync(join(paths.hints, id), join(paths.toldHints, id));
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error; // somebody has taken it back
    }
  }
}

/**
 * After a crash: what was told in an iteration that was judged is told, even if its file was not moved away in time.
 * Answers what was told in one that was not: it is told once that iteration has been judged, or told again with it.
 */
export function settleHints(paths: RunPaths): readonly string[] {
  const waiting = names(paths.hints);
  if (waiting.length === 0) return [];
  const journal = openJournal(paths.events);
  const carried = new Map<string, number>();
  const judged = new Set<number>();
  for (const entry of journal.next()) {
    if (entry.type === 'told') carried.set(entry.hint, entry.iteration);
    if (entry.type === 'judged') judged.add(entry.iteration);
  }
  journal.close();
  const told = waiting.filter(id => carried.has(id));
  const isOver = (id: string) => judged.has(carried.get(id) ?? Number.NaN);
  markTold(paths, told.filter(isOver));
  return told.filter(id => !isOver(id));
}

function names(folder: string): readonly string[] {
  try {
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .filter(name => NAME.test(name))
      .sort();
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
    throw error;
  }
}
