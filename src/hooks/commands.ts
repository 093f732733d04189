/** The slash commands: set up, cancel and explain the loop, from what the user typed. No shell ever sees it. */
import { type Dialect, type HookAnswer, type HookInput, NOTHING } from '../agents/dialect.ts';
import { transcriptSize } from '../agents/transcript.ts';
import { formatProblem } from '../domain/problem.ts';
import { contract, type SessionRequest, type SessionState } from '../domain/session.ts';
import { parseArguments } from '../domain/session-arguments.ts';
import { findSession, newSessionPath, removeSession, writeSession } from '../store/session-file.ts';
import { openRun, record } from '../store/session-ledger.ts';
import { openState } from '../store/state-check.ts';

export function onCommand(root: string, { host, prefix }: Dialect, input: HookInput): HookAnswer {
  const name = input.commandName.split(':').at(-1);
  switch (name) {
    case 'ralph-loop':
    case 'ulw-loop':
      return start(root, host, input, name === 'ulw-loop');
    case 'cancel-ralph':
      return refuse(cancelSession(root, input.sessionId));
    case 'help':
      return refuse(HELP.replaceAll('/ralph:', prefix));
    default:
      return NOTHING;
  }
}

/** The prompt ends here, without a call of the model; the user reads the message. */
function refuse(message: string): HookAnswer {
  return { kind: 'block', reason: message, message };
}

function start(root: string, host: string, input: HookInput, ultrawork: boolean): HookAnswer {
  const { request, problems } = parseArguments(input.commandArguments);
  const sleeping = findSession(root, input.sessionId);
  if (input.commandArguments.trim() === '' && sleeping) return wake(sleeping.path, sleeping.state, input);
  const all = [...problems, ...stateProblems(root)];
  if (all.length > 0)
    return refuse(`❌ Ralph loop: not started.\n${all.map(problem => `- ${problem}`).join('\n')}`);
  if (sleeping) removeSession(sleeping.path);
  const asked = { ...request, ultrawork };
  const state = newState(input, asked, openRun(root, asked, host));
  writeSession(newSessionPath(root, input.sessionId), state);
  return { kind: 'context', context: contract(state), message: started(state) };
}

/** The same from a terminal, for a running session; its run begins there. The words were split by the user's own shell. */
export function startSession(root: string, sessionId: string, words: readonly string[]) {
  const { request, problems: wrong } = parseArguments(words.map(quotedWord).join(' '));
  const problems = [...wrong, ...stateProblems(root)];
  if (problems.length > 0) return { problems, message: '' };
  const state = newState(
    { sessionId, promptId: null, transcript: null },
    { ...request, ultrawork: false },
    '',
  );
  writeSession(newSessionPath(root, sessionId), state);
  return { problems, message: started(state) };
}

/** A loop is believed by its record: where there can be none, there is no loop. */
function stateProblems(root: string): readonly string[] {
  const unfit = openState(root, process.env);
  return unfit ? [formatProblem(unfit)] : [];
}

/** A word that was one word stays one. */
function quotedWord(word: string): string {
  return /\s/.test(word) && !word.includes('"') ? `"${word}"` : word;
}

function newState(
  input: Pick<HookInput, 'sessionId' | 'promptId' | 'transcript'>,
  request: SessionRequest,
  runId: string,
): SessionState {
  return {
    ...request,
    active: true,
    iteration: 1,
    startedAt: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    sessionId: input.sessionId,
    promptId: input.promptId,
    toolCalls: 0,
    blocksInARow: 0,
    runId,
    transcriptRead: transcriptSize(input.transcript),
  };
}

/** The command without a task resumes the loop that was left. What was called meanwhile was not for the loop. */
function wake(path: string, state: SessionState, input: HookInput): HookAnswer {
  const awake: SessionState = {
    ...state,
    active: true,
    promptId: input.promptId,
    blocksInARow: 0,
    transcriptRead: transcriptSize(input.transcript) || state.transcriptRead,
  };
  writeSession(path, awake);
  return {
    kind: 'context',
    context: contract(awake),
    message: `🔄 Ralph loop resumed at iteration ${awake.iteration}.`,
  };
}

function started(state: SessionState): string {
  const max = state.maxIterations > 0 ? String(state.maxIterations) : 'unlimited';
  const promise =
    state.completionPromise === null
      ? 'none (runs until the maximum, or /cancel-ralph)'
      : `${state.completionPromise} (ONLY output when TRUE - do not lie!)`;
  const checks = state.checks.length > 0 ? `\nChecks: ${state.checks.join(', ')}` : '';
  return `🔄 Ralph loop activated in this session!\nIteration: 1\nMax iterations: ${max}\nCompletion promise: ${promise}${checks}\nTo stop it: /cancel-ralph`;
}

export function cancelSession(root: string, sessionId: string): string {
  const file = findSession(root, sessionId);
  if (!file) return 'No active Ralph loop found in this session.';
  const { path, state } = file;
  removeSession(path);
  record(root, state.runId, {
    type: 'notice',
    level: 'info',
    text: `Cancelled at iteration ${state.iteration}.`,
  });
  return `🛑 Cancelled the Ralph loop (was at iteration ${state.iteration}). The work is kept.`;
}

const HELP = `Ralph loop: keeps this session working until the task is provably done.

/ralph:ralph-loop TASK [--max-iterations N] [--completion-promise TEXT] [--check CMD …] [--min-tool-calls 1] [--on-promise-no-work reject|warn|accept]
/ralph:ulw-loop TASK …      the same, with the ultrawork instruction before every continuation
/ralph:ralph-loop           resumes a loop that you interrupted
/ralph:cancel-ralph         ends the loop; the work is kept

The agent may stop when it outputs <promise>TEXT</promise> to the letter, has called a tool, and every --check passes.
Example: /ralph:ralph-loop Make the tests pass --completion-promise DONE --check "npm test" --max-iterations 20`;
