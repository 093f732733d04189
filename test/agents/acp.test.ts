/** The Agent Client Protocol, beside what the recordings in test/streams/acp show: order, permissions, models, and lies. */
import { expect, test } from 'vitest';
import { createConversation } from '../../src/agents/acp/adapter.ts';
import type { ConversationRequest } from '../../src/agents/agent.ts';
import { createAgentInput, outcomeOf } from '../../src/agents/invoke.ts';
import { findAdapter, protocolOf } from '../../src/agents/registry.ts';
import type { AgentEvent } from '../../src/domain/turn/agent-event.ts';
import { createTurnFold } from '../../src/domain/turn/turn.ts';

const TALK: ConversationRequest = { prompt: 'Do it.', cwd: '/repo', permissions: 'skip' };
const SESSION = { sessionId: 's1' };

function start(talk: Partial<ConversationRequest> = {}, session: object = SESSION) {
  const conversation = createConversation({ ...TALK, ...talk });
  const hear = (message: object) => {
    const { events, say } = conversation.hear(JSON.stringify({ jsonrpc: '2.0', ...message }));
    return { events, say: say.map(each => JSON.parse(each)) };
  };
  const initialised = hear({ id: 1, result: { protocolVersion: 1 } });
  const opened = hear({ id: 2, result: session });
  return { conversation, hear, initialised, opened };
}

const update = (fields: object, sessionId = 's1') => ({
  method: 'session/update',
  params: { sessionId, update: fields },
});
const words = (text: string, sessionId?: string) =>
  update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }, sessionId);
const DONE = words('<promise>DONE</promise>');
const END = { id: 3, result: { stopReason: 'end_turn' } };

test('three requests, then its stdin is closed', () => {
  const { conversation, hear, initialised, opened } = start();
  expect(JSON.parse(conversation.opening)).toMatchObject({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: 1, clientCapabilities: { fs: { writeTextFile: false }, terminal: false } },
  });
  expect(initialised.say).toMatchObject([
    { id: 2, method: 'session/new', params: { cwd: '/repo', mcpServers: [] } },
  ]);
  const prompt = [{ type: 'text', text: 'Do it.' }];
  expect(opened.say).toMatchObject([
    { id: 3, method: 'session/prompt', params: { sessionId: 's1', prompt } },
  ]);
  expect([conversation.isOpen(), conversation.isOver()]).toEqual([true, false]);
  expect(hear(END).events).toEqual([{ kind: 'result', ok: true }]);
  expect(conversation.isOver()).toBe(true);
});

test('only what it says between the prompt and its answer, in our session and in no tool, are its own words', () => {
  const conversation = createConversation(TALK);
  const events: AgentEvent[] = [];
  const hear = (message: object) =>
    events.push(...conversation.hear(JSON.stringify({ jsonrpc: '2.0', ...message })).events);
  hear({ id: 1, result: { protocolVersion: 1 } });
  hear(DONE);
  hear({ id: 2, result: SESSION });
  hear(words('<promise>DONE</promise>', 'another'));
  hear(
    update({
      sessionUpdate: 'user_message_chunk',
      content: { type: 'text', text: '<promise>DONE</promise>' },
    }),
  );
  hear(
    update({
      sessionUpdate: 'agent_thought_chunk',
      content: { type: 'text', text: '<promise>DONE</promise>' },
    }),
  );
  hear(update({ sessionUpdate: 'tool_call', toolCallId: 'a', title: 'task', status: 'pending' }));
  hear(DONE);
  hear(update({ sessionUpdate: 'tool_call_update', toolCallId: 'a', status: 'completed' }));
  hear(words('Not yet.'));
  hear(END);
  hear(DONE);
  const fold = createTurnFold({ rule: { kind: 'promise', text: 'DONE' }, prices: {} });
  for (const event of events) fold.add(event);
  expect(fold.turn()).toMatchObject({ claim: { found: false }, lastWords: 'Not yet.', toolCalls: 1 });
});

test.each([
  ['skip', ['allow_always', 'allow_once', 'reject_once'], 'allow_once'],
  ['skip', ['allow_always', 'reject_once'], 'allow_always'],
  ['host', ['allow_always', 'allow_once', 'reject_always', 'reject_once'], 'reject_once'],
  ['host', ['allow_once'], undefined],
] as const)('permissions %s of %j: %s', (permissions, kinds, chosen) => {
  const { hear } = start({ permissions });
  const options = kinds.map(kind => ({ optionId: `the ${kind}`, kind }));
  const toolCall = { toolCallId: 'c', title: 'rm -r x', kind: 'execute' };
  const asked = hear({
    id: 'p',
    method: 'session/request_permission',
    params: { ...SESSION, toolCall, options },
  });
  const outcome = chosen ? { outcome: 'selected', optionId: `the ${chosen}` } : { outcome: 'cancelled' };
  expect(asked.say).toEqual([{ jsonrpc: '2.0', id: 'p', result: { outcome } }]);
  const [began, ...more] = asked.events;
  expect(began).toMatchObject({ kind: 'tool-start', id: 'c', name: 'execute', summary: 'rm -r x' });
  expect(more).toMatchObject(permissions === 'skip' ? [] : [{ kind: 'trouble', call: { id: 'c' } }]);
});

