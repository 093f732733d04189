/** Hooks of one project at the same time: what was cancelled or has ended never comes back, and nothing is counted twice. */
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findSession, listSessions, parseState } from '../../src/store/session-file.ts';
import { BIN, startRalph, testEnv } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const STATE = '.claude/ralph-loop.local.md';
const DONE = '<promise>DONE</promise>';
const PROGRAM = join(import.meta.dirname, '../rig/hook-process.mjs');

/** A process that answers hooks, as often as it is asked. */
function hookProcess(project: Repo, env: Record<string, string>) {
  const child: ChildProcess = fork(PROGRAM, { env: { ...env, CLAUDE_PROJECT_DIR: project.dir } });
  onTestFinished(() => void child.kill('SIGKILL'));
  return async (event: string, more: object = {}, at = 0): Promise<Record<string, string>> => {
    const input = { session_id: 's1', prompt_id: 'p1', cwd: project.dir, ...more };
    const answered = once(child, 'message');
    child.send({ at, event, input });
    const [answer] = await answered;
    return answer === '' ? {} : JSON.parse(answer);
  };
}

const command = (name: string, args = '') => ({ command_name: `ralph:${name}`, command_args: args });
const START = command('ralph-loop', 'x --completion-promise DONE --min-tool-calls 0');
const CANCEL = command('cancel-ralph');

function ledgers(project: Repo): readonly (readonly Record<string, unknown>[])[] {
  const runs = project.path('.ralph/runs');
  return readdirSync(runs)
    .sort()
    .map(id =>
      project
        .read(`.ralph/runs/${id}/events.jsonl`)
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line)),
    );
}

test('a loop that is cancelled while its stop hook runs does not come back, 200 times', async () => {
  const project = repo();
  const env = testEnv({});
  const [one, other] = [hookProcess(project, env), hookProcess(project, env)];
  const stops = { block: 0, none: 0 };
  for (let round = 0; round < 200; round++) {
    await one('UserPromptExpansion', START);
    const at = Date.now() + 2;
    // Now the one is a little earlier, now the other.
    const [stopped, cancelled] = await Promise.all([
      one('Stop', { last_assistant_message: 'not yet' }, at + (round % 4 === 0 ? 1 : 0)),
      other('UserPromptExpansion', CANCEL, at + (round % 3)),
    ]);
    expect(cancelled.reason).toContain('Cancelled the Ralph loop');
    stops[stopped.decision === 'block' ? 'block' : 'none']++;
    expect(existsSync(project.path(STATE)), `round ${round}`).toBe(false);
    expect(await one('Stop', { last_assistant_message: 'again' })).toEqual({});
  }
  // Else this has shown nothing: sometimes the stop was first, sometimes the cancel.
  expect(Math.min(stops.block, stops.none)).toBeGreaterThan(0);
  for (const ledger of ledgers(project)) {
    expect(ledger.filter(({ type }) => type === 'run-ended').length).toBe(1);
    expect(ledger.at(-1)).toMatchObject({ type: 'run-ended', result: { stopReason: 'cancelled' } });
  }
});

test('a promise and a cancel at the same moment: the loop ends once', { tags: 'promise' }, async () => {
  const project = repo();
  const env = testEnv({});
  const [one, other] = [hookProcess(project, env), hookProcess(project, env)];
  for (let round = 0; round < 40; round++) {
    await one('UserPromptExpansion', START);
    const at = Date.now() + 2;
    const [stopped, cancelled] = await Promise.all([
      one('Stop', { last_assistant_message: DONE }, at),
      other('UserPromptExpansion', CANCEL, at + (round % 4)),
    ]);
    const isDone = stopped.systemMessage?.includes('PROMISE_ACCEPTED') ?? false;
    expect(cancelled.reason?.includes('Cancelled'), `round ${round}`).toBe(!isDone);
    expect(existsSync(project.path(STATE))).toBe(false);
    const [last] = ledgers(project).slice(-1);
    const ends = last?.filter(({ type }) => type === 'run-ended') ?? [];
    expect(ends).toMatchObject([{ result: { stopReason: isDone ? 'promise_accepted' : 'cancelled' } }]);
  }
});

