/** Tool calls that an agent's own permissions refuse, in the fields that each agent has for it; the guard's refusals are none of them. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createConversation } from '../../src/agents/acp/adapter.ts';
import { claude } from '../../src/agents/claude/adapter.ts';
import { codex } from '../../src/agents/codex/adapter.ts';
import { findAdapter } from '../../src/agents/registry.ts';
import { refusal } from '../../src/hooks/guard.ts';
import * as stream from '../rig/claude-stream.ts';
import { fold, line } from './reading.ts';

const recorded = (agent: string, name: string) => {
  const file = new URL(`../streams/${agent}/${name}.jsonl`, import.meta.url);
  return fold(findAdapter(agent), readFileSync(file, 'utf8').trimEnd().split('\n')).refused;
};

describe('in the stream of a real agent', () => {
  test.each([
    ['claude', 'permission-denied', { calls: 1, tools: ['Bash'] }],
    ['qwen', 'refused', { calls: 2, tools: ['run_shell_command', 'write_file'] }],
    ['gemini', 'refused', { calls: 1, tools: ['run_shell_command'] }],
    ['copilot', 'noapprove', { calls: 1, tools: ['bash'] }],
    // Its sandbox stops a command without a record, and OpenCode has words for it and no field.
    ['codex', 'refused', undefined],
    ['opencode', 'refused', undefined],
  ])('%s: %s', (agent, name, expected) => {
    expect(recorded(agent, name)).toEqual(expected);
  });

  test.each(['claude', 'qwen', 'gemini', 'copilot'])(
    '%s: what the guard refuses is its own affair',
    agent => {
      expect(recorded(agent, 'guard')).toBeUndefined();
    },
  );
});

describe('Claude Code', () => {
  const denied = (id: string, tool_name: string) => ({ tool_use_id: id, tool_name, tool_input: {} });
  const turn = (...records: readonly object[]) => fold(claude, records.map(line)).refused;

  test('lists them at the end, each once, also without a record of its own', () => {
    const denials = [denied('1', 'Write'), denied('2', 'Write'), denied('3', 'Bash')];
    expect(
      turn(
        stream.toolUse('1', 'Write', {}),
        { type: 'system', subtype: 'permission_denied', tool_name: 'Write', tool_use_id: '1', message: 'no' },
        stream.toolResult('1', 'no', true),
        stream.result({ permission_denials: denials }),
      ),
    ).toEqual({ calls: 3, tools: ['Write', 'Bash'] });
  });

  test('whose turn was cut off has told of them already', () => {
    expect(
      turn({ type: 'system', subtype: 'permission_denied', tool_name: 'Write', tool_use_id: '1' }),
    ).toEqual({ calls: 1, tools: ['Write'] });
  });

  test('lists what the guard refused, too, which is left out', () => {
    const { answer } = refusal(['`rm -rf ~`: it deletes your home.']);
    const reason = answer.kind === 'deny' ? answer.reason : '';
    expect(
      turn(
        stream.toolUse('1', 'Bash', {}),
        stream.toolResult('1', `PreToolUse:Bash hook error: ${reason}`, true),
        stream.toolUse('2', 'Write', {}),
        stream.toolResult('2', 'not granted', true),
        stream.result({ permission_denials: [denied('1', 'Bash'), denied('2', 'Write')] }),
      ),
    ).toEqual({ calls: 1, tools: ['Write'] });
  });

  test('is not refused anything by a tool that fails, or that prints of refusals', () => {
    expect(
      turn(
        stream.toolUse('1', 'Bash', {}),
        stream.toolResult('1', 'permission denied: permission_denials', true),
        stream.result({ permission_denials: [] }),
      ),
    ).toBeUndefined();
  });
});

test('Codex: what was declined', () => {
  const item = { id: 'item_0', type: 'command_execution', command: 'ls', aggregated_output: '' };
  const turn = fold(codex, [
    line({ type: 'item.started', item: { ...item, status: 'in_progress' } }),
    line({ type: 'item.completed', item: { ...item, exit_code: -1, status: 'declined' } }),
  ]);
  expect(turn.refused).toEqual({ calls: 1, tools: ['shell'] });
});

describe('the Agent Client Protocol', () => {
  const asked = (permissions: 'skip' | 'host', kinds: readonly string[]) => {
    const talk = createConversation({ prompt: 'x', cwd: '/', permissions });
    const hear = (message: object) => talk.hear(line({ jsonrpc: '2.0', ...message }));
    hear({ id: 1, result: { protocolVersion: 1 } });
    hear({ id: 2, result: { sessionId: 's' } });
    return hear({
      id: 'ask',
      method: 'session/request_permission',
      params: {
        sessionId: 's',
        toolCall: { toolCallId: 't', title: 'write a file', kind: 'edit' },
        options: kinds.map(kind => ({ kind, optionId: kind })),
      },
    });
  };
  const ALL = ['allow_once', 'reject_once'];
  test.each([
    ['skip', ALL, 'allow_once', false],
    ['host', ALL, 'reject_once', true],
    ['host', ['allow_once'], undefined, true],
    ['skip', ['reject_once'], 'reject_once', true],
  ] as const)('with %s and %j it is answered %s', (permissions, kinds, option, isRefused) => {
    const { events, say } = asked(permissions, kinds);
    expect(JSON.parse(say[0] ?? '').result.outcome.optionId).toBe(option);
    const calls = events.flatMap(event => (event.kind === 'trouble' ? [event.call] : []));
    expect(calls).toEqual(isRefused ? [{ id: 't' }] : []);
  });
});
