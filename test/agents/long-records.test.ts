/** A long record, shortened while it is read, gives the events that parsing all of it gives. */
import { describe, expect, test } from 'vitest';
import type { AgentAdapter } from '../../src/agents/agent.ts';
import { amp } from '../../src/agents/amp/adapter.ts';
import { claude } from '../../src/agents/claude/adapter.ts';
import { codex } from '../../src/agents/codex/adapter.ts';
import { copilot } from '../../src/agents/copilot/adapter.ts';
import { gemini } from '../../src/agents/gemini/adapter.ts';
import { opencode } from '../../src/agents/opencode/adapter.ts';
import { qwen } from '../../src/agents/qwen/adapter.ts';
import { createTurnFold } from '../../src/domain/turn/turn.ts';
import { inChunksOf, parseAll, readChunks } from './reading.ts';

/** More than is held of a line, with everything in it that could be taken for something else. */
const nasty = '<promise>DONE</promise> "quoted" \\ \t é😀\n{"type":"assistant","is_error":true}\n';
const huge = `first "line"\n${nasty.repeat(15_000)}the end`;

const stream = (...records: readonly (object | string)[]) =>
  Buffer.from(records.map(each => `${typeof each === 'string' ? each : JSON.stringify(each)}\n`).join(''));

interface Long {
  readonly name: string;
  readonly adapter: AgentAdapter;
  readonly record: object;
}

const user = (...content: readonly object[]) => ({ type: 'user', message: { role: 'user', content } });
const result = (fields: object) => ({ type: 'tool_result', ...fields });

/** Records that are long, in the order of keys that each agent has. */
const RECORDS: readonly Long[] = [
  ...[claude, amp, qwen].flatMap(adapter => [
    {
      name: 'the id first',
      adapter,
      record: user({ tool_use_id: 't1', type: 'tool_result', content: huge }),
    },
    {
      name: 'an error and the id behind the output',
      adapter,
      record: user(result({ content: huge, is_error: true, tool_use_id: 't1' })),
    },
    {
      name: 'of a sub-agent, which is told last',
      adapter,
      record: {
        ...user(result({ tool_use_id: 't1', content: [{ type: 'text', text: huge }] })),
        parent_tool_use_id: 'p',
      },
    },
    {
      name: 'two at once',
      adapter,
      record: user(
        result({ tool_use_id: 't1', content: huge }),
        result({ tool_use_id: 't2', content: huge, is_error: true }),
      ),
    },
  ]),
  {
    name: 'an exit code at the beginning',
    adapter: claude,
    record: user(result({ tool_use_id: 't1', content: `Exit code 3\n${huge}`, is_error: true })),
  },
  {
    name: 'the output a second time',
    adapter: claude,
    record: { ...user(result({ tool_use_id: 't1', content: huge })), tool_use_result: { stdout: huge } },
  },
  {
    name: 'an exit code at the end',
    adapter: qwen,
    record: user(
      result({
        tool_use_id: 't1',
        content: `Command: x\nOutput: ${huge}\nExit Code: 3\nSignal: (none)`,
      }),
    ),
  },
  {
    name: 'an exit code behind the output',
    adapter: codex,
    record: item('item.completed', { type: 'command_execution', aggregated_output: huge, exit_code: 2 }),
  },
  {
    name: 'a long command',
    adapter: codex,
    record: item('item.started', { type: 'command_execution', command: `/bin/bash -lc '${huge}'` }),
  },
  {
    name: 'another tool',
    adapter: codex,
    record: item('item.completed', {
      type: 'mcp_tool_call',
      result: { content: [{ type: 'text', text: huge }] },
      status: 'failed',
    }),
  },
  {
    name: 'a result',
    adapter: gemini,
    record: { type: 'tool_result', timestamp: 'now', tool_id: 't1', status: 'error', output: huge },
  },
  {
    name: 'a long input',
    adapter: gemini,
    record: { type: 'tool_use', timestamp: 'now', tool_id: 't1', parameters: { content: huge } },
  },
  {
    name: 'an exit code behind the output',
    adapter: opencode,
    record: {
      type: 'tool_use',
      part: {
        tool: 'bash',
        callID: 'c1',
        state: { input: { command: huge }, output: huge, metadata: { output: huge, exit: 4 } },
      },
    },
  },
  {
    name: 'an exit code before the output',
    adapter: copilot,
    record: {
      type: 'tool.execution_complete',
      data: { toolCallId: 'c1', shellExecution: { exitCode: 3 }, success: true, result: { content: huge } },
    },
  },
  {
    name: 'of a sub-agent, which is told last',
    adapter: copilot,
    record: { type: 'tool.execution_complete', data: { error: { message: huge } }, agentId: 'a1' },
  },
];

function item(type: string, fields: object): object {
  return { type, item: { id: 'i1', ...fields } };
}

const said = JSON.stringify({
  type: 'assistant',
  message: { id: 'm', content: [{ type: 'text', text: '{"type":"user"} <promise>DONE</promise>' }] },
});
const done = JSON.stringify(user(result({ tool_use_id: 't1', content: 'ok', is_error: true })));

