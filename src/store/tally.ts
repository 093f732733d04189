/**
 * What the gate, a shell script in front of the hook program, has done on its own: stops that it refused and tools that it
 * counted, a file each, in a folder that goes with one state of the session. `terms` and `answer` in it say what it may do.
 * Whoever reads or changes the session takes the tally in first; then everything is as if the hook program had done it.
 */
import { readdirSync, renameSync, rmdirSync, statSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { NO_CLAIM } from '../domain/completion.ts';
import type { SessionState } from '../domain/session.ts';
import { afterBlock, sessionEvidence, sessionRun } from '../domain/session-verdict.ts';
import { judge } from '../domain/verdict.ts';
import { ensureFolder, errorCode, writePrivate } from '../platform/files.ts';
import { isAlive } from '../platform/process-table.ts';
import { projectPaths } from './paths.ts';
import { findSession, listSessions, type SessionFile, writeSession } from './session-file.ts';
import { type Happened, recordLate } from './session-ledger.ts';

/** What the gate may do without asking. The script reads it line by line, so no value holds a line break. */
export interface Terms {
  /** What must stand in the input of a stop: the prompt that the loop belongs to. Empty: any. */
  readonly prompt: string;
  /** Stops that it may refuse, and how many in a row without a tool between them; 0: none, and 0: any number. */
  readonly stops: number;
  readonly row: number;
  /** Where the agent's final message is: whole in the input, or only its last block, and then in the transcript. */
  readonly words: 'whole' | 'last';
  /** It may count tools. */
  readonly tools: boolean;
  /** As long as the transcript is shorter: a size and its path. Empty: in any case. */
  readonly quietUntil: string;
  /** How tool calls are judged: not at all, by Ralph's own rules, by those and the user's. */
  readonly guard: 'off' | 'plain' | 'own-rules';
  /** The variable by which the user moves the host's own limit, as it was. */
  readonly cap: string;
  /** What the agent is told, before and behind the number of the iteration. */
  readonly answer: readonly [before: string, behind: string];
}

/** Lets the gate act for a session. The state must have been written since the last tally was taken in. */
export function openTally(root: string, { path, state }: SessionFile, terms: Terms): void {
  const folder = projectPaths(root).tally(state.sessionId);
  const fresh = join(folder, `.new-${process.pid}`);
  const { answer, stops, row, words, tools, guard } = terms;
  ensureFolder(fresh);
  const [before, behind] = answer;
  if (before.length > LONG) writePrivate(join(fresh, 'answer'), before);
  const flags = [state.iteration, state.blocksInARow, stops, row, words, Number(tools), GUARD[guard]];
  const short = before.length > LONG ? '' : before;
  const lines = [
    basename(path),
    terms.prompt,
    flags.join(' '),
    terms.cap,
    terms.quietUntil,
    behind,
    short,
    '',
  ];
  writePrivate(join(fresh, 'terms'), lines.join('\n'));
  for (const old of readdirSync(folder)) if (join(folder, old) !== fresh) remove(join(folder, old));
  renameSync(fresh, join(folder, state.tally));
}

const GUARD: Readonly<Record<Terms['guard'], number>> = { off: 0, plain: 1, 'own-rules': 2 };

/** A shell reads lines byte by byte; from here on another process is faster. */
const LONG = 1_500;

/**
 * The gate may act no more; what it has done is in the state and in the ledger now. Never the reason that a hook fails: what
 * could not be taken in stays where it is, for the next one.
 */
export function takeTally(root: string, sessionId: string): void {
  try {
    take(root, sessionId);
  } catch {
    // a full disk, a folder that is not ours
  }
}

function take(root: string, sessionId: string): void {
  const file = findSession(root, sessionId);
  if (!file || file.state.tally === '') return;
  const closed = close(projectPaths(root).tally(sessionId), file.state.tally);
  if (closed === undefined) return;
  const { state, happened } = folded(file.state, closed);
  if (state !== file.state) writeSession(file.path, state);
  if (happened.length > 0) recordLate(root, state.runId, happened);
  remove(closed);
}

/** For readers of the ledger: of every session in which the gate has refused a stop or counted a tool. */
export function takeTallies(root: string): void {
  for (const file of listSessions(root)) {
    if ('state' in file && deedsOf(root, file.state).length > 0) takeTally(root, file.state.sessionId);
  }
}

/** Whether the ledger is behind. */
export function hasRefusedStops(root: string, sessionId: string): boolean {
  const file = findSession(root, sessionId);
  return file !== undefined && deedsOf(root, file.state).some(deed => deed.endsWith('.s'));
}

function deedsOf(root: string, { sessionId, tally }: SessionState): readonly string[] {
  return tally === '' ? [] : deedsIn(join(projectPaths(root).tally(sessionId), tally));
}

export function dropTally(root: string, sessionId: string): void {
  remove(projectPaths(root).tally(sessionId));
}

/** By hand: what Node has for it takes longer to load than this to run. */
function remove(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) remove(inner);
      else unlinkSync(inner);
    }
    rmdirSync(path);
  } catch {
    // it is gone, or not ours: it has no name that any state knows
  }
}

/** By its new name the gate does not find it. One process takes it; what one left that was killed, the next one takes. */
function close(folder: string, tally: string): string | undefined {
  const mine = join(folder, `.${tally}.${process.pid}`);
  if (moved(join(folder, tally), mine)) return mine;
  const theirs = namesIn(folder).find(name => name.startsWith(`.${tally}.`));
  if (theirs === undefined) return undefined;
  const other = { pid: Number(theirs.slice(tally.length + 2)), started: '' };
  if (isAlive(other)) {
    for (let look = 0; look < LOOKS && namesIn(folder).includes(theirs); look++) pause(LOOK_EVERY);
    return undefined;
  }
  return moved(join(folder, theirs), mine) ? mine : undefined;
}

/** Taking a tally in takes a few milliseconds. */
const LOOKS = 50;
const LOOK_EVERY = 5;

function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

function moved(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** In the order in which it happened: numbers that the script counts up, `1000.s` for a stop, `1001.t` for tools. */
function deedsIn(folder: string): readonly string[] {
  return namesIn(folder)
    .filter(name => /^\d+\.[st]$/.test(name))
    .sort()
    .map(name => join(folder, name));
}

function folded(
  before: SessionState,
  folder: string,
): { readonly state: SessionState; readonly happened: readonly Happened[] } {
  let state = before;
  const happened: Happened[] = [];
  for (const path of deedsIn(folder)) {
    const { size, mtimeMs } = statSync(path);
    if (path.endsWith('.t')) {
      // A byte for each time that tools have run.
      state = { ...state, toolCalls: state.toolCalls + size, blocksInARow: 0 };
      continue;
    }
    happened.push({ at: mtimeMs, event: refusedStop(state, mtimeMs) });
    state = afterBlock(state);
  }
  return { state, happened };
}

function refusedStop(state: SessionState, at: number): Happened['event'] {
  const evidence = sessionEvidence(state, NO_CLAIM, at);
  return {
    type: 'iteration-ended',
    iteration: state.iteration,
    claim: NO_CLAIM,
    verdict: judge(sessionRun(state), evidence),
    usage: evidence.spent.usage,
  };
}
