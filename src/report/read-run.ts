/** Reads a run from its folder, in bounded pieces: its view, its result, and how far its ledger can be trusted. */
import { knownEntry, type RawEntry } from '../domain/ledger-entry.ts';
import { trustWith } from '../domain/ledger-trust.ts';
import type { LoopResult } from '../domain/result.ts';
import { harmless } from '../platform/text.ts';
import { type JournalReader, openJournal } from '../store/journal.ts';
import { deadState } from '../store/overview.ts';
import type { RunPaths } from '../store/paths.ts';
import { isRunning } from '../store/run-file.ts';
import { ledgerTrust } from '../store/trust.ts';
import { createRunFold } from './run-fold.ts';
import type { Integrity, RunReading, RunView, Standing } from './run-view.ts';
import { storyViews } from './story-views.ts';

/** With the result; null: the run has not ended, or was cut off. */
export type ReadRun = RunReading & { readonly result: LoopResult | null };

/** `look` sees every entry as it comes by. */
export function readRun(id: string, paths: RunPaths, look: (entry: RawEntry) => void = () => {}): ReadRun {
  const fold = createRunFold();
  let result: LoopResult | null = null;
  const integrity = readLedger(paths, entry => {
    fold.add(entry);
    const known = knownEntry(entry);
    if (known?.type === 'run-ended') result = known.result;
    else if (known?.type === 'run-resumed') result = null;
    look(entry);
  });
  const view = fold.view();
  return { id, state: stateOf(id, view, paths), view, integrity, stories: storyViews(view, paths), result };
}

const PIECE = 4 * 1024 * 1024;

/** A run that died while it was being created has no ledger at all. */
function readLedger(paths: RunPaths, add: (entry: RawEntry) => void): Integrity {
  let journal: JournalReader;
  try {
    journal = openJournal(paths.events);
  } catch {
    return { trust: trustWith(ledgerTrust(paths), ['there is no ledger']), torn: 0 };
  }
  try {
    do for (const entry of journal.next(PIECE)) add(entry);
    while (!journal.atEnd());
    return { trust: trustWith(ledgerTrust(paths), journal.problems()), torn: journal.torn() };
  } finally {
    journal.close();
  }
}

export function stateOf(id: string, { ending }: RunView, paths: RunPaths): Standing {
  if (ending) return ending.success ? 'done' : 'stopped';
  return isRunning(paths) ? 'running' : deadState(id, paths);
}

/** JSON in which no text can do anything to a terminal or turn the direction of a page, and no secret stands. */
export function cleanJson(value: unknown, redact: (line: string) => string): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'string' ? redact(harmless(each)) : each,
  );
}
