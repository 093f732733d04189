/**
 * `.claude/ralph-loop.local.md`: the state of an in-session loop, in seed 000's form. Front matter, then the task, byte for byte.
 * A second session has a file of its own. The file is for people to read, and in the agent's reach: what counts is the record of it in
 * the user's state folder. A file without a record is a stranger's: it is shown, and never obeyed.
 */
import { lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { NO_WORK_POLICIES, type SessionRequest, type SessionState } from '../domain/session/session.ts';
import { textsIn } from '../domain/text/json.ts';
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

/** Where they are, below the root of the project. */
export const SESSION_FOLDER = '.claude';
const NAME = /^ralph-loop(\..+)?\.local\.md$/;

/** The files of all loops, from the project's root: seed 000's place, whichever host runs the loop. */
export const SESSION_FILES = `${SESSION_FOLDER}/ralph-loop*.local.md`;

/** By its path, from wherever. */
export function isSessionFile(path: string): boolean {
  if (!path.endsWith('.local.md')) return false;
  const [name = '', folder] = path.split('/').reverse();
  return folder === SESSION_FOLDER && NAME.test(name);
}

/** Every loop of a project, the user's own and strangers'. */
export function listSessions(root: string, env: Env = process.env): readonly FoundFile[] {
  const folder = join(root, SESSION_FOLDER);
  const names = (tryTo(() => readdirSync(folder)) ?? []).filter(name => NAME.test(name)).sort();
  const known = new Set(names.length > 0 ? recordedIn(root, env) : []);
  const shown = new Set(names.filter(name => !known.has(name)).slice(0, MOST_STRANGERS));
  return names
    .filter(name => known.has(name) || shown.has(name))
    .map(name => readSession(join(folder, name), env));
}

/** Of a folder that somebody has filled not all is read: the host does not wait for that. */
const MOST_STRANGERS = 20;

/** The names of all files that have a record. */
function recordedIn(root: string, env: Env): readonly string[] {
  return tryTo(() => namesIn(dirname(projectPaths(root, env).state().session('x')))) ?? [];
}

function readSession(path: string, env: Env): FoundFile {
  const { state, record } = recordOf(path, env);
  const recorded = state.isInside ? undefined : tryTo(() => readVersion(record))?.text;
  const known = recorded === undefined ? undefined : parseState(recorded);
  if (known && !('problem' in known))
    return { path, state: known, isChanged: !isShown(path, recorded) && !isBeingWritten(path, record) };
  const parsed = parseState(textAt(path));
  const sessionId = 'problem' in parsed ? null : parsed.sessionId;
  const damage = 'problem' in parsed ? `, and is damaged: ${parsed.problem}` : '';
  return { path, stranger: `is not of a loop that you started here${damage}`, sessionId };
}

/** Milliseconds. The record is written first, and the file a moment after it. */
const A_MOMENT = 5;

function isBeingWritten(path: string, record: string): boolean {
  for (let looks = 0; looks < 4; looks++) {
    waitAMoment(A_MOMENT);
    if (isShown(path, readVersion(record).text)) return true;
  }
  return false;
}

function isShown(path: string, recorded = ''): boolean {
  return textAt(path, Buffer.byteLength(recorded)) === recorded;
}

/** Of a file that nobody here has written. */
const LONGEST_STRANGER = 64 * 1024;

/** '': it is not there, longer than that, or no file of ours. */
function textAt(path: string, longest = LONGEST_STRANGER): string {
  const found = tryTo(() => lstatSync(path));
  return found?.isFile() && found.size <= longest ? (tryTo(() => readIfThere(path)) ?? '') : '';
}

/** The name says which loop it is; where the project is says which project. */
function recordOf(path: string, env: Env = process.env) {
  const state = projectPaths(dirname(dirname(path)), env).state();
  return { state, record: state.session(basename(path)) };
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
  const short = join(root, SESSION_FOLDER, 'ralph-loop.local.md');
  const taken = listSessions(root).some(
    file => file.path === short && !('state' in file && file.state.sessionId === sessionId),
  );
  return taken ? join(root, SESSION_FOLDER, `ralph-loop.${fileNameOf(sessionId)}.local.md`) : short;
}

/** Two sessions never have the same one, whatever they are called. */
function fileNameOf(sessionId: string): string {
  const plain = sessionId.replace(/[^\w-]/g, '_').slice(0, 100);
  return plain === sessionId ? plain : `${plain}.${sha256(sessionId).slice(0, 8)}`;
}

/** A loop at its beginning. `transcriptRead`: bytes that are there already. */
export function newSession(
  request: SessionRequest,
  at: Pick<SessionState, 'sessionId' | 'promptId' | 'runId' | 'transcriptRead'>,
  now: number,
): SessionState {
  return {
    ...{ ...request, ...at, active: true, iteration: 1, turnAt: now, waits: true },
    startedAt: new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    ...{ toolCalls: 0, callsBefore: 0, blocksInARow: 0, wakeUps: [], protect: [], kept: null },
  };
}

/**
 * Begins a loop, over whatever had this file before. It lives in its session, and no session outlives a power cut: there is no waiting for
 * the disk. Throws when there can be no record of it: then there is no loop.
 */
export function writeSession(path: string, state: SessionState): void {
  const { record } = recordOf(path);
  const text = formatState(state);
  ensureFolder(dirname(path));
  while (!writeNext(record, latestIn(record), text));
  writeWhole(path, text);
  show(path);
}

/** The loop as it is on record now, and the number of that version; undefined: there is none any more, or another one. */
function recorded(record: string, found?: SessionState) {
  const { number, text } = readVersion(record);
  const state = text === undefined ? undefined : parseState(text);
  if (!state || 'problem' in state || (found && !isSameLoop(found, state))) return undefined;
  return { number, state };
}

/**
 * Changes a loop as it is now, which may be no longer how it was found. undefined: it is over, or `change` leaves it as it is; then nothing
 * is written, however late this is.
 */
export function changeSession(
  { path, state: found }: Pick<SessionFile, 'path' | 'state'>,
  change: (now: SessionState) => SessionState | undefined,
): SessionState | undefined {
  const { record } = recordOf(path);
  for (;;) {
    const now = recorded(record, found);
    const next = now && change(now.state);
    if (!now || !next || !isThere(path)) return undefined;
    if (writeNext(record, now.number, formatState(next))) return show(path) ? next : undefined;
  }
}

/** Ends a loop, for good: whoever is late finds it ended. The loop as it was last; undefined: it had ended before. */
export function endSession({
  path,
  state: found,
}: Pick<SessionFile, 'path' | 'state'>): SessionState | undefined {
  const { record } = recordOf(path);
  for (;;) {
    const now = recorded(record, found);
    if (!now) return undefined;
    if (!writeNext(record, now.number, undefined)) continue;
    show(path);
    return now.state;
  }
}

/** Loops whose file the user has deleted, and of which nobody has written down that they ended. */
export function deletedSessions(root: string): readonly SessionFile[] {
  const { session } = projectPaths(root).state();
  return recordedIn(root, process.env).flatMap(name => {
    const path = join(root, SESSION_FOLDER, name);
    if (isThere(path)) return [];
    const now = recorded(session(name));
    if (!now) return [];
    const file = join(session(name), String(now.number));
    const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    return age > JUST_BEGUN && !isThere(path) ? [{ path, state: now.state, isChanged: true }] : [];
  });
}

/** Milliseconds. A loop has a record before it has a file. */
const JUST_BEGUN = 5_000;

/** Whether it is still the loop that was found, and has not ended; a user who deletes its file has ended it. */
export function isLive({ path, state }: Pick<SessionFile, 'path' | 'state'>): boolean {
  return isThere(path) && recorded(recordOf(path).record, state) !== undefined;
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
  const { record } = recordOf(path);
  for (;;) {
    const { number, text } = readVersion(record);
    if (text === undefined) rmSync(path, { force: true });
    else if (!writeOver(path, text)) return false;
    if (latestIn(record) === number) return text !== undefined;
  }
}

type Field = Exclude<keyof SessionState, 'task'>;

const count = (fallback: number) => (value: unknown) => (isCount(value) ? value : fallback);
const text = (value: unknown) => String(value ?? '');
const textOrNull = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);

