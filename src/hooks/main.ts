/** The hook entry point: JSON on stdin, JSON on stdout, nothing else. A hook that fails lets the agent pass and says so. */
import { type HookOrders, readOrders } from '../domain/hook-orders.ts';
import { contract } from '../domain/session.ts';
import { afterTools } from '../domain/session-verdict.ts';
import { findSession, writeSession } from '../store/session-file.ts';
import { hasRefusedStops, takeTally } from '../store/tally.ts';
import { onCommand } from './commands.ts';
import { dialectFor } from './dialects.ts';
import { openGate } from './gate.ts';
import { refusal } from './guard.ts';
import { type Dialect, type HookAnswer, type HookInput, type Moment, NOTHING } from './host.ts';
import { openRun } from './ledger.ts';
import { carryOut } from './orders.ts';
import { onTool, rearmSession, watchSession } from './session-duties.ts';
import { NO_DEEDS, onStop } from './stop.ts';
import { onStoryStop } from './story-stop.ts';

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
  const dialect = dialectFor(host, stdin, env);
  const input = dialect?.readInput(stdin);
  if (!dialect) return '';
  if (!input || input.sessionId === '') return unreadable(dialect, event, orders);
  const root = dialect.rootOf(input, env);
  if (root === '' && !orders) return '';
  try {
    return dialect.writeAnswer(event, await answerTo(dialect, event, root, input, orders, env));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (dialect.moments[event] === 'before-tool') {
      return dialect.writeAnswer(event, refusal([`it could not be judged (${why}).`]).answer);
    }
    return dialect.writeAnswer(event, {
      kind: 'say',
      message: `⚠️ Ralph: the ${event} hook failed and let the agent pass: ${why}`,
    });
  }
}

/** Nothing can be said to a host that tells nothing; a tool of which nothing is known is not let through by a guard. */
function unreadable(dialect: Dialect, event: string, orders: HookOrders | undefined): string {
  if (!orders?.guard || dialect.moments[event] !== 'before-tool') return '';
  return dialect.writeAnswer(event, refusal(['the call cannot be read, so it cannot be judged.']).answer);
}

async function answerTo(
  dialect: Dialect,
  event: string,
  root: string,
  input: HookInput,
  orders: HookOrders | undefined,
  env: NodeJS.ProcessEnv,
): Promise<HookAnswer> {
  const moment = dialect.moments[event];
  // In the agent of a run there is no loop but the run's.
  if (orders) return await carryOut(orders, moment, input);
  if (moment === undefined) return NOTHING;
  if (WRITERS.includes(moment) || hasRefusedStops(root, input.sessionId)) takeTally(root, input.sessionId);
  const answer = await inSession(dialect, moment, root, input);
  if (moment !== 'peek') openGate(root, dialect, input, env);
  return answer;
}

/** They change the session: what the gate has done must be in it first. The others keep the ledger from being late. */
const WRITERS: readonly Moment[] = ['command', 'prompt', 'tools', 'stop'];

async function inSession(
  dialect: Dialect,
  moment: Moment,
  root: string,
  input: HookInput,
): Promise<HookAnswer> {
  switch (moment) {
    case 'start':
      return onStart(root, input);
    case 'command':
      return onCommand(root, dialect, input);
    case 'prompt':
      return input.commandName === '' ? onPrompt(root, dialect, input) : onCommand(root, dialect, input);
    case 'before-tool':
      return onTool(root, input);
    case 'tools':
      return onTools(root, input);
    case 'peek':
      return await onStop(root, dialect, input, NO_DEEDS);
    case 'stop': {
      const answer = await onStop(root, dialect, input);
      return answer.kind === 'nothing' ? await onStoryStop(root, input) : answer;
    }
    default:
      return moment satisfies never;
  }
}

/** The name of a loop that was started from a terminal for whichever session sends the next prompt. */
const NEXT = 'next';

/** A background task that has ended comes as a prompt of its own: the loop goes with it. Anything else is the user's. */
function onPrompt(root: string, { host }: Dialect, input: HookInput): HookAnswer {
  const { sessionId, promptId, prompt } = input;
  const file = findSession(root, sessionId) ?? findSession(root, NEXT);
  if (!file?.state.active) return NOTHING;
  const { state, path } = file;
  if (state.sessionId === NEXT) {
    const runId = state.runId || openRun(root, state, host);
    writeSession(path, { ...state, sessionId, promptId, runId });
    return { kind: 'context', context: contract(state) };
  }
  if (prompt.startsWith('<task-notification>')) writeSession(path, { ...state, promptId });
  // Where prompts have no numbers, the user's own prompt lets the loop sleep here and now.
  else if (promptId === null && !prompt.includes(state.task)) writeSession(path, { ...state, active: false });
  return NOTHING;
}

/** A compaction may have taken the task out of the agent's sight. */
function onStart(root: string, input: HookInput): HookAnswer {
  rearmSession(root, input);
  const file = findSession(root, input.sessionId);
  if (input.source !== 'compact' || !file?.state.active) return NOTHING;
  return { kind: 'context', context: contract(file.state) };
}

function onTools(root: string, input: HookInput): HookAnswer {
  const file = findSession(root, input.sessionId);
  if (file) writeSession(file.path, afterTools(file.state, input.toolCalls));
  return watchSession(root, input);
}
