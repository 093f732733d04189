/**
 * A checkpoint is the past of a run as it was at some place of its ledger, so that resuming does not read all of it. It is kept outside
 * the project, where no agent writes, and one that does not fit the ledger is ignored.
 */
import { existsSync, rmSync } from 'node:fs';
import { knownEntry } from '../domain/ledger-entry.ts';
import { fold, NOTHING_YET, type Past } from '../domain/past.ts';
import type { PastIteration } from '../domain/past-iteration.ts';
import type { CheckSummary } from '../domain/result.ts';
import { fileSize, tryTo } from '../platform/files.ts';
import { type Journal, openJournal } from './journal.ts';
import { hashOf, lineEndingAt } from './ledger-end.ts';
import type { RunPaths } from './paths.ts';
import { readSealed, writeSealed } from './seal.ts';

type Place = ReturnType<Journal['end']>;

interface Checkpoint {
  readonly version: typeof VERSION;
  readonly at: Place;
  readonly past: Past;
}

/** Changes with the shape of a past. */
const VERSION = 2;

export interface Loaded {
  readonly past: Past;
  /** What is wrong with the ledger, as far as it was read. */
  readonly problems: readonly string[];
}

/** The past of a run: from its checkpoint where that fits, and from the ledger after it. */
export function loadPast(paths: RunPaths): Loaded {
  const known = readCheckpoint(paths);
  const { past, problems } = readPast(paths, known?.past, known?.at);
  return { past: shortened(past), problems };
}

/** Every iteration of a run that was judged, whole, from the ledger alone. */
export function readIterations(paths: RunPaths) {
  const found = new Map<number, PastIteration>();
  const { problems } = readPast(paths, NOTHING_YET, undefined, ({ open }) => {
    if (open?.judged) found.set(open.number, open);
  });
  return { iterations: [...found.values()], problems };
}

/** The same from the ledger alone. `each` sees the past after every event. */
export function readPast(
  paths: RunPaths,
  start = NOTHING_YET,
  from?: Place,
  each: (past: Past) => void = () => {},
): Loaded {
  if (!existsSync(paths.events)) return { past: start, problems: [] };
  const journal = openJournal(paths.events, { withoutWords: true, ...(from && { from }) });
  try {
    let past = start;
    for (const entry of journal.each()) {
      const known = knownEntry(entry); // what another version wrote, or what is damaged, is no evidence
      if (!known) continue;
      past = fold(past, { ...known, time: Date.parse(known.at), ticks: entry.ticks });
      each(past);
    }
    return { past, problems: journal.problems() };
  } finally {
    journal.close();
  }
}

/** Never the reason that a run fails: without it the ledger is read. */
export function writeCheckpoint(paths: RunPaths, past: Past, at: Place): void {
  const { checkpoint } = paths.state;
  try {
    const text = JSON.stringify({ version: VERSION, at, past: shortened(past) } satisfies Checkpoint);
    writeSealed(paths.key, checkpoint, text);
  } catch {
    tryTo(() => rmSync(checkpoint, { force: true }));
  }
}

function readCheckpoint(paths: RunPaths): Checkpoint | undefined {
  const sealed = readSealed(paths.key, paths.state.checkpoint);
  if (sealed.kind !== 'fits') return undefined;
  const checkpoint: Checkpoint = JSON.parse(sealed.text);
  const { version, at } = checkpoint;
  if (version !== VERSION || fileSize(paths.events) < at.offset) return undefined;
  const line = lineEndingAt(paths.events, at.offset);
  return line !== undefined && hashOf(line) === at.prev ? checkpoint : undefined;
}

/** Of what the checks of earlier iterations printed the last line is enough: all of it is in their logs. */
function shortened(past: Past): Past {
  const results = past.results.map(result => ({
    ...result,
    checkResults: result.checkResults.map(check => ({ ...check, output: lastLine(check) })),
  }));
  return { ...past, results };
}

function lastLine({ passed, output }: CheckSummary): string {
  if (passed) return '';
  return (output.trimEnd().split('\n').at(-1) ?? '').slice(0, 200);
}