test('two stop hooks at once count two iterations, and the ledger stays a chain', async () => {
  const project = repo();
  const env = testEnv({});
  const [one, other] = [hookProcess(project, env), hookProcess(project, env)];
  await one('UserPromptExpansion', START);
  for (let round = 0; round < 30; round++) {
    const at = Date.now() + 2;
    const said = { last_assistant_message: `not yet ${round}` };
    for (const answer of await Promise.all([one('Stop', said, at), other('Stop', said, at)]))
      expect(answer.decision).toBe('block');
  }
  expect(parseState(project.read(STATE))).toMatchObject({ iteration: 61 });
  const [ledger = []] = ledgers(project);
  expect(ledger.map(({ seq }) => seq)).toEqual(ledger.map((_, at) => at + 1));
  const shown = execFileSync(process.execPath, [BIN, 'log', '--json'], { cwd: project.dir, env });
  expect(shown.toString()).not.toContain('does not follow');
});

test('two sessions at once: neither touches the loop of the other', async () => {
  const project = repo();
  const env = testEnv({});
  const [one, other] = [hookProcess(project, env), hookProcess(project, env)];
  await one('UserPromptExpansion', START);
  await other('UserPromptExpansion', { ...START, session_id: 's2' });
  for (let round = 0; round < 30; round++) {
    const at = Date.now() + 2;
    await Promise.all([
      one('Stop', { last_assistant_message: 'no' }, at),
      other('Stop', { last_assistant_message: 'no', session_id: 's2' }, at),
    ]);
  }
  await Promise.all([
    one('UserPromptExpansion', CANCEL),
    other('Stop', { last_assistant_message: 'no', session_id: 's2' }),
  ]);
  const left = listSessions(project.dir, env);
  expect(left).toMatchObject([{ state: { sessionId: 's2', iteration: 32 }, isChanged: false }]);
});

/** A check that says that it runs, and then waits for as long as nobody lets it go. */
const HELD = '--check "touch running; cat gate"';

function heldStop(project: Repo) {
  execFileSync('mkfifo', [project.path('gate')]);
  const input = { session_id: 's1', prompt_id: 'p1', cwd: project.dir, last_assistant_message: DONE };
  const env = { CLAUDE_PROJECT_DIR: project.dir };
  return startRalph(['hook', 'claude', 'Stop'], { cwd: project.dir, env, input: JSON.stringify(input) });
}

async function running(project: Repo): Promise<void> {
  while (!existsSync(project.path('running'))) await new Promise(setImmediate);
}

test.each(['by command', 'by deleting its file'])(
  'a loop that is cancelled %s while a check runs: the check ends, and nothing is written',
  async how => {
    const project = repo();
    const hook = hookProcess(project, testEnv({}));
    await hook(
      'UserPromptExpansion',
      command('ralph-loop', `x --completion-promise DONE --min-tool-calls 0 ${HELD}`),
    );
    const stopping = heldStop(project);
    await running(project);
    if (how === 'by command') await hook('UserPromptExpansion', CANCEL);
    else execFileSync('rm', [project.path(STATE)]);
    expect(await stopping.finished).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(existsSync(project.path(STATE))).toBe(false);
    expect(findSession(project.dir, 's1')).toBeUndefined();
    const [ledger = []] = ledgers(project);
    expect(ledger.at(-1)).toMatchObject({ type: 'run-ended', result: { stopReason: 'cancelled' } });
  },
);

test('a loop that the user left while a check ran is not sent back to', async () => {
  const project = repo();
  const hook = hookProcess(project, testEnv({}));
  const args = `x --completion-promise DONE --min-tool-calls 0 --check "touch running; cat gate; false"`;
  await hook('UserPromptExpansion', command('ralph-loop', args));
  const stopping = heldStop(project);
  await running(project);
  await hook('UserPromptSubmit', { prompt_id: 'p2', prompt: 'What time is it?' });
  execFileSync('sh', ['-c', 'echo > gate'], { cwd: project.dir });
  expect((await stopping.finished).stdout).toBe('');
  expect(parseState(project.read(STATE))).toMatchObject({ active: false, iteration: 1 });
});
