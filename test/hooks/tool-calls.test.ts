/** Tool calls are counted at the stop, from what each host has written down: recordings of real sessions of theirs. */
import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DIALECTS } from '../../src/agents/registry.ts';
import { countCalls } from '../../src/agents/transcript.ts';
import type { SessionState } from '../../src/domain/session/session.ts';
import { runHook } from '../../src/hooks/main.ts';
import { parseState, writeSession } from '../../src/store/session-file.ts';
import { type Repo, repo } from '../rig/repo.ts';

const STATE = '.claude/ralph-loop.local.md';
const DONE = '<promise>DONE</promise>';
const NO_WORK = 'Promise detected, but no tool calls/work were performed';
const recordingOf = (host: string) =>
  readFileSync(join(import.meta.dirname, `transcripts/${host}.jsonl`), 'utf8');

const stateOf = (project: Repo): SessionState => {
  const state = parseState(project.read(STATE));
  if ('problem' in state) throw new Error(state.problem);
  return state;
};

const hosts = DIALECTS.filter(dialect => dialect.calls !== null).map(({ host }) => host);

test.each(hosts)('%s: three calls are in its transcript, however often a record is written', host => {
  const dialect = DIALECTS.find(each => each.host === host);
  const project = repo({ 't.jsonl': recordingOf(host).repeat(2) });
  const count = (since: string, from = 0) =>
    dialect?.calls && countCalls(project.path('t.jsonl'), from, Date.parse(since), dialect.calls);
  expect(count('2026-11-15T00:00:00Z')?.calls).toBe(3);
  // A loop that began later, by the time of the records and by the position.
  expect(count('2027-01-01T00:00:00Z')?.calls).toBe(0);
  const bytes = Buffer.byteLength(project.read('t.jsonl'));
  expect(count('2026-11-15T00:00:00Z', bytes)).toEqual({ calls: 0, end: bytes });
});

const UNKNOWN: Readonly<Record<string, readonly object[]>> = {
  claude: [
    { type: 'assistant', message: { content: [{ type: 'tool_use', id: 'a', name: 'No' }] } },
    {
      type: 'user',
      message: {
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'a',
            is_error: true,
            content: '<tool_use_error>Error: No such tool available: No</tool_use_error>',
          },
        ],
      },
    },
  ],
  codex: [
    { type: 'response_item', payload: { type: 'function_call', name: 'no', call_id: 'a' } },
    {
      type: 'response_item',
      payload: { type: 'function_call_output', call_id: 'a', output: 'unsupported call: no' },
    },
  ],
  copilot: [
    { type: 'tool.execution_start', data: { toolCallId: 'a', toolName: 'no' } },
    {
      type: 'tool.execution_complete',
      data: { toolCallId: 'a', success: false, error: { message: "Tool 'no' does not exist." } },
    },
  ],
  qwen: [
    { type: 'assistant', message: { parts: [{ functionCall: { id: 'a', name: 'no' } }] } },
    {
      type: 'tool_result',
      toolCallResult: { callId: 'a', status: 'error', errorType: 'tool_not_registered' },
    },
  ],
  gemini: [
    {
      type: 'gemini',
      toolCalls: [{ id: 'a', status: 'error', resultDisplay: 'Tool "no" not found. Did you mean' }],
    },
  ],
};

test.each(hosts)('%s: the call of a tool that there is not is no work', host => {
  const dialect = DIALECTS.find(each => each.host === host);
  const lines = (UNKNOWN[host] ?? []).map(record => `${JSON.stringify(record)}\n`);
  const project = repo({ 't.jsonl': recordingOf(host) + lines.join('') });
  const count = dialect?.calls && countCalls(project.path('t.jsonl'), 0, 0, dialect.calls);
  expect([lines.length > 0, count?.calls]).toEqual([true, 3]);
});

/** A session of Claude Code in which a loop runs: what it writes down, and its stops. */
function session(args: string) {
  const project = repo();
  const path = project.path('t.jsonl');
  const env = { CLAUDE_PROJECT_DIR: project.dir };
  const base = { session_id: 's', prompt_id: 'p', cwd: project.dir, transcript_path: path };
  let ids = 0;
  const call = (event: string, more: object) =>
    runHook('claude', event, JSON.stringify({ ...base, ...more }), env).then(
      answer => (answer === '' ? {} : JSON.parse(answer)) as { reason?: string; systemMessage?: string },
    );
  const write = (block: object, more: object = {}) => {
    const message = { id: `m${ids++}`, role: 'assistant', model: 'm', content: [block] };
    const record = { type: 'assistant', isSidechain: false, message, timestamp: new Date().toISOString() };
    appendFileSync(path, `${JSON.stringify({ ...record, ...more })}\n`);
  };
  return {
    project,
    path,
    call,
    tool: (more: object = {}) => write({ type: 'tool_use', id: `t${ids}`, name: 'Bash' }, more),
    start: () => call('UserPromptExpansion', { command_name: 'ralph:ralph-loop', command_args: args }),
    stop(said: string, more: object = {}) {
      write({ type: 'text', text: said });
      return call('Stop', { last_assistant_message: said, ...more });
    },
  };
}

