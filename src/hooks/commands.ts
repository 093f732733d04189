/** The slash commands: set up, cancel and explain the loop, from what the user typed. No shell ever sees it. */

import { relative } from 'node:path';
import { type Dialect, endPrompt, type HookAnswer, type HookInput, NOTHING } from '../agents/dialect.ts';
import { transcriptSize } from '../agents/transcript.ts';
import { asksForHelp, type FlagValue, parseArguments, requestOf } from '../domain/session/arguments.ts';
import { contract, type SessionState } from '../domain/session/session.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { rememberProject } from '../store/projects.ts';
import { keepOutOfCommits } from '../store/session-exclude.ts';
import {
  changeSession,
  findSession,
  newSession,
  newSessionPath,
  type SessionFile,
  writeSession,
} from '../store/session-file.ts';
import { cancel, endDeleted, endRun, hold, openRun, record, turnStarted } from '../store/session-ledger.ts';
import { openState } from '../store/state-check.ts';
import { loadBeside } from './load-heavy.ts';
import { withProtected } from './protected.ts';

export async function onCommand(root: string, dialect: Dialect, input: HookInput): Promise<HookAnswer> {
  const { host, prefix } = dialect;
  const name = input.commandName.split(':').at(-1);
  endDeleted(root);
  if (asksForHelp(input.commandArguments)) return endPrompt(helpFor(prefix));
  switch (name) {
    case 'ralph-loop':
    case 'ulw-loop':
      return await start(root, host, input, name === 'ulw-loop');
    case 'hand-over':
      return loadBeside('ralph-hook-more').onHandOver(root, dialect, input);
    case 'cancel-ralph':
      return endPrompt(cancelSession(root, input.sessionId));
    case 'help':
      return endPrompt(helpFor(prefix));
    default:
      return NOTHING;
  }
}

function helpFor(prefix: string): string {
  return HELP.replaceAll('/ralph:', prefix);
}

async function start(root: string, host: string, input: HookInput, ultrawork: boolean): Promise<HookAnswer> {
  const { request, problems, notes } = parseArguments(input.commandArguments);
  const sleeping = findSession(root, input.sessionId);
  if (input.commandArguments.trim() === '' && sleeping) return await wake(root, host, sleeping, input);
  const all = [...problems, ...stateProblems(root)];
  if (all.length > 0) return notStarted(all);
  prepareProject(root);
  const asked = { ...request, ultrawork };
  const { sessionId, promptId, transcript } = input;
  const at = { sessionId, promptId, transcriptRead: transcriptSize(transcript) };
  const begun = newSession(asked, { ...at, runId: openRun(root, asked, host) }, Date.now());
  const found = await withProtected(root, begun);
  if (isProblem(found)) {
    const why = formatProblem(found);
    endRun(root, begun, { stopReason: 'cancelled', detail: why });
    return notStarted([why]);
  }
  if (sleeping) cancel(root, sleeping);
  const { state } = found;
  const path = newSessionPath(root, input.sessionId);
  writeSession(path, state);
  const message = started(state, [...notes, ...found.notes], relative(root, path));
  return { kind: 'context', context: contract(state), message };
}

function notStarted(problems: readonly string[]): HookAnswer {
  return endPrompt(`❌ Ralph loop: not started.\n${problems.map(problem => `- ${problem}`).join('\n')}`);
}

/** The same from a terminal, for a running session; its run begins there. */
export function startSession(root: string, sessionId: string, task: string, values: readonly FlagValue[]) {
  const { request, problems: wrong, notes } = requestOf(task, values);
  const problems = [...wrong, ...stateProblems(root)];
  if (problems.length > 0) return { problems, message: '' };
  const there = findSession(root, sessionId);
  if (there) cancel(root, there);
  prepareProject(root);
  const at = { sessionId, promptId: null, runId: '', transcriptRead: 0 };
  const state = newSession({ ...request, ultrawork: false }, at, Date.now());
  const path = newSessionPath(root, sessionId);
  writeSession(path, state);
  return { problems, message: started(state, notes, relative(root, path)) };
}

/** Never the reason that a loop does not start. */
function prepareProject(root: string): void {
  keepOutOfCommits(root);
  rememberProject(root, process.env);
}

/** A loop is believed by its record: where there can be none, there is no loop. */
function stateProblems(root: string): readonly string[] {
  const unfit = openState(root, process.env);
  return unfit ? [formatProblem(unfit)] : [];
}

/** The command without a task resumes the loop that was left. What was called meanwhile was not for the loop. */
async function wake(root: string, host: string, file: SessionFile, input: HookInput): Promise<HookAnswer> {
  const { protect, kept } = await afterUser(root, file.state);
  const awake = changeSession(file, now => ({
    ...now,
    active: true,
    protect,
    kept,
    promptId: input.promptId,
    blocksInARow: 0,
    transcriptRead: transcriptSize(input.transcript) || now.transcriptRead,
    turnAt: Date.now(),
    waits: false,
  }));
  if (!awake) return endPrompt(NO_LOOP);
  hold(root, awake.runId);
  const context = contract(awake);
  const [, again] = turnStarted(awake.iteration, awake, context, host);
  record(root, awake.runId, { type: 'continued' }, ...(again ? [again] : []));
  return { kind: 'context', context, message: `🔄 Ralph loop resumed at iteration ${awake.iteration}.` };
}

/** What the user did to protected files while the loop slept is what he wants. */
async function afterUser(root: string, state: SessionState): Promise<SessionState> {
  if (state.active || state.runId === '') return state;
  const found = await withProtected(root, state);
  return isProblem(found) ? state : found.state;
}

function started(state: SessionState, notes: readonly string[], path: string): string {
  const max = state.maxIterations > 0 ? String(state.maxIterations) : 'unlimited';
  const promise =
    state.completionPromise === null
      ? 'none (runs until the maximum, or /cancel-ralph)'
      : `${state.completionPromise} (ONLY output when TRUE - do not lie!)`;
  const checks = state.checks.length > 0 ? `\nChecks: ${state.checks.join(', ')}` : '';
  const more = notes.map(note => `\n${note}`).join('');
  return `🔄 Ralph loop activated in this session!\nIteration: 1\nMax iterations: ${max}\nCompletion promise: ${promise}${checks}${more}\nTo monitor: head -20 ${path}\nTo stop it: /cancel-ralph`;
}

const NO_LOOP = 'No active Ralph loop found in this session.';

export function cancelSession(root: string, sessionId: string): string {
  const file = findSession(root, sessionId);
  const state = file && cancel(root, file);
  if (!state) return NO_LOOP;
  return `🛑 Cancelled the Ralph loop (was at iteration ${state.iteration}). The work is kept.`;
}

const HELP = `Ralph loop: keeps this session working until the task is provably done.

/ralph:ralph-loop TASK [--max-iterations N] [--completion-promise TEXT] [--check CMD …] [--min-tool-calls 1] [--on-promise-no-work reject|warn|accept]
/ralph:ulw-loop TASK …      the same, with the ultrawork instruction before every continuation
/ralph:ralph-loop           resumes a loop that you interrupted
/ralph:hand-over            to a terminal (\`ralph continue-here\`), or back from there
/ralph:cancel-ralph         ends the loop; the work is kept

Quotes hold a task together that has a flag in it; behind -- everything is the task.
The agent may stop when it outputs <promise>TEXT</promise> to the letter, has called a tool, and every --check passes.
Example: /ralph:ralph-loop Make the tests pass --completion-promise DONE --check "npm test" --max-iterations 20`;
