/** What is not parsed must not be missed: skimming a stream gives the events that parsing all of it gives. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentAdapter } from '../../src/agents/agent.ts';
import { amp } from '../../src/agents/amp/adapter.ts';
import { claude } from '../../src/agents/claude/adapter.ts';
import { codex } from '../../src/agents/codex/adapter.ts';
import { copilot } from '../../src/agents/copilot/adapter.ts';
import { gemini } from '../../src/agents/gemini/adapter.ts';
import { opencode } from '../../src/agents/opencode/adapter.ts';
import { qwen } from '../../src/agents/qwen/adapter.ts';
import { createSkimmer } from '../../src/agents/skim.ts';
import type { AgentEvent } from '../../src/domain/agent-event.ts';
import { createTurnFold } from '../../src/domain/turn.ts';
import { inChunksOf, parseAll, skim } from './reading.ts';

/** More than is parsed of a tool's output, with everything in it that could be taken for something else. */
const nasty = '<promise>DONE</promise> "quoted" \\ \t é😀\n{"type":"assistant","is_error":true}\n';
const huge = `first "line"\n${nasty.repeat(1_500)}the end`;

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

const TYPES = [
  ...['user', 'assistant', 'stream_event', 'system', 'result', 'message', 'tool_result', 'tool_use', 'text'],
  ...['item.started', 'item.updated', 'item.completed', 'tool.execution_start', 'tool.execution_complete'],
  ...[
    'tool.execution_partial_result',
    'user.message',
    'assistant.message',
    'assistant.message_delta',
    'hook.x',
  ],
];
const word = fc.constantFrom(
  ...['user', 'assistant', 'tool_result', 'text', 'command_execution', 'agent_message', 't1', '', 'success'],
  ...['<promise>DONE</promise>', '{"type":"user"', 'a\nb "c" \\', 'é😀'],
);
const keys = fc.constantFrom(
  ...[
    'message',
    'content',
    'type',
    'role',
    'item',
    'id',
    'part',
    'state',
    'output',
    'data',
    'result',
    'text',
  ],
  ...[
    'tool_use_id',
    'is_error',
    'parent_tool_use_id',
    'timestamp',
    'toolCallId',
    'exitCode',
    'status',
    'delta',
  ],
);
const fields = fc.letrec(tie => ({
  any: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.constantFrom<unknown>(true, false, null, 3),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('any'), { maxLength: 3 }),
  object: fc.dictionary(keys, tie('any'), { maxKeys: 6 }),
})).object;
/** With the type where all agents have it, and elsewhere. */
const records = fc.array(
  fc
    .tuple(fc.constantFrom(...TYPES), fields as fc.Arbitrary<object>, fc.boolean())
    .map(([type, rest, first]) => (first ? { type, ...rest, type_: 1 } : { ...rest, type })),
  { maxLength: 5 },
);

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

describe('a long record comes to the same events as if it were parsed', () => {
  test.each(RECORDS.map(each => [each.adapter.name, each.name, each] as const))('%s: %s', (...[, , long]) => {
    const bytes = stream(long.record);
    const events = parseAll(long.adapter, bytes);
    expect(events.map(event => event.kind)).toContainEqual(expect.stringMatching(/^tool-(?:start|end)$/));
    expect(skim(long.adapter, [bytes])).toEqual(events);
    expect(skim(long.adapter, inChunksOf(1_000, bytes))).toEqual(events);
  });

  test('amp: JSON in a string, of which the middle is gone', () => {
    const reply = (output: string) => JSON.stringify({ output, exitCode: 3 });
    const record = user(result({ tool_use_id: 't1', content: reply(huge), is_error: false }));
    const [whole] = parseAll(amp, stream(record));
    expect(skim(amp, [stream(record)])).toEqual([
      {
        ...whole,
        output: {
          preview: expect.stringMatching(/^first "line"\n<promise>/),
          lines: expect.any(Number),
          chars: expect.any(Number),
        },
      },
    ]);
    expect(whole).toMatchObject({ kind: 'tool-end', ok: false, exitCode: 3 });
  });
});

