/** `ralph session`: the in-session loop from a terminal: shows loops, starts one for a session, ends one. */
import { type FlagValue, SESSION_FLAGS } from '../../domain/session/arguments.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import { cancelSession, startSession } from '../../hooks/commands.ts';
import { CLOSED } from '../../report/ending-words.ts';
import { isRunning } from '../../store/lease.ts';
import { projectPaths, runPaths } from '../../store/paths.ts';
import { listSessions, type SessionFile } from '../../store/session-file.ts';
import { endDeleted } from '../../store/session-ledger.ts';
import { answer, type Call, type CliCommand, orThrow, Problems, refuse } from '../command.ts';
import { collect } from '../set-up.ts';

export const session: CliCommand = {
  declare: command =>
    command
      .argument('<action>', 'start, status or cancel')
      .argument('[task...]', 'with start: the task; behind -- it may hold words that look like flags')
      .option(
        '--session <id>',
        'the session; without it the only one that has a loop; with start also next: the one that sends the next prompt',
      )
      .option('--max-iterations <n>', 'with start: so many iterations at most (0: no limit)')
      .option('--completion-promise <text>', 'with start: the agent may stop when it says so')
      .option(
        '--check <command>',
        'with start: must pass before the agent may stop; may be given again',
        collect,
      )
      .option('--min-tool-calls <n>', 'with start: a promise counts after so many tool calls (1)')
      .option('--on-promise-no-work <policy>', 'with start: a promise without them: reject, warn or accept'),
  help: `
Examples:
  ralph session status
  ralph session cancel
  ralph session start --session next Make the tests pass --completion-promise DONE --check "npm test"

The loop itself runs in the session's own stop hook: the ralph plugin must be installed in the host.
`,
  async run(call) {
    const [action = '', ...rest] = call.args;
    if (action === 'status') return status(call);
    if (action === 'cancel') return cancel(call);
    if (action === 'start') return start(call, rest);
    return refuse(action, 'unknown action', 'use start, status or cancel');
  },
};

function status(call: Call): 0 {
  const { output } = call;
  const root = sessionRoot(call);
  endDeleted(root);
  const files = listSessions(root).map(file =>
    'state' in file ? { ...file, standing: standingOf(root, file) } : file,
  );
  const none =
    'No in-session loop here. Start one with /ralph-loop in a session, or with `ralph session start`.';
  const lines = files.map(file => ('state' in file ? line(file) : `${file.path} ${file.stranger}`));
  const isClosed = files.some(file => 'standing' in file && file.standing === 'closed');
  answer(output, { sessions: files }, () => [...lines, ...(isClosed ? [CLOSED] : [])].join('\n') || none);
  return 0;
}

/** In the words of `ralph status`, but for a loop that runs: it is awake, or it sleeps. */
function standingOf(root: string, { state: { runId, active } }: SessionFile) {
  if (runId === '') return 'waiting';
  if (!isRunning(runPaths(projectPaths(root), runId))) return 'closed';
  return active ? 'active' : 'dormant';
}

function line({ state, standing }: SessionFile & { readonly standing: string }): string {
  const of = state.maxIterations > 0 ? `/${state.maxIterations}` : '';
  const promise =
    state.completionPromise === null ? 'no promise' : `<promise>${state.completionPromise}</promise>`;
  const task = state.task.split('\n')[0]?.slice(0, 60) ?? '';
  return `${state.sessionId}  ${standing}  iteration ${state.iteration}${of}  ${state.toolCalls} tool call${state.toolCalls === 1 ? '' : 's'}  ${promise}  ${task}`;
}

function cancel(call: Call): 0 {
  const { root, sessionId } = orThrow(sessionNamed(call));
  call.output.answer(`${cancelSession(root, sessionId)}\n`);
  return 0;
}

function start({ options, cwd, output }: Call, words: readonly string[]): 0 {
  const { session: id } = options;
  if (typeof id !== 'string') {
    const fix = 'give its id, or --session next for the session that sends the next prompt';
    refuse('--session', 'no session is named', fix);
  }
  const { problems, message } = startSession(cwd, id, words.join(' '), valuesOf(options));
  if (problems.length > 0) throw new Problems(problems.map(what => ({ where: 'ralph session start', what })));
  output.answer(`${message}\n`);
  return 0;
}

/** The flags of the slash command, as commander has taken them apart. */
function valuesOf(options: Call['options']): readonly FlagValue[] {
  return SESSION_FLAGS.flatMap(flag => {
    const key = flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const given = options[key];
    const values = Array.isArray(given) ? given : given === undefined ? [] : [given];
    return values.map(value => [flag, String(value)] as const);
  });
}

/** Loops are where their host was started: here, or in the root of the project. */
function sessionRoot({ cwd, root }: Pick<Call, 'cwd' | 'root'>): string {
  return listSessions(cwd).length > 0 ? cwd : root;
}

/** The one that is named, or the only one that has a loop. */
export function sessionNamed(
  call: Pick<Call, 'cwd' | 'root' | 'options'>,
): { readonly root: string; readonly sessionId: string } | Problem {
  const root = sessionRoot(call);
  const sessionId = onlyOne(root, call.options.session);
  return isProblem(sessionId) ? sessionId : { root, sessionId };
}

function onlyOne(root: string, named: unknown): string | Problem {
  if (typeof named === 'string') return named;
  const all = listSessions(root).filter((file): file is SessionFile => 'state' in file);
  const [only] = all;
  if (only && all.length === 1) return only.state.sessionId;
  if (!only)
    return { where: 'session', what: 'there is no in-session loop here', fix: 'ralph session status' };
  return {
    where: '--session',
    what: `there are ${all.length} loops: ${all.map(file => file.state.sessionId).join(', ')}`,
    fix: `add --session ${only.state.sessionId}`,
  };
}
