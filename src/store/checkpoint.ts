/**
 * A checkpoint is the state of a run as it was at some place of its ledger, so that resuming does not read all of it. It is kept outside
 * the project, where no agent writes, and one that does not fit the ledger is ignored.
 */
import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { knownEntry } from '../domain/run/ledger-entry.ts';
import type { CheckSummary, IterationResult } from '../domain/run/result.ts';
import { fold, type IterationState, NOTHING_YET, type RunState } from '../domain/run/state.ts';
import { errorLine } from '../platform/error-words.ts';
import { ensureFolder, fileSize, readIfThere, tryTo, writeWhole } from '../platform/files.ts';
import { type Entry, type Journal, openJournal, readJournal } from './journal.ts';
import { hashOf, lineEndingAt } from './ledger-end.ts';
import type { RunPaths } from './paths.ts';

type Place = ReturnType<Journal['end']>;

interface Checkpoint {
  readonly version: typeof VERSION;
  readonly at: Place;
  readonly state: RunState;
}

/** Changes with the shape of a state. */
const VERSION = 5;

export interface Loaded {
  readonly state: RunState;
  /** What is wrong with the ledger, as far as it was read. */
  readonly problems: readonly string[];
}

/** The state of a run: from its checkpoint where that fits, and from the ledger after it. */
export function loadState(paths: RunPaths): Loaded {
  const known = readCheckpoint(paths);
  const { state, problems } = readState(paths, known?.state, known?.at);
  return { state: shortened(state), problems };
}

/** Every iteration of a run that was judged, whole, from the ledger alone. */
export function readIterations(paths: RunPaths) {
  const found = new Map<number, IterationState>();
  const { problems } = readState(paths, NOTHING_YET, undefined, ({ open }) => {
    if (open?.judged) found.set(open.number, open);
  });
  return { iterations: [...found.values()], problems };
}

/** The same from the ledger alone. `each` sees the state after every event. */
export function readState(
  paths: RunPaths,
  start = NOTHING_YET,
  from?: Place,
  each: (state: RunState) => void = () => {},
): Loaded {
  if (!existsSync(paths.events)) return { state: start, problems: [] };
  let state = start;
  const add = (entry: Entry) => {
    const known = knownEntry(entry); // what another version wrote, or what is damaged, is no evidence
    if (!known) return;
    state = fold(state, { ...known, time: Date.parse(known.at), ticks: entry.ticks });
    each(state);
  };
  const journal = openJournal(paths, { withoutWords: true, ...(from && { from }) });
  const { problems } = readJournal(journal, add);
  return { state, problems };
}

/** Never the reason that a run fails: without it the ledger is read. */
export function writeCheckpoint(paths: RunPaths, state: RunState, at: Place): void {
  const { checkpoint } = paths.state;
  try {
    const text = JSON.stringify({ version: VERSION, at, state: shortened(state) } satisfies Checkpoint);
    ensureFolder(dirname(checkpoint));
    writeWhole(checkpoint, text);
  } catch {
    tryTo(() => rmSync(checkpoint, { force: true }));
  }
}

function readCheckpoint(paths: RunPaths): Checkpoint | undefined {
  const checkpoint: Checkpoint | null | undefined = tryTo(() =>
    JSON.parse(readIfThere(paths.state.checkpoint) ?? 'null'),
  );
  if (checkpoint?.version !== VERSION || fileSize(paths.events) < checkpoint.at.offset) return undefined;
  const { at } = checkpoint;
  const line = lineEndingAt(paths.events, at.offset);
  return line !== undefined && hashOf(line) === at.prev ? checkpoint : undefined;
}

/** Of what the checks of earlier iterations printed the line that names the error is enough: all of it is in their logs. A result on the ledger has none of it. */
function shortened({ result, ...state }: RunState): RunState {
  const ended = result && { result: { ...result, iterations: withOutputs(result.iterations, () => '') } };
  return { ...state, ...ended, results: withOutputs(state.results, shortOutput) };
}

function withOutputs(iterations: readonly IterationResult[], output: (check: CheckSummary) => string) {
  return iterations.map(iteration => ({
    ...iteration,
    checkResults: iteration.checkResults.map(check => ({ ...check, output: output(check) })),
  }));
}

function shortOutput({ passed, output }: CheckSummary): string {
  return passed ? '' : errorLine(output).slice(0, 200);
}
