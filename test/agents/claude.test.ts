import { describe, expect, test } from 'vitest';
import { claude } from '../../src/agents/claude/adapter.ts';
import { fold, line, read } from './reading.ts';

const usage = {
  input_tokens: 3,
  cache_creation_input_tokens: 20,
  cache_read_input_tokens: 100,
  output_tokens: 1,
};

const says = (text: string, extra: object = {}, message: object = {}) =>
  line({
    type: 'assistant',
    message: { id: 'm1', model: 'opus', content: [{ type: 'text', text }], ...message },
    ...extra,
  });

const result = (fields: object) =>
  line({
    type: 'result',
    subtype: 'success',
    is_error: false,
    num_turns: 1,
    result: '<promise>DONE</promise>',
    ...fields,
  });

const spent = (inputTokens: number) => ({
  inputTokens,
  outputTokens: 2,
  cacheReadInputTokens: 10,
  cacheCreationInputTokens: 5,
});

describe('words', () => {
  test('are what the assistant says, and nothing else', () => {
    expect(read(claude, says('hello'))).toEqual([{ kind: 'text', text: 'hello', message: 'm1' }]);
  });

  test('the text of a result counts only when it is all there is, never when it repeats or echoes', () => {
    const claimed = (...lines: string[]) => fold(claude, lines).claim.found;
    expect(claimed(result({}))).toBe(true);
    expect(claimed(says('not yet'), result({}))).toBe(false);
    expect(claimed(result({ num_turns: 0, local_command: 'custom' }))).toBe(false);
    expect(claimed(result({ num_turns: 0 }))).toBe(false);
    expect(claimed(result({ is_error: true }))).toBe(false);
  });

  test('a prompt that ended as a slash command is no good end', () => {
    expect(fold(claude, [result({ num_turns: 0, local_command: 'custom' })]).result?.ok).toBe(false);
  });

  test('a tool result with the tag in it is no claim', () => {
    const content = [{ type: 'tool_result', tool_use_id: 't1', content: '<promise>DONE</promise>' }];
    expect(fold(claude, [line({ type: 'user', message: { content } })]).claim.found).toBe(false);
  });

  test('a user record is somebody else talking: a hook, a nudge, a replay', () => {
    const text = '<promise>DONE</promise>';
    expect(read(claude, line({ type: 'user', message: { content: text } }))).toEqual([]);
    expect(
      read(claude, line({ type: 'user', isSynthetic: true, message: { content: [{ type: 'text', text }] } })),
    ).toEqual([]);
  });

  test('thinking and sub-agents are asides', () => {
    const thinking = says('', {}, { content: [{ type: 'thinking', thinking: '<promise>DONE</promise>' }] });
    expect(read(claude, thinking)).toEqual([
      { kind: 'aside', from: 'thinking', text: '<promise>DONE</promise>' },
    ]);
    expect(read(claude, says('<promise>DONE</promise>', { parent_tool_use_id: 't1' }))).toEqual([
      { kind: 'aside', from: 'subagent', text: '<promise>DONE</promise>' },
    ]);
  });

  test('what the client says in the place of the model is not its own words', () => {
    const synthetic = { model: '<synthetic>' };
    expect(read(claude, says('Goal set: <promise>DONE</promise>', {}, synthetic))).toEqual([
      { kind: 'progress', text: 'Goal set: <promise>DONE</promise>' },
    ]);
    const failed = read(
      claude,
      says('API Error: 529', { is_api_error_message: true, api_error_status: 529 }, synthetic),
    );
    expect(failed).toEqual([
      {
        kind: 'trouble',
        retrying: false,
        trouble: { class: 'transient', message: 'API Error: 529', status: 529 },
      },
    ]);
  });

  test('fragments are left out, the whole comes later', () => {
    const delta = {
      type: 'content_block_delta',
      delta: { type: 'text_delta', text: '<promise>DONE</promise>' },
    };
    expect(read(claude, line({ type: 'stream_event', event: delta }))).toEqual([]);
  });
});

