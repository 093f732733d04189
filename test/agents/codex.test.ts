import { describe, expect, test } from 'vitest';
import { codex, unwrapShell } from '../../src/agents/codex/adapter.ts';
import { fold, line, read } from './reading.ts';

const started = (item: object) => read(codex, line({ type: 'item.started', item: { id: 'i1', ...item } }));
const completed = (item: object) =>
  read(codex, line({ type: 'item.completed', item: { id: 'i1', ...item } }));
const failed = (message: string) => line({ type: 'turn.failed', error: { message } });
const error = (message: string) => line({ type: 'error', message });

describe('errors', () => {
  test('a reconnection is trouble that the agent deals with', () => {
    expect(read(codex, error('Reconnecting... 1/2 (unexpected status 401 Unauthorized: no)'))).toMatchObject([
      { kind: 'trouble', retrying: true, trouble: { class: 'auth', status: 401 } },
    ]);
  });

  test('a turn that recovered has no trouble', () => {
    const turn = fold(codex, [
      error('Reconnecting... 1/2 (x)'),
      error('gone'),
      line({ type: 'turn.completed' }),
    ]);
    expect(turn.trouble).toBeUndefined();
    expect(turn.result).toEqual({ ok: true });
  });

  test('a failed turn is trouble and a bad end', () => {
    const turn = fold(codex, [failed('stream disconnected before completion')]);
    expect(turn.trouble?.class).toBe('transient');
    expect(turn.result).toEqual({ ok: false, error: 'stream disconnected before completion' });
  });

  test('an error among the items is a warning', () => {
    expect(completed({ type: 'error', message: 'Model metadata not found.' })).toEqual([
      { kind: 'progress', text: 'Model metadata not found.' },
    ]);
  });
});

describe('words', () => {
  test('are agent messages; reasoning is an aside; nothing is said with nothing', () => {
    expect(completed({ type: 'agent_message', text: 'hi' })).toEqual([{ kind: 'text', text: 'hi' }]);
    expect(completed({ type: 'agent_message', text: '' })).toEqual([]);
    expect(completed({ type: 'reasoning', text: 'hm' })).toEqual([
      { kind: 'aside', from: 'thinking', text: 'hm' },
    ]);
  });

  test('a command that prints the tag makes no claim', () => {
    const item = { type: 'command_execution', aggregated_output: '<promise>DONE</promise>', exit_code: 0 };
    expect(fold(codex, [line({ type: 'item.completed', item })]).claim.found).toBe(false);
  });
});

describe('tools', () => {
  test('a command is shown without the shell around it', () => {
    expect(
      started({ type: 'command_execution', command: "/bin/bash -lc 'npm test'", exit_code: null }),
    ).toEqual([{ kind: 'tool-start', id: 'i1', name: 'shell', summary: 'npm test' }]);
  });

  test.each([
    ["/bin/bash -lc 'echo a && cat b'", 'echo a && cat b'],
    [`/bin/bash -lc "cat '/tmp/one.txt'"`, "cat '/tmp/one.txt'"],
    [`bash -c 'it'"'"'s'`, "it's"],
    ["/usr/bin/zsh -lc 'it'\\''s'", "it's"],
    ['/bin/bash -lc "echo \\"\\$HOME\\""', 'echo "$HOME"'],
    ['/bin/bash -lc ls', 'ls'],
    ['git status', 'git status'],
    ['bash script.sh -c x', 'bash script.sh -c x'],
  ])('%s is %s', (command, script) => {
    expect(unwrapShell(command)).toBe(script);
  });

  test('a command of many megabytes is no problem', () => {
    const command = `/bin/bash -lc "${'x\\"'.repeat(4_000_000)}"`;
    expect(started({ type: 'command_execution', command })).toHaveLength(1);
  });

  test('a failed command tells its exit code', () => {
    const item = { type: 'command_execution', aggregated_output: 'no\n', exit_code: 3, status: 'failed' };
    expect(completed(item)).toEqual([
      { kind: 'tool-end', id: 'i1', ok: false, exitCode: 3, output: { preview: 'no\n', lines: 1, chars: 3 } },
    ]);
  });

  test.each([
    [
      'file_change',
      {
        changes: [
          { path: 'a', kind: 'add' },
          { path: 'b', kind: 'delete' },
        ],
      },
      'apply_patch',
      'add a, delete b',
    ],
    ['mcp_tool_call', { server: 'lab', tool: 'echo', arguments: { query: 'hi' } }, 'lab.echo', 'hi'],
    ['web_search', { query: 'ralph' }, 'web_search', 'ralph'],
    ['collab_tool_call', { tool: 'spawn_agent', prompt: 'say\nhi' }, 'spawn_agent', 'say hi'],
  ])('%s is a tool', (type, fields, name, summary) => {
    expect(started({ type, ...fields })).toEqual([{ kind: 'tool-start', id: 'i1', name, summary }]);
    expect(completed({ type, ...fields, status: 'completed' })).toMatchObject([
      { kind: 'tool-end', ok: true },
    ]);
    expect(completed({ type, ...fields, status: 'failed' })).toMatchObject([{ kind: 'tool-end', ok: false }]);
  });

  test('an MCP tool shows its answer', () => {
    const item = {
      type: 'mcp_tool_call',
      status: 'completed',
      result: { content: [{ type: 'text', text: 'echo: hi' }] },
    };
    expect(completed(item)).toMatchObject([{ output: { preview: 'echo: hi' } }]);
  });

  test('a todo list is a todo list each time it comes', () => {
    const items = [
      { text: 'one', completed: true },
      { text: 'two', completed: false },
    ];
    const todo = {
      kind: 'todo',
      items: [
        { text: 'one', status: 'done' },
        { text: 'two', status: 'pending' },
      ],
    };
    for (const type of ['item.started', 'item.updated', 'item.completed']) {
      expect(read(codex, line({ type, item: { id: 'i1', type: 'todo_list', items } }))).toEqual([todo]);
    }
  });
});

test('the cached tokens are among the input tokens already', () => {
  const usage = { input_tokens: 100, cached_input_tokens: 80, cache_write_input_tokens: 5, output_tokens: 9 };
  expect(fold(codex, [line({ type: 'turn.completed', usage })]).usage.tokens).toEqual({
    input: 100,
    output: 9,
    cacheRead: 80,
    cacheWrite: 5,
  });
});
