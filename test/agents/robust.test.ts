/** Nothing that comes out of a process may stop an adapter. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentAdapter } from '../../src/agents/agent.ts';
import { ADAPTERS } from '../../src/agents/registry.ts';
import { createTurnFold } from '../../src/domain/turn/turn.ts';
import { examples } from '../rig/thorough.ts';
import { read } from './reading.ts';

const TYPES = [
  ...['assistant', 'user', 'system', 'result', 'stream_event', 'rate_limit_event'],
  ...['thread.started', 'turn.started', 'turn.completed', 'turn.failed', 'error'],
  ...['item.started', 'item.updated', 'item.completed'],
  ...['step_start', 'step_finish', 'text', 'reasoning', 'tool_use', 'tool_result', 'init', 'message'],
  ...['assistant.message', 'assistant.reasoning', 'tool.execution_start', 'tool.execution_complete'],
  ...['session.error', 'session.info', 'session.tools_updated', 'model.call_failure', 'abort'],
];
const WORDS = [
  ...[
    'init',
    'api_retry',
    'compact_boundary',
    'permission_denied',
    'retry',
    'hook_response',
    'model_fallback',
  ],
  ...['agent_message', 'command_execution', 'file_change', 'mcp_tool_call', 'todo_list', 'web_search'],
  ...[
    'text',
    'thinking',
    'tool_use',
    'tool_result',
    'assistant',
    'TodoWrite',
    '<synthetic>',
    'rejected',
    '__proto__',
  ],
];
const KEYS = [
  ...[
    'type',
    'subtype',
    'message',
    'content',
    'item',
    'part',
    'data',
    'error',
    'usage',
    'modelUsage',
    'stats',
  ],
  ...[
    'models',
    'modelMetrics',
    'tokens',
    'cache',
    'state',
    'metadata',
    'input',
    'todos',
    'items',
    'status',
    'name',
  ],
  ...[
    'model',
    'id',
    'text',
    'is_error',
    'num_turns',
    'result',
    'errors',
    'rate_limit_info',
    'compact_metadata',
  ],
  ...[
    'changes',
    'command',
    'role',
    'arguments',
    'shellExecution',
    'responseHeaders',
    'retry-after',
    'timestamp',
  ],
];

const value = fc.letrec(tie => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(...WORDS),
    fc.jsonValue({ maxDepth: 1 }),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('any'), { maxLength: 4 }),
  object: fc.dictionary(fc.constantFrom(...KEYS), tie('any'), { maxKeys: 8 }),
})).any;

const record = fc.record({
  type: fc.constantFrom<unknown>(...TYPES),
  rest: fc.dictionary(fc.constantFrom(...KEYS), value, { maxKeys: 8 }),
});

const HOSTILE = [
  '',
  ' ',
  '{',
  '{"type":"assistant","message":{"content":[{"type":"text","te',
  'null',
  '[]',
  '"assistant"',
  '42',
  '{"type":null}',
  '{"type":"toString"}',
  '{"type":"result","is_error":true}',
  '{"type":"item.completed"}',
  '{"type":"item.completed","item":{"type":"agent_message","text":{"length":5}}}',
  '{"type":"assistant","message":"a string"}',
  '{"type":"user","message":{"content":[null,1,"x",{"type":"tool_result"}]}}',
  '{"__proto__":{"type":"result"},"type":"system","subtype":"init","session_id":7}',
  '\u0000\u0001\u00ff\ufffd\ud800',
  Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x80]).toString('utf8'),
  `{"type":"tool_use","parameters":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
  '{"type":"step_finish","part":{"tokens":{"input":-5,"output":1e999},"cost":-1,"reason":"stop"}}',
];

describe.each(ADAPTERS.map(adapter => [adapter.name, adapter] as const))('%s', (_, adapter) => {
  test('survives wrong types everywhere', () => {
    fc.assert(
      fc.property(record, ({ type, rest }) => survives(adapter, JSON.stringify({ ...rest, type }))),
      examples(400),
    );
  });

  test('survives any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), line => survives(adapter, line)));
  });

  test.each(HOSTILE)('survives %j', line => survives(adapter, line));

  test('survives a half of any of its own lines', () => {
    fc.assert(
      fc.property(record, fc.nat(), ({ type, rest }, cut) => {
        const line = JSON.stringify({ type, ...rest });
        survives(adapter, line.slice(0, cut % (line.length + 1)));
      }),
      examples(100),
    );
  });
});

/** Numbers stay numbers, summaries stay on their line, and the fold takes every event. */
function survives(adapter: AgentAdapter, line: string): void {
  const fold = createTurnFold({ rule: { kind: 'promise', text: 'DONE' }, prices: {} });
  for (const event of [...adapter.read(line), ...read(adapter, line)]) {
    fold.add(event);
    if (event.kind === 'tool-start') {
      expect(event.summary.length).toBeLessThanOrEqual(200);
      expect(event.summary).not.toMatch(/[\r\n\u2028\u2029]/);
    }
  }
  const { usage } = fold.turn();
  for (const count of [usage.cost ?? 0, ...Object.values(usage.tokens ?? {})]) {
    expect(Number.isFinite(count) && count >= 0).toBe(true);
  }
}