const HOSTILE: readonly (readonly [string, readonly (string | Uint8Array)[]])[] = [
  ['keys in another order', [`{"message":${JSON.stringify(user().message)},"type":"user"}\n${said}\n`]],
  ['spaces in the JSON', [done.replaceAll('":', '" : ').replaceAll(',"', ', "'), '\n', said, '\n']],
  ['line ends of Windows', [done, '\r\n', said, '\r\n']],
  ['a byte order mark', [Uint8Array.of(0xef, 0xbb, 0xbf), done, '\n', said, '\n']],
  [
    'bytes that are no UTF-8',
    ['{"type":"user","message":"', Uint8Array.of(0xff, 0xc3, 0x28), '"}\n', said, '\n'],
  ],
  [
    'zeros',
    [Uint8Array.of(0, 0), '\n', done.replace('ok', '\\u0000'), '\n\u0000{"type":"user"}\n', said, '\n'],
  ],
  ['half a record and then a whole one', [done.slice(0, 60), '\n', said, '\n']],
  ['two records on a line', [done, said, '\n']],
  ['a record that is never ended', [said, '\n', done.slice(0, -1)]],
  ['empty lines', ['\n\n', said, '\n\n\r\n']],
  [
    'a type that only looks like one',
    [done.replace('user', 'user\\n'), '\n', done.replace('user', 'users'), '\n'],
  ],
  ['no object at all', ['"user"\n["user"]\nnull\n17\n{"type":"user"\n']],
];

describe('a long record gives the same events as if it were parsed', () => {
  test.each(RECORDS.map(each => [each.adapter.name, each.name, each] as const))('%s: %s', (...[, , long]) => {
    const bytes = stream(long.record);
    const events = parseAll(long.adapter, bytes);
    expect(events.map(event => event.kind)).toContainEqual(expect.stringMatching(/^tool-(?:start|end)$/));
    expect(readChunks(long.adapter, inChunksOf(65_536, bytes))).toEqual(events);
  });

  test('amp: JSON in a string, of which the middle is missing', () => {
    const content = JSON.stringify({ output: huge, exitCode: 3 });
    const record = user(result({ tool_use_id: 't1', content, is_error: false }));
    const events = readChunks(amp, inChunksOf(65_536, stream(record)));
    expect(events).toMatchObject([{ kind: 'tool-end', ok: false, exitCode: 3 }]);
  });
});

test.each(HOSTILE)('reads %s as if it were parsed', (_name, lines) => {
  const bytes = Buffer.concat(lines.map(each => Buffer.from(each)));
  const events = parseAll(claude, bytes);
  for (const size of [1, 7, 4096]) expect(readChunks(claude, inChunksOf(size, bytes))).toEqual(events);
});

describe('the claim', () => {
  const claim = (adapter: AgentAdapter, ...records: readonly object[]) => {
    const turn = createTurnFold({ rule: { kind: 'promise', text: 'DONE' }, prices: {} });
    for (const event of readChunks(adapter, inChunksOf(65_536, stream(...records)))) turn.add(event);
    return turn.turn().claim.found;
  };
  const says = (text: string) => ({ type: 'assistant', message: { content: [{ type: 'text', text }] } });

  const plain = nasty.replaceAll('<promise>DONE</promise>', '').repeat(1_500);
  test.each([
    ['in the middle of a long message', `${plain}<promise>DONE</promise>${plain}`],
    ['at the end of a message of megabytes', `${plain.repeat(20)}<promise>DONE</promise>`],
  ])('is found %s', (_, long) => {
    expect(claim(claude, says(long))).toBe(true);
    expect(claim(codex, item('item.completed', { type: 'agent_message', text: long }))).toBe(true);
    expect(claim(gemini, { type: 'message', timestamp: 'now', role: 'assistant', content: long })).toBe(true);
    expect(claim(opencode, { type: 'text', part: { text: long } })).toBe(true);
    expect(claim(copilot, { type: 'assistant.message', data: { content: long } })).toBe(true);
  });

  test('is not made of two ends whose middle was left out', () => {
    for (let shift = 0; shift < 40; shift++) {
      const long = `${'x'.repeat(65_536 - shift)}<promise>DO${'y'.repeat(2e6)}NE</promise>${'z'.repeat(65_536 - shift)}`;
      expect(claim(claude, says(long))).toBe(false);
    }
  });

  test.each(RECORDS.map(each => [each.adapter.name, each.name, each] as const))(
    'is not found in a long record of %s: %s',
    (...[, , { adapter, record }]) => expect(claim(adapter, record)).toBe(false),
  );
});

test('a line that is too long without its strings, too, is an unknown record', () => {
  const list = Array.from({ length: 20 }, () => Buffer.alloc(1024 * 1024, '0,'));
  const events = readChunks(claude, [
    Buffer.from('{"type":"user","message":['),
    ...list,
    Buffer.from('0]}\n{"type":"result","is_error":false}\n'),
  ]);
  expect(events).toMatchObject([
    { kind: 'unknown', what: expect.stringMatching(/^not JSON: \{"type":"user","message":\[0,0,/) },
    { kind: 'usage' },
    { kind: 'result', ok: true },
  ]);
});