/** The fields in the order of the file, where each has a name in small letters; and how each is read, whatever stands there. */
const FIELDS: { readonly [Name in Field]: (value: unknown) => SessionState[Name] } = {
  active: value => value !== false,
  iteration: count(0),
  maxIterations: count(0),
  completionPromise: textOrNull,
  startedAt: text,
  sessionId: text,
  promptId: value => (typeof value === 'string' ? value : null),
  minToolCalls: count(1),
  toolCalls: count(0),
  onPromiseNoWork: value => NO_WORK_POLICIES.find(each => each === value) ?? 'reject',
  ultrawork: value => value === true,
  checks: textsIn,
  blocksInARow: count(0),
  runId: text,
  transcriptRead: count(0),
  callsBefore: count(0),
  turnAt: count(0),
  wakeUps: textsIn,
  waits: value => value !== false,
  protect: textsIn,
  kept: value => (typeof value === 'string' ? value : null),
};

const NAMES = Object.keys(FIELDS) as readonly Field[];

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** JSON values are YAML values, and have no surprises in them. */
export function formatState(state: SessionState): string {
  const lines = NAMES.map(field => `${nameOf(field)}: ${JSON.stringify(state[field])}`);
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
  for (const key of ['iteration', 'max_iterations']) {
    const value = fields.get(key);
    if (isCount(value)) continue;
    return { problem: `'${key}' is not a whole number (got: ${JSON.stringify(value) ?? 'nothing'})` };
  }
  if (task.trim() === '') return { problem: 'there is no task in it' };
  const state = Object.fromEntries(NAMES.map(name => [name, FIELDS[name](fields.get(nameOf(name)))]));
  return { ...(state as unknown as Omit<SessionState, 'task'>), task };
}

/** A value that is no JSON is taken as the words it is: people write these files too. */
function fieldOf(line: string): readonly (readonly [string, unknown])[] {
  const found = /^([a-z_]+):\s*(.*)$/.exec(line);
  if (!found) return [];
  const [, key = '', text = ''] = found;
  return tryTo(() => [[key, JSON.parse(text)]]) ?? [[key, text.trim()]];
}