describe('usage', () => {
  test('is not added up over the blocks of one message', () => {
    const turn = fold(claude, [
      says('a', {}, { usage }),
      says('b', {}, { usage }),
      says('c', {}, { id: 'm2', usage }),
    ]);
    expect(turn.usage.tokens).toEqual({ input: 246, output: 2, cacheRead: 200, cacheWrite: 40 });
  });

  test('of the session replaces what the messages said, over all models; the last result counts', () => {
    const first = result({ total_cost_usd: 0.1, usage, modelUsage: { opus: spent(100) } });
    const last = result({ total_cost_usd: 0.3, usage, modelUsage: { opus: spent(200), haiku: spent(7) } });
    const turn = fold(claude, [says('a', {}, { usage }), first, last]);
    expect(turn.usage).toEqual({
      tokens: { input: 237, output: 4, cacheRead: 20, cacheWrite: 10 },
      cost: 0.3,
      costSource: 'agent',
    });
  });

  test('of messages after a result comes on top of it', () => {
    const total = result({ total_cost_usd: 0.1, modelUsage: { opus: spent(100) } });
    const turn = fold(claude, [says('a', {}, { usage }), total, says('b', {}, { id: 'm2', usage })]);
    expect(turn.usage).toMatchObject({ tokens: { input: 238, output: 3 }, cost: 0.1 });
  });

  test('of an old client, without modelUsage, is that of the result', () => {
    expect(fold(claude, [result({ usage })]).usage.tokens).toEqual({
      input: 123,
      output: 1,
      cacheRead: 100,
      cacheWrite: 20,
    });
  });
});

describe('the end', () => {
  test('is bad when is_error says so, whatever the subtype', () => {
    const turn = fold(claude, [result({ is_error: true, result: 'API Error: 500', api_error_status: 500 })]);
    expect(turn.result).toEqual({ ok: false, error: 'API Error: 500' });
    expect(turn.trouble).toEqual({ class: 'transient', message: 'API Error: 500', status: 500 });
  });

  test.each([
    [400, 'prompt is too long: 210000 tokens', 'context-overflow'],
    [400, 'Your credit balance is too low', 'quota'],
    [400, 'tools.0: bad schema', 'config'],
    [401, 'x', 'auth'],
    [429, 'You exceeded your current quota', 'quota'],
    [429, 'x', 'rate-limit'],
  ])('with status %i and %j is %s', (status, message, cls) => {
    const turn = fold(claude, [result({ is_error: true, result: message, api_error_status: status })]);
    expect(turn.trouble?.class).toBe(cls);
  });

  test('at a limit of the user is no trouble', () => {
    const record = {
      subtype: 'error_max_turns',
      is_error: true,
      errors: ['Reached maximum number of turns (2)'],
    };
    const turn = fold(claude, [result(record)]);
    expect(turn.result).toEqual({ ok: false, error: 'Reached maximum number of turns (2)' });
    expect(turn.trouble).toBeUndefined();
  });

  test('is found whatever the order of the keys', () => {
    expect(fold(claude, ['{"num_turns":2,"is_error":false,"type":"result"}']).result).toEqual({ ok: true });
  });
});

describe('tools', () => {
  test('a command that failed tells its exit code', () => {
    const content = [
      { type: 'tool_result', tool_use_id: 't1', is_error: true, content: 'Exit code 3\noops' },
    ];
    expect(read(claude, line({ type: 'user', message: { content } }))).toEqual([
      {
        kind: 'tool-end',
        id: 't1',
        ok: false,
        exitCode: 3,
        output: { preview: 'Exit code 3\noops', lines: 2, chars: 16 },
      },
    ]);
  });

  test('a file that begins like that has no exit code', () => {
    const content = [
      { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'Exit code 3' }] },
    ];
    expect(read(claude, line({ type: 'user', message: { content } }))).toMatchObject([
      { ok: true, output: { chars: 11 } },
    ]);
  });

  test('of a sub-agent are marked as such', () => {
    const block = { type: 'tool_use', id: 't2', name: 'Bash', input: { command: 'ls' } };
    expect(read(claude, says('', { parent_tool_use_id: 't1' }, { content: [block] }))).toEqual([
      { kind: 'tool-start', id: 't2', name: 'Bash', summary: 'ls', subagent: true },
    ]);
  });

  test('TodoWrite is a tool and a todo list', () => {
    const todos = [
      { content: 'one', status: 'completed' },
      { content: 'two', status: 'in_progress' },
      { content: 'three', status: 'pending' },
    ];
    const block = { type: 'tool_use', id: 't1', name: 'TodoWrite', input: { todos } };
    expect(read(claude, says('', {}, { content: [block] }))).toMatchObject([
      { kind: 'tool-start', name: 'TodoWrite' },
      {
        kind: 'todo',
        items: [
          { text: 'one', status: 'done' },
          { text: 'two', status: 'active' },
          { text: 'three', status: 'pending' },
        ],
      },
    ]);
  });
});
