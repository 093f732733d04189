/** `ralph session`: the in-session loop from a terminal: shows loops, starts one for a session, ends one. */
import type { Problem } from '../../domain/problem.ts';
import { cancelSession, startSession } from '../../hooks/commands.ts';
import { listSessions, type SessionFile } from '../../store/session-file.ts';
import { answer, type Call, type CliCommand, orThrow, Problems, refuse } from '../command.ts';

export const session: CliCommand = {
  declare(command) {
    command
      .argument('<action>', 'start, status or cancel')
      .argument('[arguments...]', 'with start: the task and its flags, as in the slash command')
      .option(
        '--session <id>',
        'the session; without it the only one that has a loop; with start also next: the one that sends the next prompt',
      )
      .passThroughOptions(false)
      .allowUnknownOption()
      .addHelpText('after', EXAMPLES);
  },
  async run(call) {
    const [action = '', ...rest] = call.args;
    if (action === 'status') return status(call);
    if (action === 'cancel') return cancel(call);
    if (action === 'start') return start(call, rest);
    return refuse(action, 'unknown action', 'use start, status or cancel');
  },
};

const EXAMPLES = `
Examples:
  ralph session status
  ralph session cancel
  ralph session start --session next Make the tests pass --completion-promise DONE --check "npm test"

The loop itself runs in the session's own stop hook: the ralph plugin must be installed in the host.
`;

function status({ cwd, output }: Call): 0 {
  const files = listSessions(cwd);
  const none =
    'No in-session loop here. Start one with /ralph-loop in a session, or with `ralph session start`.';
  const lines = files.map(file => ('state' in file ? line(file) : `${file.path} ${file.stranger}`));
  answer(output, { sessions: files }, () => lines.join('\n') || none);
  return 0;
}

function line({ state }: SessionFile): string {
  const of = state.maxIterations > 0 ? `/${state.maxIterations}` : '';
  const promise =
    state.completionPromise === null ? 'no promise' : `<promise>${state.completionPromise}</promise>`;
  const task = state.task.split('\n')[0]?.slice(0, 60) ?? '';
  return `${state.sessionId}  ${state.active ? 'active' : 'dormant'}  iteration ${state.iteration}${of}  ${state.toolCalls} tool call${state.toolCalls === 1 ? '' : 's'}  ${promise}  ${task}`;
}

function cancel(call: Call): 0 {
  call.output.answer(`${cancelSession(call.cwd, orThrow(sessionOf(call)))}\n`);
  return 0;
}

function sessionOf({ options, cwd }: Call): string | Problem {
  if (typeof options.session === 'string') return options.session;
  const all = listSessions(cwd).filter((file): file is SessionFile => 'state' in file);
  const [only] = all;
  if (only && all.length === 1) return only.state.sessionId;
  if (!only)
    return { where: 'session', what: 'there is no in-session loop here', fix: 'ralph session status' };
  return {
    where: '--session',
    what: `there are ${all.length} loops: ${all.map(file => file.state.sessionId).join(', ')}`,
    fix: `ralph session cancel --session ${only.state.sessionId}`,
  };
}

function start({ options, cwd, output }: Call, words: readonly string[]): 0 {
  const { session: id } = options;
  if (typeof id !== 'string') {
    const fix = 'give its id, or --session next for the session that sends the next prompt';
    refuse('--session', 'no session is named', fix);
  }
  const { problems, message } = startSession(cwd, id, words);
  if (problems.length > 0) throw new Problems(problems.map(what => ({ where: 'ralph session start', what })));
  output.answer(`${message}\n`);
  return 0;
}