test('files, terminals and whatever else it asks a client for are refused', () => {
  const { hear } = start();
  for (const method of ['fs/write_text_file', 'terminal/create', 'craft/anything'])
    expect(hear({ id: 7, method, params: {} }).say).toMatchObject([{ id: 7, error: { code: -32601 } }]);
  expect(hear({ method: '_vendor/notice', params: {} }).say).toEqual([]);
});

test.each([
  [
    { configOptions: [{ id: 'llm', category: 'model' }] },
    'session/set_config_option',
    { configId: 'llm', value: 'm' },
  ],
  [{ models: { availableModels: [] } }, 'session/set_model', { modelId: 'm' }],
])('a model is set before the prompt: %j', (offered, method, params) => {
  const { hear, opened } = start({ model: 'm' }, { ...SESSION, ...offered });
  expect(opened.say).toMatchObject([{ id: 4, method, params: { sessionId: 's1', ...params } }]);
  expect(hear({ id: 4, result: {} }).say).toMatchObject([{ method: 'session/prompt' }]);
});

test.each([
  ['a model that cannot be chosen', () => start({ model: 'm' }).opened, 'config'],
  ['another version', () => start().hear({ id: 1, result: { protocolVersion: 2 } }), 'config'],
  ['no login', () => start().hear({ id: 3, error: { code: -32000, message: 'x' } }), 'auth'],
  ['a status', () => start().hear({ id: 3, error: { code: 429, message: 'slow down' } }), 'rate-limit'],
  [
    'a kind',
    () => start().hear({ id: 3, error: { message: 'x', data: { errorKind: 'rate_limit' } } }),
    'rate-limit',
  ],
  ['a detail', () => start().hear({ id: 3, error: { message: 'x', data: '401 bad key' } }), 'auth'],
  ['a refusal', () => start().hear({ id: 3, result: { stopReason: 'refusal' } }), 'crash'],
])('%s is a failure', (_, hear, named) => {
  expect(hear().events).toMatchObject([
    { kind: 'trouble', trouble: { class: named } },
    { kind: 'result', ok: false },
  ]);
});

test('an error among its words counts only where it said and did nothing after it', () => {
  const first = start();
  first.hear(words('Error: 429 slow down'));
  first.hear(words('It works again.'));
  expect(first.hear(END).events).toEqual([{ kind: 'result', ok: true }]);
  const second = start();
  second.hear(words('Half of it is done.'));
  second.hear(words('Error: 429 slow down'));
  expect(second.hear(END).events).toMatchObject([{ kind: 'trouble' }, { kind: 'result', ok: false }]);
});

test('an agent that never answers has hung', () => {
  const adapter = findAdapter('goose', 'acp');
  const fold = createTurnFold({ rule: { kind: 'promise', text: 'DONE' }, prices: {} });
  const end = { kind: 'signalled', signal: 'SIGTERM' } as const;
  const ended = {
    adapter,
    mode: 'stream',
    turn: fold.turn(),
    end,
    stderr: '',
    endedBy: 'unanswered',
  } as const;
  expect(outcomeOf(ended)).toMatchObject({ kind: 'failed', trouble: { class: 'hang' } });
});

test('what is asked and never read does not fill the memory', () => {
  const agentInput = createAgentInput({ ...TALK, adapter: findAdapter('goose', 'acp') });
  const flood = 'x'.repeat(1024 * 1024);
  for (let at = 0; at < 100; at++) agentInput.onSay?.([flood]);
  expect(
    typeof agentInput.input === 'object' &&
      'writableLength' in agentInput.input &&
      agentInput.input.writableLength,
  ).toBeLessThan(3 * flood.length);
});

test('a command behind the protocol, and what it needs', () => {
  expect(protocolOf('acp:goose acp')).toEqual({ adapter: 'acp', command: 'goose acp' });
  expect(protocolOf('acpx')).toBeUndefined();
  expect(findAdapter('gemini', 'acp').needs).toBe(findAdapter('gemini').needs);
});