describe('a loop', () => {
  test('that begins in the middle of a session does not count what was before it', async () => {
    const { start, stop, tool, project } = session('x --completion-promise DONE');
    tool({ timestamp: '2026-01-01T00:00:00Z' });
    tool({ timestamp: undefined });
    await start();
    expect((await stop(DONE)).reason).toContain(NO_WORK);
    tool();
    expect((await stop('not yet')).reason).toContain('you did not output');
    expect(stateOf(project)).toMatchObject({ toolCalls: 1, iteration: 3 });
    expect((await stop(DONE)).systemMessage).toContain('PROMISE_ACCEPTED');
  });

  test('wants as many calls as --min-tool-calls says, over all its turns', async () => {
    const { start, stop, tool } = session('x --completion-promise DONE --min-tool-calls 3');
    await start();
    tool();
    tool();
    expect((await stop(DONE)).reason).toContain(NO_WORK);
    tool();
    expect((await stop(DONE)).systemMessage).toContain('PROMISE_ACCEPTED');
  });

  test.each([
    ['a sub-agent made', { isSidechain: true }],
    ['the client made up', { message: { model: '<synthetic>', content: [{ type: 'tool_use', id: 'x' }] } }],
    ['the user quoted', { type: 'user' }],
  ])('does not count a call that %s', async (_, more) => {
    const { start, stop, tool } = session('x --completion-promise DONE');
    await start();
    tool(more);
    expect((await stop(DONE)).reason).toContain(NO_WORK);
  });

  test('that was left and woken does not count what was called meanwhile', async () => {
    const { start, stop, tool, call } = session('x --completion-promise DONE');
    await start();
    tool();
    await stop('an answer', { prompt_id: 'p2' });
    await call('UserPromptExpansion', { command_name: 'ralph:ralph-loop', command_args: '' });
    expect((await stop(DONE)).reason).toContain(NO_WORK);
  });

  test('keeps its count when the transcript begins anew, is cut, or is compacted', async () => {
    const { start, stop, tool, path, project } = session('x --completion-promise DONE --min-tool-calls 4');
    await start();
    tool();
    await stop('not yet');
    writeFileSync(path, ''); // another file, shorter than what was read
    tool();
    await stop('no');
    expect(stateOf(project)).toMatchObject({ toolCalls: 2 });
    writeFileSync(path, 'x'.repeat(100_000)); // longer, and no line begins where the last count ended
    appendFileSync(path, '\n');
    tool();
    await stop('not yet');
    // A compaction writes down again what was before the loop.
    tool({ timestamp: '2026-01-01T00:00:00Z' });
    expect((await stop(DONE)).reason).toContain(NO_WORK);
    tool();
    expect((await stop(DONE)).systemMessage).toContain('PROMISE_ACCEPTED');
  });

  test('waits a moment for a transcript that is written late, and reads half a line when it is whole', async () => {
    const { start, stop, project, path } = session('x --completion-promise DONE');
    await start();
    const record = { type: 'assistant', message: { id: 'm', content: [{ type: 'tool_use', id: 't' }] } };
    const line = `${JSON.stringify(record)}\n`;
    appendFileSync(path, line.slice(0, 30));
    const answer = stop('no more than this', { last_assistant_message: DONE, transcript_path: path });
    expect(existsSync(project.path(STATE))).toBe(true);
    truncateSync(path, 0);
    appendFileSync(path, line);
    expect((await answer).systemMessage).toContain('PROMISE_ACCEPTED');
  });

  test('in a session that is not saved counts its calls before they run', async () => {
    const { start, call, project } = session('x --completion-promise DONE --min-tool-calls 2');
    await start();
    const before = { tool_name: 'Read', tool_input: { file_path: 'a.ts' } };
    const claim = { last_assistant_message: DONE };
    await call('PreToolUse', before);
    expect((await call('Stop', claim)).reason).toContain(NO_WORK);
    await call('PreToolUse', { ...before, agent_id: 'a' });
    await call('PreToolUse', { ...before, transcript_path: null });
    expect(stateOf(project)).toMatchObject({ toolCalls: 2 });
    expect((await call('Stop', claim)).systemMessage).toContain('PROMISE_ACCEPTED');
  });

  test('does not count a call twice that a hook counted before the transcript was there', async () => {
    const { start, stop, tool, call } = session('x --completion-promise DONE --min-tool-calls 2');
    await start();
    await call('PreToolUse', { tool_name: 'Read', tool_input: { file_path: 'a.ts' } });
    tool();
    expect((await stop(DONE)).reason).toContain(NO_WORK);
  });
});

test('OpenCode has no transcript: its plugin counts, and the peek before a stop changes nothing', async () => {
  const project = repo();
  const state = parseState('---\niteration: 1\nmax_iterations: 0\nsession_id: "s"\n---\nDo it');
  if ('problem' in state) throw new Error(state.problem);
  writeSession(project.path(STATE), { ...state, completionPromise: 'DONE' });
  const call = (event: string, counted_calls: unknown) => {
    const input = { session_id: 's', cwd: project.dir, last_assistant_message: DONE, counted_calls };
    return runHook('opencode', event, JSON.stringify(input), {});
  };
  expect(await call('text.complete', 0)).toContain(NO_WORK);
  expect(await call('text.complete', -1)).toContain(NO_WORK);
  expect(await call('text.complete', '1')).toContain(NO_WORK);
  expect(await call('text.complete', 1)).toContain('PROMISE_ACCEPTED');
  expect(stateOf(project)).toMatchObject({ toolCalls: 0, iteration: 1 });
  expect(await call('step-finish', 1)).toContain('PROMISE_ACCEPTED');
});
