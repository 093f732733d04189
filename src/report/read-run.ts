/** Reads a run from its folder, in bounded pieces: its view, its result, and how far its ledger can be trusted. */

import { knownEntry, type RawEntry } from '../domain/run/ledger-entry.ts';
import { trustWith } from '../domain/run/ledger-trust.ts';
import type { Standing } from '../domain/run/overview.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { harmless } from '../platform/text.ts';
import { type JournalReader, openJournal } from '../store/journal.ts';
import { isRunning } from '../store/lease.ts';
import { deadState } from '../store/overview.ts';
import type { RunPaths } from '../store/paths.ts';
import { readRunFile } from '../store/run-file.ts';
import { createRunFold } from './run-fold.ts';
import {
  type Integrity,
  type IterationView,
  type RunReading,
  type RunView,
  viewHasBegun,
} from './run-view.ts';
import { storyViews } from './story-views.ts';

/** With the result; null: the run has not ended, was cut off, or cannot be believed. */
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
  const folded = fold.view();
  const isBelieved = integrity.trust.kind === 'intact';
  // What a ledger says of its end that nobody vouches for is no end.
  const named = { ...folded, runId: id, command: commandOf(folded, paths) };
  const view = isBelieved ? named : { ...named, ending: null, iterations: named.iterations.map(unended) };
  const state = folded.ending && !isBelieved ? 'unverified' : stateOf(view, paths, isBelieved);
  const stories = storyViews(view, paths);
  return { id, state, view, integrity, stories, result: isBelieved ? result : null };
}

const unended = (iteration: IterationView): IterationView => ({ ...iteration, stopReason: null });

const PIECE = 4 * 1024 * 1024;

/** A run that died while it was being created has no ledger at all. */
function readLedger(paths: RunPaths, add: (entry: RawEntry) => void): Integrity {
  let journal: JournalReader;
  try {
    journal = openJournal(paths.events);
  } catch {
    return { trust: trustWith(paths.trust, ['there is no ledger']), torn: 0 };
  }
  try {
    do for (const entry of journal.next(PIECE)) add(entry);
    while (!journal.atEnd());
    return { trust: trustWith(paths.trust, journal.problems()), torn: journal.torn() };
  } finally {
    journal.close();
  }
}

/** A run that was cut off while it was set up has it in its file alone. */
function commandOf({ startedAt, command }: RunView, paths: RunPaths): RunView['command'] {
  return startedAt === null ? (readRunFile(paths)?.command ?? command) : command;
}

function stateOf(view: RunView, paths: RunPaths, isBelieved: boolean): Standing {
  const { runId, ending } = view;
  if (ending) return ending.success ? 'done' : 'stopped';
  return isRunning(paths) ? 'running' : deadState(runId, paths, isBelieved && !viewHasBegun(view));
}

/** JSON in which no text can do anything to a terminal or turn the direction of a page, and no secret stands. */
export function cleanJson(value: unknown, redact: (line: string) => string): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'string' ? redact(harmless(each)) : each,
  );
}
