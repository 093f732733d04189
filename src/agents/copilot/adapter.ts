/** GitHub Copilot CLI, `copilot --output-format json`. */

import { defined } from '../../domain/text/fields.ts';
import {
  countAt,
  type Json,
  numberAt,
  objectAt,
  parseObject,
  stringAt,
  wordAt,
} from '../../domain/text/json.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import type { TroubleClass } from '../../domain/turn/trouble.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import {
  asideEvents,
  gaveUp,
  progressEvents,
  type Records,
  readLine,
  refusedEvents,
  retrying,
  sessionEvent,
  sumTokens,
  textEvents,
  tokensAt,
  toolEnd,
  toolStart,
} from '../events.ts';
import { type HookEvents, hookPlugin, hooksOf } from '../hooks.ts';

const HOOK_EVENTS: HookEvents = { 'before-tool': 'PreToolUse', tools: 'PostToolUse', stop: 'Stop' };

export const copilot: AgentAdapter = {
  name: 'copilot',
  install: 'npm install -g @github/copilot',
  tested: '1.0.102',
  noUpdates: { COPILOT_AUTO_UPDATE: 'false' },
  reports: { cost: 'never', tokens: 'turn', toolCalls: true },
  endsWithResult: true,
  needsFile: true,
  needs: {
    hosts: ['api.github.com', 'api.githubcopilot.com', '*.githubcopilot.com'],
    addresses: ['COPILOT_PROVIDER_BASE_URL'],
    state: ['~/.copilot'],
    stateVariable: 'COPILOT_HOME',
    settings: ['~/.copilot/config.json', '~/.copilot/settings.json', '~/.copilot/hooks', '.github/hooks'],
    keys: ['COPILOT_GITHUB_TOKEN', 'COPILOT_PROVIDER_API_KEY', 'GH_TOKEN', 'GITHUB_TOKEN'],
  },
  dialogue: { promptFlag: '-i', modelFlag: '--model' },
  stopSignal: 'SIGTERM',
  hookEvents: HOOK_EVENTS,
  invocation,
  read,
};

function invocation(request: AgentRequest): AgentInvocation {
  const { command, flags, model, mode, permissions, scratch } = request;
  const hooks = hooksOf('copilot', HOOK_EVENTS, request.hooks);
  const plugin = hooks.length > 0 ? hookPlugin(`${scratch}.hooks`, hooks) : undefined;
  const report = `${scratch}.usage.json`;
  const ownReport = defaultFlags(flags, ['--usage-output-file'], ['--usage-output-file', report]);
  const argv = [
    ...(mode === 'stream'
      ? defaultFlags(flags, ['--output-format'], ['--output-format', 'json'])
      : defaultFlags(flags, ['-s', '--silent'], ['-s'])), // else tools and statistics are among the words
    ...['--no-color', '--no-ask-user', '--no-auto-update'].flatMap(flag =>
      defaultFlags(flags, [flag], [flag]),
    ),
    ...(permissions === 'skip' ? defaultFlags(flags, PERMISSION_FLAGS, ['--allow-all']) : []),
    ...(model === undefined ? [] : defaultFlags(flags, ['--model'], ['--model', model])),
    ...ownReport,
    ...(plugin ? ['--plugin-dir', plugin.path] : []),
    ...flags,
  ];
  return {
    argv: [command, ...argv],
    env: {},
    ...(ownReport.length > 0 && { reportFile: report }),
    ...(plugin && { folder: plugin }),
  };
}

/** With one of these the user has chosen what it may do. */
const PERMISSION_FLAGS = ['--allow-all', '--yolo', '--allow-all-tools', '--allow-tool'];

function read(line: string): readonly AgentEvent[] {
  const record = parseObject(line);
  const type = stringAt(record, 'type');
  if (type !== undefined && SILENT.test(type)) return [];
  if (record && type === undefined && objectAt(record, 'modelMetrics')) return usageEvents(record);
  return readLine(line, RECORDS, record);
}

const dataOf = (record: Json) => objectAt(record, 'data') ?? {};

