/**
 * `.claude/ralph-loop.local.md`: the state of an in-session loop, in seed 000's form. Front matter, then the task, byte for byte.
 * A second session has a file of its own. The file is for people to read, and in the agent's reach: what counts is the record of it in
 * the user's state folder. A file without a record is a stranger's: it is shown, and never obeyed.
 */
import { lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { textsIn } from '../domain/json.ts';
import { NO_WORK_POLICIES, type NoWorkPolicy, type SessionState } from '../domain/session.ts';
import {
  ensureFolder,
  namesIn,
  readIfThere,
  tryTo,
  waitAMoment,
  writeOver,
  writeWhole,
} from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { projectPaths } from './paths.ts';
import type { Env } from './state.ts';
import { isBelow } from './state-check.ts';
import { latestIn, readVersion, writeNext } from './versions.ts';

export interface SessionFile {
  readonly path: string;
  /** As it was recorded. */
  readonly state: SessionState;
  /** The file in the project says something else. */
  readonly isChanged: boolean;
}

export interface StrangeFile {
  readonly path: string;
  /** Why nothing in it counts, to follow its name. */
  readonly stranger: string;
  /** The session that it names; null: it cannot be read. */
  readonly sessionId: string | null;
}

export type FoundFile = SessionFile | StrangeFile;

/** The name of a loop that was started from a terminal for whichever session sends the next prompt. */
export const NEXT = 'next';

const FOLDER = '.claude';
const NAME = /^ralph-loop(\..+)?\.local\.md$/;

/** The files of all loops, from the project's root: seed 000's place, whichever host runs the loop. */
export const SESSION_FILES = `${FOLDER}/ralph-loop*.local.md`;

/** By its path, from wherever. */
export function isSessionFile(path: string): boolean {
  if (!path.endsWith('.local.md')) return false;
  const [name = '', folder] = path.split('/').reverse();
  return folder === FOLDER && NAME.test(name);
}

/** Every loop of a project, the user's own and strangers'. */
export function listSessions(root: string, env: Env = process.env): readonly FoundFile[] {
  const folder = join(root, FOLDER);
  const names = tryTo(() => readdirSync(folder)) ?? [];
  return names
    .filter(name => NAME.test(name))
    .sort()
    .map(name => readSession(join(folder, name), env));
}

function readSession(path: string, env: Env): FoundFile {
  const { folder, key, record, root } = recordOf(path, env);
  const { text: recorded } = readVersion(key, record);
  const text = tryTo(() => readIfThere(path)) ?? '';
  const known = recorded !== undefined && !isBelow(root, folder) ? parseState(recorded) : undefined;
  if (known && !('problem' in known))
    return { path, state: known, isChanged: text !== recorded && !isBeingWritten(path, key, record) };
  const parsed = parseState(text);
  const sessionId = 'problem' in parsed ? null : parsed.sessionId;
  const damage = 'problem' in parsed ? `, and is damaged: ${parsed.problem}` : '';
  return { path, stranger: `is not of a loop that you started here${damage}`, sessionId };
}

/** Milliseconds. The record is written first, and the file a moment after it. */
const A_MOMENT = 5;

function isBeingWritten(path: string, key: string, record: string): boolean {
  for (let looks = 0; looks < 4; looks++) {
    waitAMoment(A_MOMENT);
    if ((tryTo(() => readIfThere(path)) ?? '') === readVersion(key, record).text) return true;
  }
  return false;
}

/** The name says which loop it is; where the project is says which project. */
function recordOf(path: string, env: Env = process.env) {
  const root = dirname(dirname(path));
  const { folder, key, session } = projectPaths(root, env).state();
  return { root, folder, key, record: session(basename(path)) };
}

export function sessionIn(files: readonly FoundFile[], sessionId: string): SessionFile | undefined {
  return files.find((file): file is SessionFile => 'state' in file && file.state.sessionId === sessionId);
}

/** The loop of a session. */
export function findSession(root: string, sessionId: string): SessionFile | undefined {
  return sessionIn(listSessions(root), sessionId);
}

/** The short name while no other session has it, else one with the session in it. */
export function newSessionPath(root: string, sessionId: string): string {
  const short = join(root, FOLDER, 'ralph-loop.local.md');
  const taken = listSessions(root).some(
    file => file.path === short && !('state' in file && file.state.sessionId === sessionId),
  );
  return taken ? join(root, FOLDER, `ralph-loop.${fileNameOf(sessionId)}.local.md`) : short;
}

/** Two sessions never have the same one, whatever they are called. */
function fileNameOf(sessionId: string): string {
  const plain = sessionId.replace(/[^\w-]/g, '_').slice(0, 100);
  return plain === sessionId ? plain : `${plain}.${sha256(sessionId).slice(0, 8)}`;
}

/**
 * Begins a loop, over whatever had this file before. It lives in its session, and no session outlives a power cut: there is no waiting for
 * the disk. Throws when there can be no record of it: then there is no loop.
 */
export function writeSession(path: string, state: SessionState): void {
  const { key, record } = recordOf(path);
  const text = formatState(state);
  ensureFolder(dirname(path));
  while (!writeNext(key, record, latestIn(record), text));
  writeWhole(path, text);
  show(path);
}

/**
 * Changes a loop as it is now, which may be no longer how it was found. undefined: it is over, or `change` leaves it as it is; then nothing
 * is written, however late this is.
 */
export function changeSession(
  { path, state: found }: Pick<SessionFile, 'path' | 'state'>,
  change: (now: SessionState) => SessionState | undefined,
): SessionState | undefined {
  const { key, record } = recordOf(path);
  for (;;) {
    const { number, text } = readVersion(key, record);
    const now = text === undefined ? undefined : parseState(text);
    if (!now || 'problem' in now || !isSameLoop(found, now)) return undefined;
    const next = change(now);
    if (!next) return undefined;
    if (!isThere(path)) return undefined;
    if (writeNext(key, record, number, formatState(next))) return show(path) ? next : undefined;
  }
}

/** Ends a loop, for good: whoever is late finds it ended. The loop as it was last; undefined: it had ended before. */
export function endSession({
  path,
  state: found,
}: Pick<SessionFile, 'path' | 'state'>): SessionState | undefined {
  const { key, record } = recordOf(path);
  for (;;) {
    const { number, text } = readVersion(key, record);
    const now = text === undefined ? undefined : parseState(text);
    if (!now || 'problem' in now || !isSameLoop(found, now)) return undefined;
    if (!writeNext(key, record, number, undefined)) continue;
    show(path);
    return now;
  }
}

/** Loops whose file the user has deleted, and of which nobody has written down that they ended. */
export function deletedSessions(root: string, env: Env = process.env): readonly SessionFile[] {
  const { key, session } = projectPaths(root, env).state();
  return namesIn(dirname(session('x'))).flatMap(name => {
    const path = join(root, FOLDER, name);
    if (isThere(path)) return [];
    const { number, text } = readVersion(key, session(name));
    const state = text === undefined ? undefined : parseState(text);
    if (!state || 'problem' in state) return [];
    const age =
      Date.now() - (statSync(join(session(name), String(number)), { throwIfNoEntry: false })?.mtimeMs ?? 0);
    return age > JUST_BEGUN && !isThere(path) ? [{ path, state, isChanged: true }] : [];
  });
}

/** Milliseconds. A loop has a record before it has a file. */
const JUST_BEGUN = 5_000;

/** Whether it is still the loop that was found, and has not ended; a user who deletes its file has ended it. */
export function isLive({ path, state }: Pick<SessionFile, 'path' | 'state'>): boolean {
  if (!isThere(path)) return false;
  const { key, record } = recordOf(path);
  const { text } = readVersion(key, record);
  const now = text === undefined ? undefined : parseState(text);
  return now !== undefined && !('problem' in now) && isSameLoop(state, now);
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** A loop gets its run when a session takes it; from then on the run is its name. */
function isSameLoop(found: SessionState, now: SessionState): boolean {
  return found.runId === '' ? found.startedAt === now.startedAt : found.runId === now.runId;
}

/**
 * Makes the file in the project what the record is, until nobody has changed that meanwhile. It is written over, never made anew: a user
 * who deletes it has ended the loop. False: it has ended.
 */
function show(path: string): boolean {
  const { key, record } = recordOf(path);
  for (;;) {
    const { number, text } = readVersion(key, record);
    if (text === undefined) rmSync(path, { force: true });
    else if (!writeOver(path, text)) return false;
    if (latestIn(record) === number) return text !== undefined;
  }
}

/** The fields in the order of the file, where each has a name in small letters. */
const FIELDS = [
  ...(['active', 'iteration', 'maxIterations', 'completionPromise', 'startedAt', 'sessionId'] as const),
  ...(['promptId', 'minToolCalls', 'toolCalls', 'onPromiseNoWork', 'ultrawork', 'checks'] as const),
  ...(['blocksInARow', 'runId', 'transcriptRead', 'callsBefore', 'turnAt', 'wakeUps', 'waits'] as const),
  ...(['protect', 'kept'] as const),
];

/** JSON values are YAML values, and have no surprises in them. */
export function formatState(state: SessionState): string {
  const lines = FIELDS.map(field => `${nameOf(field)}: ${JSON.stringify(state[field])}`);
  return `---\n${lines.join('\n')}\n---\n${state.task}`;
}

function nameOf(field: string): string {
  return field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}

export function parseState(source: string): SessionState | { readonly problem: string } {
  const found = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(source);
  if (!found) return { problem: 'it has no front matter between two lines of ---' };
  const fields = new Map((found[1] ?? '').split('\n').flatMap(line => fieldOf(line)));
  const task = found[2] ?? '';
  const number = (key: string, fallback?: number) => {
    const value = fields.has(key) ? fields.get(key) : fallback;
    return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
  };
  const iteration = number('iteration');
  const maxIterations = number('max_iterations');
  if (iteration === undefined)
    return { problem: `'iteration' is not a whole number (${shown(fields.get('iteration'))})` };
  if (maxIterations === undefined)
    return { problem: `'max_iterations' is not a whole number (${shown(fields.get('max_iterations'))})` };
  if (task.trim() === '') return { problem: 'there is no task in it' };
  const promise = fields.get('completion_promise');
  const promptId = fields.get('prompt_id');
  const policy = fields.get('on_promise_no_work');
  const kept = fields.get('kept');
  return {
    active: fields.get('active') !== false,
    iteration,
    maxIterations,
    completionPromise: typeof promise === 'string' && promise !== '' ? promise : null,
    startedAt: String(fields.get('started_at') ?? ''),
    sessionId: String(fields.get('session_id') ?? ''),
    promptId: typeof promptId === 'string' ? promptId : null,
    minToolCalls: number('min_tool_calls', 1) ?? 1,
    toolCalls: number('tool_calls', 0) ?? 0,
    onPromiseNoWork: NO_WORK_POLICIES.find((each): each is NoWorkPolicy => each === policy) ?? 'reject',
    ultrawork: fields.get('ultrawork') === true,
    checks: textsIn(fields.get('checks')),
    blocksInARow: number('blocks_in_a_row', 0) ?? 0,
    runId: String(fields.get('run_id') ?? ''),
    transcriptRead: number('transcript_read', 0) ?? 0,
    callsBefore: number('calls_before', 0) ?? 0,
    turnAt: number('turn_at', 0) ?? 0,
    wakeUps: textsIn(fields.get('wake_ups')),
    waits: fields.get('waits') !== false,
    protect: textsIn(fields.get('protect')),
    kept: typeof kept === 'string' ? kept : null,
    task,
  };
}

/** A value that is no JSON is taken as the words it is: people write these files too. */
function fieldOf(line: string): readonly (readonly [string, unknown])[] {
  const found = /^([a-z_]+):\s*(.*)$/.exec(line);
  if (!found) return [];
  const [, key = '', text = ''] = found;
  return tryTo(() => [[key, JSON.parse(text)]]) ?? [[key, text.trim()]];
}

function shown(value: unknown): string {
  return `got: ${JSON.stringify(value) ?? 'nothing'}`;
}
