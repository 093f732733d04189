/** A loop changes its face: from a session to an outer loop and back. One run, one ledger, nothing typed twice. */
import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseState } from '../../src/store/session-file.ts';
import { writesFile } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { type Repo, repo } from '../rig/repo.ts';

const STATE = '.claude/ralph-loop.local.md';
const TASK = 'Write made.txt with "two words" in it';

async function hook(project: Repo, event: string, more: object = {}) {
  const input = JSON.stringify({ session_id: 's1', prompt_id: 'p1', cwd: project.dir, ...more });
  const env = { CLAUDE_PROJECT_DIR: project.dir };
  const { stdout } = await ralph(['hook', 'claude', event], { cwd: project.dir, env, input });
  return stdout === '' ? {} : JSON.parse(stdout);
}

const command = (project: Repo, name: string, args = '') =>
  hook(project, 'UserPromptExpansion', { command_name: `ralph:${name}`, command_args: args });

const writes = (file: string, words: string) => writesFile(file, `${file}\n`, words);

function ledger(project: Repo) {
  const [id, ...others] = readdirSync(project.path('.ralph/runs'));
  expect(others).toEqual([]);
  const lines = project.read(`.ralph/runs/${id}/events.jsonl`).trimEnd().split('\n');
  return lines.map(line => JSON.parse(line));
}

test('a loop of a session continues in a terminal, with its task, checks and promise, in the same ledger', async () => {
  const project = repo();
  await command(project, 'ralph-loop', `${TASK} --completion-promise "ALL DONE" --check "test -e made.txt"`);
  await hook(project, 'PreToolUse', { tool_name: 'Glob', tool_input: {} });
  await hook(project, 'Stop', { last_assistant_message: '<promise>ALL DONE</promise>' });
  const told = await command(project, 'hand-over');
  expect(told.reason).toContain('ralph continue-here');
  expect(parseState(project.read(STATE))).toMatchObject({ active: false, iteration: 2 });
  const agent = await fakeAgent('claude', writes('made.txt', 'Made it. <promise>ALL DONE</promise>'));
  const ended = await ralph(['continue-here', '--agent', 'claude', '--json'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  expect([ended.code, ended.stderr]).toEqual([0, expect.any(String)]);
  expect(JSON.parse(ended.stdout)).toMatchObject({
    stopReason: 'all_checks_passed',
    iterations: [{ iteration: 1 }, { iteration: 2, allChecksPassed: true, completionTagFound: true }],
  });
  expect(existsSync(project.path(STATE))).toBe(false);
  const prompt = project.read(
    `.ralph/runs/${readdirSync(project.path('.ralph/runs'))[0]}/iterations/0002/prompt.md`,
  );
  expect(prompt).toContain(TASK);
  expect(prompt).toContain('<promise>ALL DONE</promise>');
  const events = ledger(project);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  expect(events.filter(({ type }) => type === 'run-resumed')).toMatchObject([{ command: 'loop' }]);
  const begun = events.filter(({ type }) => type === 'iteration-started');
  expect(begun.map(({ iteration }) => iteration)).toEqual([1, 2, 2]);
  // The session has nothing to do with it any more.
  expect(await hook(project, 'Stop', { last_assistant_message: 'x' })).toEqual({});
  const { stdout } = await ralph(['status', '--json'], { cwd: project.dir });
  expect(JSON.parse(stdout).runs).toMatchObject([{ state: 'done', ledger: { kind: 'intact' } }]);
});

test('an outer loop continues in a session, and goes back to a terminal from there', async () => {
  const project = repo();
  const agent = await fakeAgent(
    'claude',
    writes('a.txt', 'Not yet.'),
    writes('made.txt', 'There. <promise>OK</promise>'),
  );
  const path = [agent.bin];
  const flags = ['--check', 'test -e made.txt', '--completion-tag', 'OK', '--max-iterations', '1'];
  expect((await ralph(['loop', TASK, ...flags, '--agent', 'claude'], { cwd: project.dir, path })).code).toBe(
    1,
  );
  const taken = await command(project, 'hand-over');
  expect(JSON.stringify(taken)).toContain('continues in this session at iteration 2');
  expect(taken.hookSpecificOutput.additionalContext).toContain(TASK);
  expect(parseState(project.read(STATE))).toMatchObject({
    task: TASK,
    checks: ['test -e made.txt'],
    completionPromise: 'OK',
    iteration: 2,
    maxIterations: 2,
  });
  const { stdout } = await ralph(['status', '--json'], { cwd: project.dir });
  expect(JSON.parse(stdout).runs).toMatchObject([{ state: 'running', command: 'session', iteration: 2 }]);
  await ralph(['session', 'status'], { cwd: project.dir });
  const back = await ralph(['continue-here', '--agent', 'claude'], { cwd: project.dir, path });
  expect(back.code).toBe(0);
  expect(ledger(project).at(-1)).toMatchObject({ type: 'run-ended', result: { success: true } });
});

test('what cannot be handed over is refused with its reason', async () => {
  const project = repo();
  expect((await command(project, 'hand-over')).reason).toContain('no `ralph loop` in this project');
  const none = await ralph(['continue-here'], { cwd: project.dir });
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('there is no in-session loop here')]);
});
