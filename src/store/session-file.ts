/**
 * `.claude/ralph-loop.local.md`: the state of an in-session loop, in seed 000's form. Front matter, then the task, byte for byte.
 * A second session has a file of its own. A damaged file is set aside, never deleted.
 */
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { textsIn } from '../domain/json.ts';
import { NO_WORK_POLICIES, type NoWorkPolicy, type SessionState } from '../domain/session.ts';
import { ensureFolder, readIfThere, tryTo, writeWhole } from '../platform/files.ts';

export interface SessionFile {
  readonly path: string;
  readonly state: SessionState;
}

export interface DamagedFile {
  readonly path: string;
  /** What is wrong with it, in one sentence. */
  readonly problem: string;
}

const FOLDER = '.claude';
const NAME = /^ralph-loop(\..+)?\.local\.md$/;

/** The files of all loops, from the project's root: seed 000's place, whichever host runs the loop. */
export const SESSION_FILES = `${FOLDER}/ralph-loop*.local.md`;

/** Every loop of a project, whole or damaged. */
export function listSessions(root: string): readonly (SessionFile | DamagedFile)[] {
  const folder = join(root, FOLDER);
  const names = tryTo(() => readdirSync(folder)) ?? [];
  return names
    .filter(name => NAME.test(name))
    .sort()
    .map(name => {
      const path = join(folder, name);
      const parsed = parseState(readIfThere(path) ?? '');
      return 'problem' in parsed ? { path, problem: parsed.problem } : { path, state: parsed };
    });
}

/** The loop of a session. */
export function findSession(root: string, sessionId: string): SessionFile | undefined {
  return listSessions(root).find(
    (file): file is SessionFile => 'state' in file && file.state.sessionId === sessionId,
  );
}

/** The short name while no other session has it, else one with the session in it. */
export function newSessionPath(root: string, sessionId: string): string {
  const short = join(root, FOLDER, 'ralph-loop.local.md');
  const taken = listSessions(root).some(
    file => file.path === short && !('state' in file && file.state.sessionId === sessionId),
  );
  return taken ? join(root, FOLDER, `ralph-loop.${sessionId.replace(/[^\w-]/g, '_')}.local.md`) : short;
}

/** The loop lives in its session, and no session outlives a power cut: there is no waiting for the disk. */
export function writeSession(path: string, state: SessionState): void {
  ensureFolder(join(path, '..'));
  writeWhole(path, formatState(state));
}

export function removeSession(path: string): void {
  rmSync(path, { force: true });
}

/** Moves a damaged file out of the way and says where it is now. */
export function setAside(path: string, now: number): string {
  const aside = `${path}.damaged-${now}`;
  renameSync(path, aside);
  return aside;
}

/** The fields in the order of the file, where each has a name in small letters. */
const FIELDS = [
  ...(['active', 'iteration', 'maxIterations', 'completionPromise', 'startedAt', 'sessionId'] as const),
  ...(['promptId', 'minToolCalls', 'toolCalls', 'onPromiseNoWork', 'ultrawork', 'checks'] as const),
  ...(['blocksInARow', 'runId', 'transcriptRead'] as const),
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