const RECORDS: Records = {
  'assistant.message': messageEvents, // whole; the deltas before it say the same
  'assistant.reasoning': record => asideEvents('thinking', wordAt(dataOf(record), 'content')),
  'tool.execution_start': record =>
    toolStart({
      id: stringAt(dataOf(record), 'toolCallId') ?? '',
      name: stringAt(dataOf(record), 'toolName') ?? '',
      input: dataOf(record).arguments,
      subagent: isSubagent(record),
    }),
  'tool.execution_complete': toolEndEvents,
  'session.tools_updated': record =>
    wordAt(dataOf(record), 'model') ? [sessionEvent(dataOf(record), { model: 'model' })] : [],
  'session.error': record => [errorEvent(dataOf(record))],
  'model.call_failure': record => [failureEvent(dataOf(record))],
  'session.info': remarkEvents,
  'session.warning': remarkEvents,
  'session.autopilot_stopped': remarkEvents,
  'session.task_complete': remarkEvents,
  abort: remarkEvents,
  result: resultEvents,
};

/** Fragments of what comes whole, echoes of the prompt, and the state of the machinery. */
const SILENT =
  /^(?:user\.message|hook\..*|subagent\.(?:started|configured|completed)|model\.call_(?:start|finished|final_result)|agent\.interrupted|tool\.(?:shell_output|execution_partial_result)|assistant\.(?:turn_start|turn_end|turn_retry|idle|message_start|message_delta|reasoning_delta|tool_call_delta)|session\.(?:skills_loaded|custom_agents_updated|mcp_servers_loaded|background_tasks_changed|mode_notice_delivered))$/;

function isSubagent(record: Json): boolean {
  return wordAt(record, 'agentId') !== undefined || wordAt(dataOf(record), 'parentToolCallId') !== undefined;
}

function messageEvents(record: Json): readonly AgentEvent[] {
  const text = wordAt(dataOf(record), 'content');
  if (isSubagent(record)) return asideEvents('subagent', text);
  return textEvents(text, wordAt(dataOf(record), 'messageId'));
}

/** A command that failed is a `success`; look at its exit code. */
function toolEndEvents(record: Json): readonly AgentEvent[] {
  const data = dataOf(record);
  const error = objectAt(data, 'error');
  const text = stringAt(objectAt(data, 'result'), 'content') ?? stringAt(error, 'message') ?? '';
  const id = stringAt(data, 'toolCallId') ?? '';
  const exitCode = numberAt(objectAt(data, 'shellExecution'), 'exitCode');
  return [
    ...(error?.code === 'denied' ? refusedEvents({ id }, text) : []),
    toolEnd({ id, ok: data.success === true, text, exitCode, subagent: isSubagent(record) }),
  ];
}

function errorEvent(data: Json): AgentEvent {
  const message = wordAt(data, 'message') ?? 'error';
  const named = message.startsWith('No response was returned') ? 'empty-reply' : undefined;
  const type = stringAt(data, 'errorType') ?? '';
  return gaveUp({ message, status: countAt(data, 'statusCode'), class: named ?? CLASS_OF_TYPE.get(type) });
}

const CLASS_OF_TYPE: ReadonlyMap<string, TroubleClass> = new Map([
  ['authentication', 'auth'],
  ['authorization', 'auth'],
  ['quota', 'quota'],
  ['rate_limit', 'rate-limit'],
  ['context_limit', 'context-overflow'],
]);

/** The message is JSON in a string. */
function failureEvent(data: Json): AgentEvent {
  const raw = wordAt(data, 'errorMessage') ?? 'the model call failed';
  const message = wordAt(parseObject(raw), 'message') ?? raw;
  return retrying({ message, status: countAt(data, 'statusCode') });
}

function remarkEvents(record: Json): readonly AgentEvent[] {
  const data = dataOf(record);
  const text = wordAt(data, 'message') ?? wordAt(data, 'summary') ?? wordAt(data, 'reason');
  return progressEvents(text ?? stringAt(record, 'type'));
}

function resultEvents(record: Json): readonly AgentEvent[] {
  const session = wordAt(record, 'sessionId') ? [sessionEvent(record, { sessionId: 'sessionId' })] : [];
  return [...session, { kind: 'result', ok: numberAt(record, 'exitCode') === 0 }];
}

/** The usage file, read at the end. `inputTokens` holds the cached ones, `outputTokens` the reasoning. */
function usageEvents(report: Json): readonly AgentEvent[] {
  const model = wordAt(report, 'currentModel');
  const tokens = sumTokens(objectAt(report, 'modelMetrics') ?? {}, metrics =>
    tokensAt(objectAt(metrics, 'usage'), {
      input: 'inputTokens',
      output: 'outputTokens',
      cacheRead: 'cacheReadTokens',
      cacheWrite: 'cacheWriteTokens',
    }),
  );
  return [
    { kind: 'usage', scope: 'total', tokens: tokens ?? tokensAt(undefined, {}), ...defined({ model }) },
  ];
}
