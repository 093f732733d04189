/** Reads a run from its folder, in bounded pieces: its view, its result, and how far its ledger can be trusted. */

import { knownEntry, type RawEntry } from '../domain/run/ledger-entry.ts';
import { trustWith } from '../domain/run/ledger-trust.ts';
import type { Standing } from '../domain/run/overview.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { readList, type Story } from '../domain/stories/story.ts';
import { tryTo } from '../platform/files.ts';
import { watchFile } from '../platform/follow.ts';
import { harmless } from '../platform/text.ts';
import { openRuns } from '../store/child-runs.ts';
import { type Entry, type JournalReader, openJournal, readJournal } from '../store/journal.ts';
import { readStories } from '../store/kept.ts';
import { isRunning } from '../store/lease.ts';
import { deadState } from '../store/overview.ts';
import { type ProjectPaths, type RunPaths, runPaths } from '../store/paths.ts';
import { readRunFile } from '../store/run-file.ts';
import { type BoardView, boardView } from './board-view.ts';
import { createRunFold } from './run-fold.ts';
import {
  type Integrity,
  type IterationView,
  type RunReading,
  type RunView,
  type StoryView,
  storyStatus,
  viewHasBegun,
} from './run-view.ts';

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
  // A run that was cut off while it was set up has its command in its file alone.
  const given = folded.startedAt === null ? readRunFile(paths)?.command : undefined;
  const named = { ...folded, runId: id, command: given ?? folded.command };
  const view = isBelieved ? named : { ...named, ending: null, iterations: named.iterations.map(unended) };
  const state = folded.ending && !isBelieved ? 'unverified' : stateOf(view, paths, isBelieved);
  const stories = storyViews(view, paths);
  return { id, state, view, integrity, stories, result: isBelieved ? result : null };
}

const unended = (iteration: IterationView): IterationView => ({ ...iteration, stopReason: null });

const PIECE = 4 * 1024 * 1024;

/** A run that died while it was being created has no ledger at all. */
function readLedger(paths: RunPaths, add: (entry: RawEntry) => void): Integrity {
  const journal = tryTo(() => openJournal(paths));
  if (!journal) return { trust: trustWith(paths.trust, ['there is no ledger']), torn: 0 };
  const { problems, torn } = readJournal(journal, add);
  return { trust: trustWith(paths.trust, problems), torn };
}

const LOOK_EVERY = 500;

/** What is written from where the journal is, until the run ends, its process is gone, or `closing`. */
export async function* followLedger(
  journal: JournalReader,
  paths: RunPaths,
  closing: AbortSignal,
): AsyncGenerator<readonly Entry[], void> {
  let hasEnded = false;
  while (!closing.aborted) {
    const isAlive = isRunning(paths); // before the look: what it wrote last is still seen
    const entries = journal.next(PIECE);
    hasEnded = entries.reduce(
      (was, { type }) => (type === 'run-resumed' ? false : was || type === 'run-ended'),
      hasEnded,
    );
    yield entries;
    if (!journal.atEnd()) continue;
    if (!isAlive || hasEnded) return;
    await changed(paths.events, closing);
  }
}

function changed(path: string, closing: AbortSignal): Promise<void> {
  return new Promise(done => {
    const end = () => {
      watching.close();
      closing.removeEventListener('abort', end);
      done();
    };
    const watching = watchFile(path, end, LOOK_EVERY);
    closing.addEventListener('abort', end);
  });
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

/** A list that is gone, cut or damaged is no list. */
function storyViews({ storyList }: RunView, paths: RunPaths): readonly StoryView[] {
  if (storyList === null) return [];
  const list = readList(tryTo(() => JSON.parse(readStories(paths, storyList) ?? '')));
  return 'userStories' in list ? list.userStories.map(storyView) : [];
}

function storyView(story: Story): StoryView {
  const { id, title, reviewCount, reviewFeedback } = story;
  return { id, title, status: storyStatus(story), reviews: reviewCount, feedback: reviewFeedback };
}

/** The board of a parallel run, from its folder and those of its runs; undefined: it is none. `now` is milliseconds since 1970. */
export function readBoard(project: ProjectPaths, id: string, now: number): BoardView | undefined {
  const { view, state } = readRun(id, runPaths(project, id));
  if (!view.board) return undefined;
  return boardView(view, { now, isRunning: state === 'running', children: openRuns(project, view.board) });
}
