/** The hook entry point: JSON on stdin, JSON on stdout, nothing else. A hook that fails lets the agent pass and says so. */
import { type Dialect, type HookAnswer, type HookInput, type Moment, NOTHING } from '../agents/dialect.ts';
import { findDialect } from '../agents/registry.ts';
import { transcriptSize } from '../agents/transcript.ts';
import { type HookOrders, readOrders } from '../domain/session/hook-orders.ts';
import { contract, isElsewhere, type SessionState } from '../domain/session/session.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { harmless } from '../platform/text.ts';
import {
  changeSession,
  findSession,
  listSessions,
  NEXT,
  type SessionFile,
  sessionIn,
} from '../store/session-file.ts';
import { fallAsleep, hold, openRun } from '../store/session-ledger.ts';
import { laterState } from '../store/state.ts';
import { onCommand } from './commands.ts';
import { refusal } from './guard.ts';
import { putBack, undoneWords, withProtected } from './protected.ts';
import { carryOut, onTool, rearmSession, watchSession } from './run-hooks.ts';
import { NO_EFFECTS, onStop, reportStrangers } from './stop.ts';

export async function runHook(
  host: string,
  event: string,
  stdin: string,
  env: NodeJS.ProcessEnv,
  /** Called by a hook that a run has given its agent, not by an installed plugin. */
  byRun = false,
): Promise<string> {
  const orders = readOrders(env);
  if (orders && orders.given !== byRun) return ''; // the other one answers
  const dialect = findDialect(host, stdin, env);
  const input = dialect?.readInput(stdin);
  if (!dialect) return '';
  if (!input || input.sessionId === '') return answerUnreadable(dialect, event, orders);
  const root = dialect.rootOf(input, env);
  if (root === '' && !orders) return '';
  const answer = await answerTo(dialect, event, root, input, orders).catch(error =>
    onFailure(dialect, event, error),
  );
  return dialect.writeAnswer(event, harmlessIn(answer));
}

function onFailure({ moments }: Dialect, event: string, error: unknown): HookAnswer {
  const why = error instanceof Error ? error.message : String(error);
  if (moments[event] === 'before-tool') return refusal([`it could not be judged (${why}).`]).answer;
  const message = `⚠️ Ralph: the ${event} hook failed and let the agent pass: ${why}`;
  return { kind: 'say', message };
}

/** What a host shows to people. What the agent alone reads, such as its task, is as it is. */
function harmlessIn(answer: HookAnswer): HookAnswer {
  const isShown = (field: string) =>
    field === 'message' || field === 'warning' || (answer.kind === 'deny' && field === 'reason');
  const fields = Object.entries(answer).map(([field, text]) => [
    field,
    isShown(field) ? harmless(text) : text,
  ]);
  return Object.fromEntries(fields);
}

/** There is no answer to a host that says nothing; a tool call that cannot be read is not let through by a guard. */
function answerUnreadable(dialect: Dialect, event: string, orders: HookOrders | undefined): string {
  if (!orders?.guard || dialect.moments[event] !== 'before-tool') return '';
  return dialect.writeAnswer(event, refusal(['the call cannot be read, so it cannot be judged.']).answer);
}

async function answerTo(
  dialect: Dialect,
  event: string,
  root: string,
  input: HookInput,
  orders: HookOrders | undefined,
): Promise<HookAnswer> {
  const moment = dialect.moments[event];
  // In the agent of a run there is no loop but the run's.
  if (orders) return await carryOut(orders, dialect, moment, input);
  return moment === undefined ? NOTHING : await answerInSession(dialect, moment, root, input);
}

async function answerInSession(
  dialect: Dialect,
  moment: Moment,
  root: string,
  input: HookInput,
): Promise<HookAnswer> {
  const later = moment === 'command' || moment === 'stop' ? laterState(process.env) : undefined;
  if (later) throw new Error(formatProblem(later));
  switch (moment) {
    case 'start':
      return onStart(root, input);
    case 'command':
      return await onCommand(root, dialect, input);
    case 'prompt':
      return await (input.commandName === '' ? onPrompt : onCommand)(root, dialect, input);
    case 'before-tool':
      return onTool(root, dialect, input);
    case 'tools':
      return watchSession(root, dialect, input);
    case 'peek':
      return await onStop(root, dialect, input, NO_EFFECTS);
    case 'stop':
      return await onStop(root, dialect, input);
    default:
      return moment satisfies never;
  }
}

/** A background task that has ended comes as a prompt of its own: the loop follows it. Any other prompt is the user's. */
async function onPrompt(root: string, { host }: Dialect, input: HookInput): Promise<HookAnswer> {
  const { sessionId, promptId, prompt, transcript } = input;
  const files = listSessions(root);
  const file = sessionIn(files, sessionId) ?? sessionIn(files, NEXT);
  if (!file) return reportStrangers(files, input);
  if (!file.state.active) return NOTHING;
  const { state } = file;
  if (state.sessionId === NEXT) {
    // Somebody else's by now, or nobody's: an ordinary session is not dragged into it.
    if (Date.now() - state.turnAt > NEXT_WAITS) return NOTHING;
    const transcriptRead = transcriptSize(transcript);
    const runId = state.runId || openRun(root, state, host);
    const found = await withProtected(root, { ...state, runId });
    const { protect, kept } = isProblem(found) ? state : found.state;
    const taken = { sessionId, promptId, runId, transcriptRead, protect, kept, turnAt: Date.now() };
    const isTaken = changeSession(file, now => (now.sessionId === NEXT ? { ...now, ...taken } : undefined));
    return isTaken ? { kind: 'context', context: contract(state) } : NOTHING;
  }
  hold(root, state.runId);
  if (prompt.startsWith('<task-notification>') || state.wakeUps.includes(prompt))
    changeSession(file, now => ({ ...now, promptId }));
  else if (
    isElsewhere(state, promptId) ||
    ((promptId === null || state.promptId === null) && !isOurs(prompt, state))
  )
    return await letSleep(root, file);
  return NOTHING;
}

/** Where prompts have no numbers, a continuation comes as one: the task, with Ralph's words around it. */
function isOurs(prompt: string, { task }: SessionState): boolean {
  return prompt.includes(task) && /\bralph\b|\btask:\n/i.test(prompt);
}

/** Milliseconds that a loop waits for the session that takes it. */
const NEXT_WAITS = 60 * 60 * 1000;

/** The user has turned to something else. What the agent did up to now is the agent's. */
async function letSleep(root: string, file: SessionFile): Promise<HookAnswer> {
  const undone = file.state.active ? await putBack(root, file.state) : [];
  fallAsleep(root, file);
  return undone.length === 0 ? NOTHING : { kind: 'say', message: undoneWords(undone) };
}

/** A compaction may have taken the task out of the agent's sight. */
function onStart(root: string, input: HookInput): HookAnswer {
  rearmSession(root, input);
  const file = findSession(root, input.sessionId);
  if (file) hold(root, file.state.runId);
  if (input.source !== 'compact' || !file?.state.active) return NOTHING;
  return { kind: 'context', context: contract(file.state) };
}
