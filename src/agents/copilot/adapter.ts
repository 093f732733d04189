/** GitHub Copilot CLI, `copilot --output-format json`. */
import type { AgentEvent } from '../../domain/agent-event.ts';
import {
  asObject,
  countAt,
  type Json,
  numberAt,
  objectAt,
  parseObject,
  stringAt,
  wordAt,
} from '../../domain/json.ts';
import type { TroubleClass } from '../../domain/trouble.ts';
import { addTokens, type Tokens } from '../../domain/usage.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import { gaveUp, oneLine, retrying, toolEnd, toolStart, unreadable } from '../events.ts';
import { type HookEvents, hookPlugin, hooksOf } from '../hooks.ts';

const HOOK_EVENTS: HookEvents = { 'before-tool': 'PreToolUse', tools: 'PostToolUse', stop: 'Stop' };

export const copilot: AgentAdapter = {
  name: 'copilot',
  install: 'npm install -g @github/copilot',
  tested: '1.0.102',
  noUpdates: { COPILOT_AUTO_UPDATE: 'false' },
  reports: { cost: false, tokens: true, toolCalls: true },
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

const PERMISSION_FLAGS = ['--allow-all', '--yolo', '--allow-all-tools'];

function read(line: string): readonly AgentEvent[] {
  const record = parseObject(line);
  if (!record) return unreadable(line);
  if (record.type === undefined && objectAt(record, 'modelMetrics')) return usageEvents(record);
  const data = objectAt(record, 'data') ?? {};
  switch (record.type) {
    case 'assistant.message': // whole; the deltas before it say the same
      return messageEvents(record, data);
    case 'assistant.reasoning':
      return asideEvents('thinking', wordAt(data, 'content'));
    case 'tool.execution_start':
      return toolStart({
        id: stringAt(data, 'toolCallId') ?? '',
        name: stringAt(data, 'toolName') ?? '',
        input: data.arguments,
        subagent: isSubagent(record, data),
      });
    case 'tool.execution_complete':
      return [toolEndEvent(record, data)];
    case 'session.tools_updated':
      return modelEvents(data);
    case 'session.error':
      return [errorEvent(data)];
    case 'model.call_failure':
      return [retrying({ message: failureText(data), status: countAt(data, 'statusCode') })];
    case 'session.info':
    case 'session.warning':
    case 'session.autopilot_stopped':
    case 'session.task_complete':
    case 'abort':
      return progressEvents(record.type, data);
    case 'result':
      return resultEvents(record);
    default:
      return SILENT.test(stringAt(record, 'type') ?? '') ? [] : unreadable(line, record);
  }
}

/** Fragments of what comes whole, echoes of the prompt, and the state of the machinery. */
const SILENT =
  /^(?:user\.message|hook\..*|subagent\.(?:started|configured|completed)|model\.call_(?:start|finished|final_result)|agent\.interrupted|tool\.(?:shell_output|execution_partial_result)|assistant\.(?:turn_start|turn_end|turn_retry|idle|message_start|message_delta|reasoning_delta|tool_call_delta)|session\.(?:skills_loaded|custom_agents_updated|mcp_servers_loaded|background_tasks_changed|mode_notice_delivered))$/;

function isSubagent(record: Json, data: Json): boolean {
  return wordAt(record, 'agentId') !== undefined || wordAt(data, 'parentToolCallId') !== undefined;
}

function messageEvents(record: Json, data: Json): readonly AgentEvent[] {
  const text = wordAt(data, 'content');
  const message = wordAt(data, 'messageId');
  if (isSubagent(record, data)) return asideEvents('subagent', text);
  return text === undefined ? [] : [{ kind: 'text', text, ...(message !== undefined && { message }) }];
}

function asideEvents(from: 'thinking' | 'subagent', text: string | undefined): readonly AgentEvent[] {
  return text === undefined ? [] : [{ kind: 'aside', from, text }];
}

/** A command that failed is a `success`; look at its exit code. */
function toolEndEvent(record: Json, data: Json): AgentEvent {
  const text =
    stringAt(objectAt(data, 'result'), 'content') ?? stringAt(objectAt(data, 'error'), 'message') ?? '';
  return toolEnd({
    id: stringAt(data, 'toolCallId') ?? '',
    ok: data.success === true,
    text,
    exitCode: numberAt(objectAt(data, 'shellExecution'), 'exitCode'),
    subagent: isSubagent(record, data),
  });
}

function modelEvents(data: Json): readonly AgentEvent[] {
  const model = wordAt(data, 'model');
  return model === undefined ? [] : [{ kind: 'session', model }];
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
function failureText(data: Json): string {
  const raw = wordAt(data, 'errorMessage') ?? 'the model call failed';
  return wordAt(parseObject(raw), 'message') ?? raw;
}

function progressEvents(type: string, data: Json): readonly AgentEvent[] {
  const text = wordAt(data, 'message') ?? wordAt(data, 'summary') ?? wordAt(data, 'reason') ?? type;
  return [{ kind: 'progress', text: oneLine(text) }];
}

function resultEvents(record: Json): readonly AgentEvent[] {
  const sessionId = wordAt(record, 'sessionId');
  const exitCode = numberAt(record, 'exitCode') ?? 1;
  const session: readonly AgentEvent[] = sessionId === undefined ? [] : [{ kind: 'session', sessionId }];
  return [...session, { kind: 'result', ok: exitCode === 0 }];
}

/** The usage file, read at the end. `inputTokens` holds the cached ones, `outputTokens` the reasoning. */
function usageEvents(report: Json): readonly AgentEvent[] {
  const model = wordAt(report, 'currentModel');
  const tokens = Object.values(objectAt(report, 'modelMetrics') ?? {})
    .map(metrics => tokensOf(objectAt(asObject(metrics), 'usage')))
    .reduce((sum: Tokens, next) => addTokens(sum, next) ?? sum, NO_TOKENS);
  return [{ kind: 'usage', scope: 'total', tokens, ...(model !== undefined && { model }) }];
}

const NO_TOKENS: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

function tokensOf(usage: Json | undefined): Tokens {
  return {
    input: countAt(usage, 'inputTokens') ?? 0,
    output: countAt(usage, 'outputTokens') ?? 0,
    cacheRead: countAt(usage, 'cacheReadTokens') ?? 0,
    cacheWrite: countAt(usage, 'cacheWriteTokens') ?? 0,
  };
}
