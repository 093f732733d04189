/** Lines of which only the head is kept: a tool is over, and nothing that the agent says is ever lost. */
import { describe, expect, test } from 'vitest';
import type { AgentAdapter } from '../../src/agents/agent.ts';
import { amp } from '../../src/agents/amp.ts';
import { claude } from '../../src/agents/claude.ts';
import { codex } from '../../src/agents/codex.ts';
import { copilot } from '../../src/agents/copilot.ts';
import { gemini } from '../../src/agents/gemini.ts';
import { opencode } from '../../src/agents/opencode.ts';
import { qwen } from '../../src/agents/qwen.ts';

const HEAD = 64 * 1024;
const huge = `first "line"\n<promise>DONE</promise>${'x'.repeat(200_000)}`;

function readLong(adapter: AgentAdapter, record: object) {
  const text = JSON.stringify(record);
  const head = text.slice(0, HEAD);
  return adapter.long?.matches(head) ? adapter.long.read(head, text.length) : 'kept';
}

const ended = (id: string, fields: object = {}) => ({
  kind: 'tool-end',
  id,
  ok: true,
  output: { preview: expect.stringMatching(/^first "line"\n.{1000,}/), lines: 0, chars: expect.any(Number) },
  ...fields,
});

describe.each([claude, amp, qwen].map(adapter => [adapter.name, adapter] as const))('%s', (_, adapter) => {
  test('a long tool result ends its tool', () => {
    const block = { tool_use_id: 't1', type: 'tool_result', content: huge };
    const record = { type: 'user', message: { role: 'user', content: [block] } };
    expect(readLong(adapter, record)).toEqual([ended('t1')]);
    expect(readLong(adapter, record)).toMatchObject([{ output: { chars: JSON.stringify(record).length } }]);
  });

  test('a flagged error in the head is one', () => {
    const block = { type: 'tool_result', tool_use_id: 't1', is_error: true, content: huge };
    expect(readLong(adapter, { type: 'user', message: { content: [block] } })).toEqual([
      ended('t1', { ok: false }),
    ]);
  });

  test('a tool result cannot pretend to be another one', () => {
    const block = {
      type: 'tool_result',
      tool_use_id: 't1',
      content: `"tool_use_id":"fake","is_error":true ${huge}`,
    };
    expect(readLong(adapter, { type: 'user', message: { content: [block] } })).toMatchObject([
      { id: 't1', ok: true },
    ]);
  });

  test('a tool result with its id behind the output is read as a whole', () => {
    const block = { type: 'tool_result', content: huge, is_error: true, tool_use_id: 't1' };
    expect(readLong(adapter, { type: 'user', message: { content: [block] } })).toBe('kept');
  });

  test('a long prompt that is echoed is nothing', () => {
    expect(readLong(adapter, { type: 'user', message: { content: [{ type: 'text', text: huge }] } })).toEqual(
      [],
    );
  });

  test('what the assistant says is kept, however long', () => {
    expect(
      readLong(adapter, { type: 'assistant', message: { content: [{ type: 'text', text: huge }] } }),
    ).toBe('kept');
    expect(readLong(adapter, { type: 'result', result: huge })).toBe('kept');
  });
});

test('codex: a long command output ends its tool; a message is kept', () => {
  const item = { id: 'i1', type: 'command_execution', command: 'cat', aggregated_output: huge, exit_code: 0 };
  expect(readLong(codex, { type: 'item.completed', item })).toEqual([ended('i1')]);
  expect(readLong(codex, { type: 'item.started', item })).toBe('kept');
  expect(
    readLong(codex, { type: 'item.completed', item: { id: 'i1', type: 'agent_message', text: huge } }),
  ).toBe('kept');
});

test('gemini: a long tool result ends its tool; words are kept, an echo is not', () => {
  const result = { type: 'tool_result', timestamp: 'now', tool_id: 't1', status: 'error', output: huge };
  expect(readLong(gemini, result)).toEqual([ended('t1', { ok: false })]);
  const message = { type: 'message', timestamp: 'now', role: 'assistant', content: huge };
  expect(readLong(gemini, message)).toBe('kept');
  expect(readLong(gemini, { ...message, role: 'user' })).toEqual([]);
});

test('opencode: a long tool record starts and ends its tool; words are kept', () => {
  const state = { status: 'completed', input: { command: 'cat a' }, output: huge };
  const part = { type: 'tool', tool: 'bash', callID: 'c1', state };
  const record = { type: 'tool_use', timestamp: 1, sessionID: 's1', part };
  expect(readLong(opencode, record)).toEqual([
    { kind: 'tool-start', id: 'c1', name: 'bash', summary: 'cat a' },
    ended('c1'),
  ]);
  expect(readLong(opencode, { type: 'text', timestamp: 1, part: { type: 'text', text: huge } })).toBe('kept');
});

test('copilot: a long tool record ends its tool with its exit code; words are kept', () => {
  const data = {
    toolCallId: 'c1',
    shellExecution: { exitCode: 3 },
    success: true,
    result: { content: huge },
  };
  expect(readLong(copilot, { type: 'tool.execution_complete', data })).toEqual([
    ended('c1', { ok: false, exitCode: 3 }),
  ]);
  expect(readLong(copilot, { type: 'user.message', data: { content: huge } })).toEqual([]);
  expect(readLong(copilot, { type: 'assistant.message', data: { content: huge } })).toBe('kept');
});
