/** Reads a run from its folder, in bounded pieces: what it came to, and how far its ledger can be trusted. */
import type { LoopResult } from '../domain/result.ts';
import { harmless } from '../platform/text.ts';
import { type JournalReader, openJournal } from '../store/journal.ts';
import type { RunPaths } from '../store/paths.ts';
import { isRunning } from '../store/run-file.ts';
import { createRunFold } from './run-fold.ts';
import type { Integrity, RunReading, RunView, Standing } from './run-view.ts';
import { soundEntry, type Unsound } from './sound-entry.ts';
import { storyViews } from './story-views.ts';

/** With the result as it was told; null: the run has not ended, or was cut off. */
export type ReadRun = RunReading & { readonly result: LoopResult | null };

/** `look` sees every entry as it comes by. */
export function readRun(id: string, paths: RunPaths, look: (entry: Unsound) => void = () => {}): ReadRun {
  const fold = createRunFold();
  let result: LoopResult | null = null;
  const integrity = readLedger(paths, entry => {
    fold.add(entry);
    const sound = soundEntry(entry);
    if (sound?.type === 'run-ended') result = sound.result;
    else if (sound?.type === 'run-resumed') result = null;
    look(entry);
  });
  const view = fold.view();
  return { id, state: stateOf(view, paths), view, integrity, stories: storyViews(view, paths), result };
}

const PIECE = 4 * 1024 * 1024;

/** A run that died while it was being made has no ledger at all. */
function readLedger(paths: RunPaths, add: (entry: Unsound) => void): Integrity {
  let journal: JournalReader;
  try {
    journal = openJournal(paths.events);
  } catch {
    return { problems: ['there is no ledger'], torn: 0 };
  }
  try {
    do for (const entry of journal.next(PIECE)) add(entry);
    while (!journal.atEnd());
    return { problems: [...journal.problems()], torn: journal.torn() };
  } finally {
    journal.close();
  }
}

export function stateOf({ ending }: RunView, paths: RunPaths): Standing {
  if (ending) return ending.success ? 'done' : 'stopped';
  return isRunning(paths) ? 'running' : 'crashed';
}

/** JSON in which no text can do anything to a terminal or turn the direction of a page, and no secret stands. */
export function cleanJson(value: unknown, redact: (line: string) => string): string {
  return redact(
    JSON.stringify(value, (_, each: unknown) => (typeof each === 'string' ? harmless(each) : each)),
  );
}