describe.each(
  [claude, amp, qwen, codex, gemini, opencode, copilot].map(adapter => [adapter.name, adapter] as const),
)('%s', (_, adapter) => {
  test('skims a record of any content as it would parse it', () => {
    fc.assert(
      fc.property(records, fc.integer({ min: 1, max: 300 }), (list, size) => {
        const bytes = stream(...list);
        expect(skim(adapter, inChunksOf(size, bytes))).toEqual(parseAll(adapter, bytes));
      }),
      { numRuns: 300 },
    );
  });

  test.each(HOSTILE)('reads %s as if it were parsed', (_name, lines) => {
    const bytes = Buffer.concat(lines.map(each => Buffer.from(each)));
    const events = parseAll(adapter, bytes);
    for (const size of [1, 7, 4096]) expect(skim(adapter, inChunksOf(size, bytes))).toEqual(events);
  });
});

describe('the claim', () => {
  const claim = (adapter: AgentAdapter, ...records: readonly object[]) => {
    const turn = createTurnFold({ rule: { kind: 'promise', text: 'DONE' }, prices: {} });
    for (const event of skim(adapter, inChunksOf(65_536, stream(...records)))) turn.add(event);
    return turn.turn().claim.found;
  };
  const says = (text: string) => ({ type: 'assistant', message: { content: [{ type: 'text', text }] } });

  const plain = huge.replaceAll('<promise>DONE</promise>', '');
  test.each([
    ['in the middle', `${plain}<promise>DONE</promise>${plain}`],
    ['at the end', `${plain}<promise>DONE</promise>`],
  ])('is found %s of a message of any length', (_, long) => {
    expect(claim(claude, says(long))).toBe(true);
    expect(claim(codex, item('item.completed', { type: 'agent_message', text: long }))).toBe(true);
    expect(claim(gemini, { type: 'message', timestamp: 'now', role: 'assistant', content: long })).toBe(true);
    expect(claim(opencode, { type: 'text', part: { text: long } })).toBe(true);
    expect(claim(copilot, { type: 'assistant.message', data: { content: long } })).toBe(true);
  });

  test.each(RECORDS.map(each => [each.adapter.name, each.name, each] as const))(
    'is not found in a long record of %s: %s',
    (...[, , { adapter, record }]) => expect(claim(adapter, record)).toBe(false),
  );

  test('is not found in 50 MB on one line, which are not held either', () => {
    const skimmer = createSkimmer(claude, () => {});
    const { arrayBuffers } = process.memoryUsage();
    skimmer.push(Buffer.from('{"type":"user","message":{"content":[{"type":"tool_result","content":"'));
    const chunk = Buffer.from('<promise>DONE</promise>\\n'.repeat(2_000));
    for (let sent = 0; sent < 50_000_000; sent += chunk.length) skimmer.push(chunk);
    expect(process.memoryUsage().arrayBuffers - arrayBuffers).toBeLessThan(4 * 1024 * 1024);
    skimmer.push(Buffer.from('","tool_use_id":"t1"}]}}\n'));
  });
});

test('a line that is too long to be read even so is told of', () => {
  const events: AgentEvent[] = [];
  const skimmer = createSkimmer(claude, event => events.push(event));
  skimmer.push(Buffer.from('{"type":"user","message":['));
  const chunk = Buffer.alloc(1024 * 1024, '0,');
  for (let sent = 0; sent < 20; sent++) skimmer.push(chunk);
  skimmer.push(Buffer.from('0]}\n{"type":"result","is_error":false}\n'));
  expect(events).toMatchObject([
    { kind: 'unknown', what: expect.stringMatching(/^a line of 209\d{5} bytes, too long to be read$/) },
    { kind: 'usage' },
    { kind: 'result', ok: true },
  ]);
});
