/** pi, `pi --mode json -p`. */

import { defined } from '../../domain/text/fields.ts';
import { type Json, numberAt, objectAt, objectsAt, stringAt, wordAt } from '../../domain/text/json.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import {
  asideEvents,
  gaveUp,
  type Records,
  readLine,
  retrying,
  sessionEvent,
  silent,
  textEvents,
  tokensAt,
  toolEnd,
  toolStart,
  withCached,
} from '../events.ts';

export const pi: AgentAdapter = {
  name: 'pi',
  install: 'npm install -g @earendil-works/pi-coding-agent',
  tested: '0.87.1',
  noUpdates: { PI_SKIP_VERSION_CHECK: '1' },
  reports: { cost: 'step', tokens: 'step', toolCalls: true },
  endsWithResult: true,
  needsFile: true,
  needs: {
    hosts: ['api.anthropic.com', 'api.openai.com', 'generativelanguage.googleapis.com', 'openrouter.ai'],
    addresses: [],
    state: ['~/.pi'],
    settings: ['~/.pi/agent/settings.json', '~/.pi/agent/models.json', '~/.pi/agent/extensions', '.pi'],
    keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'XAI_API_KEY'],
  },
  dialogue: { modelFlag: '--model' },
  stopSignal: 'SIGTERM', // SIGINT leaves the running tool behind
  invocation,
  read: line => readLine(line, RECORDS),
};

/** It asks for no permission. */
function invocation({ command, flags, model, mode }: AgentRequest): AgentInvocation {
  const argv = [
    ...(mode === 'stream' ? defaultFlags(flags, ['--mode'], ['--mode', 'json']) : []),
    ...defaultFlags(flags, ['-p', '--print'], ['-p']),
    ...(model === undefined ? [] : defaultFlags(flags, ['--model'], ['--model', model])),
    ...flags,
  ];
  return { argv: [command, ...argv], env: {} };
}

const RECORDS: Records = {
  session: record => [sessionEvent(record, { sessionId: 'id' })],
  message_end: record => messageEvents(objectAt(record, 'message') ?? {}),
  tool_execution_start: record =>
    toolStart({
      id: stringAt(record, 'toolCallId') ?? '',
      name: stringAt(record, 'toolName') ?? '',
      input: record.args,
    }),
  tool_execution_end: record => [
    toolEnd({
      id: stringAt(record, 'toolCallId') ?? '',
      ok: record.isError !== true,
      text: objectsAt(objectAt(record, 'result'), 'content')
        .map(part => stringAt(part, 'text') ?? '')
        .join(''),
    }),
  ],
  auto_retry_start: record => [retrying({ message: wordAt(record, 'errorMessage') ?? 'error' })],
  agent_end: resultEvents,
  // Fragments of what comes whole, and the state of the machinery.
  agent_start: silent,
  agent_settled: silent,
  auto_retry_end: silent,
  entry_appended: silent,
  message_start: silent,
  message_update: silent,
  queue_update: silent,
  tool_execution_update: silent,
  turn_start: silent,
  turn_end: silent,
};

/** The prompt and what tools print are messages, too. */
function messageEvents(message: Json): readonly AgentEvent[] {
  if (message.role !== 'assistant') return [];
  const id = wordAt(message, 'responseId');
  const model = wordAt(message, 'model');
  const usage = objectAt(message, 'usage');
  const error = errorOf(message);
  return [
    ...objectsAt(message, 'content').flatMap(part =>
      part.type === 'thinking'
        ? asideEvents('thinking', stringAt(part, 'thinking'))
        : textEvents(part.type === 'text' ? stringAt(part, 'text') : undefined, id),
    ),
    ...(usage && error === undefined ? [usageEvent(usage, defined({ id, model }))] : []),
    ...(error === undefined ? [] : [gaveUp({ message: error })]),
  ];
}

function errorOf(message: Json | undefined): string | undefined {
  const reason = stringAt(message, 'stopReason');
  if (reason !== 'error' && reason !== 'aborted') return undefined;
  return wordAt(message, 'errorMessage') ?? reason;
}

/** Its input is without what came from the cache. */
function usageEvent(usage: Json, of: { readonly id?: string; readonly model?: string }): AgentEvent {
  const keys = { input: 'input', output: 'output', cacheRead: 'cacheRead', cacheWrite: 'cacheWrite' };
  const cost = numberAt(objectAt(usage, 'cost'), 'total');
  const tokens = withCached(tokensAt(usage, keys));
  return { kind: 'usage', scope: 'part', ...of, tokens, ...(cost !== undefined && cost >= 0 && { cost }) };
}

/** It exits with 0 whatever came of it. Where it tries again, another of these follows. */
function resultEvents(record: Json): readonly AgentEvent[] {
  const last = objectsAt(record, 'messages').findLast(({ role }) => role === 'assistant');
  const error = errorOf(last);
  return [{ kind: 'result', ok: error === undefined, ...defined({ error }) }];
}
