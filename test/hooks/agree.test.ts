/** Whatever happens in a session, in whatever order: after every hook the state file, the ledger and every reader say the same. */
import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runHook } from '../../src/hooks/main.ts';
import { readRun } from '../../src/report/read-run.ts';
import { overviewOf } from '../../src/store/overview.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { listRuns } from '../../src/store/run-file.ts';
import { findSession, parseState } from '../../src/store/session-file.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';
import { examples } from '../rig/thorough.ts';

const STATE = '.claude/ralph-loop.local.md';
const START = 'Fix it --completion-promise DONE --min-tool-calls 0 --max-iterations 6';

const command = (name: string, args = '') => [
  'UserPromptExpansion',
  { command_name: name, command_args: args },
];
const said = (last_assistant_message: string, more = {}) => ['Stop', { last_assistant_message, ...more }];
const HOOKS = {
  start: command('ralph:ralph-loop', START),
  wake: command('ralph:ralph-loop'),
  wrong: command('ralph:ralph-loop', 'x --max-iterations many'),
  cancel: command('ralph:cancel-ralph'),
  handOver: command('ralph:hand-over'),
  stop: said('Not yet.'),
  again: said('Not yet, again.'),
  empty: said(''),
  done: said('<promise>DONE</promise>'),
  blocked: said('<blocked>No key</blocked>'),
  waits: said('I wait.', { background_tasks: [{ type: 'shell', status: 'running', command: 'make' }] }),
  subagent: said('<promise>DONE</promise>', { agent_id: 'a' }),
  tool: ['PreToolUse', { tool_name: 'Glob', tool_input: { pattern: '*' } }],
  refused: ['PreToolUse', { tool_name: 'Bash', tool_input: { command: 'rm -rf /' } }],
  prompt: ['UserPromptSubmit', { prompt: 'What time is it?', prompt_id: 'p2' }],
  compacted: ['SessionStart', { source: 'compact' }],
} as const;
type Name = keyof typeof HOOKS;

/** The last run, as its ledger has it. */
function lastRun(project: Repo) {
  const paths = projectPaths(project.dir);
  const ids = listRuns(paths);
  const id = ids.at(-1);
  if (id === undefined) return undefined;
  const run = runPaths(paths, id);
  const entries: Record<string, unknown>[] = [];
  const { view, state } = readRun(id, run, entry => entries.push(entry));
  return { id, ids, overview: overviewOf(id, run), view, standing: state, entries };
}

function agree(project: Repo, after: string): void {
  const state = findSession(project.dir, 's')?.state;
  const run = lastRun(project);
  if (!run) {
    expect(state, after).toBeUndefined();
    return;
  }
  const { overview, view, standing, entries } = run;
  expect(
    entries.map(({ seq }) => seq),
    after,
  ).toEqual(entries.map((_, at) => at + 1));
  const ends = entries.filter(({ type }) => type === 'run-ended');
  expect(overview.ledger.kind, after).toBe('intact');
  if (!state) {
    expect([ends.length, entries.at(-1)?.type], after).toEqual([1, 'run-ended']);
    expect(overview.state, after).toMatch(/^(?:done|stopped)$/);
    expect(overview.stopReason, after).toBe(view.ending?.stopReason);
    expect(standing, after).toBe(overview.state);
    return;
  }
  expect(parseState(project.read(STATE)), after).toEqual(state);
  expect([state.runId, ends], after).toEqual([run.id, []]);
  const { iteration, active } = state;
  expect({ ...overview }, after).toMatchObject({ iteration, state: active ? 'running' : 'paused' });
  expect([view.iterations.length, standing], after).toEqual([iteration, 'running']);
  const finished = view.iterations.slice(0, -1).reduce((sum, each) => sum + (each.toolCalls ?? 0), 0);
  expect(finished, after).toBe(state.callsBefore);
}

const names = fc.constantFrom(...(Object.keys(HOOKS) as readonly Name[]));

test('hooks in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(names, { minLength: 3, maxLength: 14 }), async sequence => {
      const project = repo();
      const env = { ...process.env, CLAUDE_PROJECT_DIR: project.dir };
      for (const [at, name] of ['start' as const, ...sequence].entries()) {
        const [event, more] = HOOKS[name] as readonly [string, object];
        const input = { session_id: 's', prompt_id: 'p1', cwd: project.dir, ...more };
        await runHook('claude', event, JSON.stringify(input), env);
        agree(project, `${at}: ${name} after ${sequence.slice(0, at).join(' ')}`);
      }
      rmSync(project.dir, { recursive: true, force: true });
    }),
    examples(100),
  );
});

test('the two commands say what the readers say', async () => {
  const project = repo();
  const env = { ...process.env, CLAUDE_PROJECT_DIR: project.dir };
  for (const [name, standing, state] of [
    ['start', 'active', 'running'],
    ['stop', 'active', 'running'],
    ['prompt', 'dormant', 'paused'],
    ['wake', 'active', 'running'],
    ['cancel', undefined, 'stopped'],
  ] as const) {
    const [event, more] = HOOKS[name] as readonly [string, object];
    const input = { session_id: 's', prompt_id: 'p1', cwd: project.dir, ...more };
    await runHook('claude', event, JSON.stringify(input), env);
    agree(project, name);
    const shown = async (...words: readonly string[]) =>
      JSON.parse((await ralph([...words, '--json'], { cwd: project.dir })).stdout);
    const [session] = (await shown('session', 'status')).sessions;
    const run = (await shown('status')).runs.at(-1);
    expect([session?.standing, run.state]).toEqual([standing, state]);
    if (session) expect(session.state.iteration).toBe(run.iteration);
  }
});
