/** Claude Code, `claude -p --output-format stream-json --verbose`. */
import type { AgentEvent } from '../../domain/agent-event.ts';
import type { HookPoint } from '../../domain/hook-orders.ts';
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
import { addTokens, type Tokens } from '../../domain/usage.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import { assistantEvents, messageText, toolResultEvents, uncachedTokens } from '../blocks.ts';
import { gaveUp, milliseconds, oneLine, retrying, unreadable } from '../events.ts';
import { type HookEvents, hookPlugin, hooksOf } from '../hooks.ts';

const HOOK_EVENTS: HookEvents = {
  start: 'SessionStart',
  'before-tool': 'PreToolUse',
  tools: 'PostToolBatch',
  stop: 'Stop',
};

/** What Claude Code reads and obeys, in a project and in the home alike. */
const HOST_FILES = ['settings.json', 'settings.local.json', 'hooks', 'agents', 'commands', 'skills'];

export const claude: AgentAdapter = {
  name: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  tested: '2.1.325',
  noUpdates: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  reports: { cost: true, tokens: true, toolCalls: true },
  endsWithResult: true,
  needsFile: false,
  rootNeeds: ['IS_SANDBOX', 'CLAUDE_CODE_BUBBLEWRAP'],
  hookEvents: HOOK_EVENTS,
  callsHooksSince: '2.1.325', // the first that was tried
  needs: {
    hosts: ['api.anthropic.com', 'platform.claude.com', 'console.anthropic.com'],
    addresses: ['ANTHROPIC_BASE_URL'],
    state: ['~/.claude'],
    stateVariable: 'CLAUDE_CONFIG_DIR',
    copies: { '~/.claude.json': '~/.claude/.claude.json' },
    settings: [
      ...HOST_FILES.map(file => `~/.claude/${file}`),
      ...HOST_FILES.map(file => `.claude/${file}`),
      ...['installed_plugins.json', 'known_marketplaces.json', 'marketplaces', 'cache'].map(
        file => `~/.claude/plugins/${file}`,
      ),
      '.mcp.json',
    ],
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
  },
  dialogue: { modelFlag: '--model' },
  stopSignal: 'SIGINT', // it then still reports its cost; after SIGTERM it says nothing
  invocation,
  read,
};

function invocation(request: AgentRequest): AgentInvocation {
  const { command, flags, model, mode, permissions, scratch } = request;
  const hooks = hooksOf('claude', HOOK_EVENTS, request.hooks, isCalled);
  // Not --settings: that flag can be given once, and the user may have a use for it.
  const plugin = hooks.length > 0 ? hookPlugin(`${scratch}.hooks`, hooks) : undefined;
  const stream = mode === 'stream';
  const argv = [
    ...defaultFlags(flags, ['-p', '--print'], ['-p']),
    ...defaultFlags(flags, ['--output-format'], ['--output-format', stream ? 'stream-json' : 'text']),
    ...(stream ? defaultFlags(flags, ['--verbose'], ['--verbose']) : []),
    ...(permissions === 'skip'
      ? defaultFlags(flags, PERMISSION_FLAGS, ['--dangerously-skip-permissions'])
      : []),
    ...(model === undefined ? [] : defaultFlags(flags, ['--model'], ['--model', model])),
    ...(plugin ? ['--plugin-dir', plugin.path] : []),
    ...flags,
  ];
  // A background shell would keep the process alive for ten minutes after its last word.
  const env = { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1' };
  return { argv: [command, ...argv], env, ...(plugin && { folder: plugin }) };
}

/** When a session starts, it makes no requests yet. */
const isCalled = (point: HookPoint) => point !== 'start';

const PERMISSION_FLAGS = ['--dangerously-skip-permissions', '--permission-mode'];

function read(line: string): readonly AgentEvent[] {
  const record = parseObject(line);
  if (!record) return unreadable(line);
  switch (record.type) {
    case 'assistant':
      return isSynthetic(record) ? syntheticEvents(record) : assistantEvents(record, uncachedTokens);
    case 'user':
      return toolResultEvents(record, (text, isError) => ({
        text,
        exitCode: isError ? exitCodeOf(text) : undefined,
      }));
    case 'system':
      return systemEvents(record);
    case 'result':
      return resultEvents(record);
    case 'rate_limit_event':
      return rateLimitEvents(objectAt(record, 'rate_limit_info'));
    case 'stream_event': // a fragment of what comes whole
      return [];
    default:
      return unreadable(line, record);
  }
}

function exitCodeOf(text: string): number | undefined {
  const found = /^Exit code (\d{1,3})\b/.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Written by the client in the model's place: an API error, or the output of a slash command. */
function isSynthetic(record: Json): boolean {
  return stringAt(objectAt(record, 'message'), 'model') === '<synthetic>';
}

function syntheticEvents(record: Json): readonly AgentEvent[] {
  const message = messageText(record);
  const failed = record.is_api_error_message === true || wordAt(record, 'error') !== undefined;
  if (failed) return [gaveUp({ message, status: numberAt(record, 'api_error_status') })];
  return [{ kind: 'progress', text: oneLine(message) }];
}

function systemEvents(record: Json): readonly AgentEvent[] {
  const subtype = stringAt(record, 'subtype') ?? '';
  switch (subtype) {
    case 'init':
      return [sessionEvent(record, 'model')];
    case 'api_retry':
      return [retryEvent(record)];
    case 'compact_boundary':
      return [compactionEvent(objectAt(record, 'compact_metadata'))];
    case 'permission_denied':
      return progress(
        `permission denied: ${stringAt(record, 'tool_name') ?? 'tool'}: ${stringAt(record, 'message') ?? ''}`,
      );
    case 'model_fallback':
      return [...progress(stringAt(record, 'content')), sessionEvent(record, 'fallback_model')];
    case 'informational':
      return progress(stringAt(record, 'content'));
    case 'notification':
      return progress(stringAt(record, 'text'));
    case 'task_notification':
      return progress(stringAt(record, 'summary'));
    case 'hook_response':
      return record.outcome === 'error' ? progress(`${stringAt(record, 'hook_name')} hook failed`) : [];
    case 'status':
    case 'hook_started':
    case 'thinking_tokens':
    case 'task_started':
    case 'task_progress':
    case 'task_updated':
    case 'background_tasks_changed':
      return [];
    default:
      return [{ kind: 'unknown', what: oneLine(`system ${subtype}`) }];
  }
}

function sessionEvent(record: Json, modelKey: string): AgentEvent {
  const sessionId = wordAt(record, 'session_id');
  const model = wordAt(record, modelKey);
  const version = wordAt(record, 'claude_code_version');
  return {
    kind: 'session',
    ...(sessionId !== undefined && { sessionId }),
    ...(model !== undefined && { model }),
    ...(version !== undefined && { version }),
  };
}

function retryEvent(record: Json): AgentEvent {
  const status = numberAt(record, 'error_status');
  const attempt = `attempt ${countAt(record, 'attempt') ?? '?'} of ${countAt(record, 'max_retries') ?? '?'}`;
  const message = `${stringAt(record, 'error') ?? 'error'} (${attempt})`;
  // Without a status the connection broke: there was no answer to have one.
  return retrying({ message, status, class: status === undefined ? 'transient' : undefined });
}

function compactionEvent(metadata: Json | undefined): AgentEvent {
  const tokens = (key: string) => countAt(metadata, key) ?? '?';
  return {
    kind: 'progress',
    text: `context compacted: ${tokens('pre_tokens')} to ${tokens('post_tokens')} tokens`,
  };
}

function progress(text: string | undefined): readonly AgentEvent[] {
  return text ? [{ kind: 'progress', text: oneLine(text) }] : [];
}

/** `allowed` comes with every session of a subscription; only `rejected` is trouble. */
function rateLimitEvents(info: Json | undefined): readonly AgentEvent[] {
  const kind = wordAt(info, 'rateLimitType') ?? 'rate';
  const resetAt = milliseconds(countAt(info, 'resetsAt'));
  if (info?.status === 'rejected') {
    return [gaveUp({ message: `the ${kind} limit is reached`, class: 'rate-limit', resetAt })];
  }
  return info?.status === 'allowed_warning' ? progress(`close to the ${kind} limit`) : [];
}

/** `result.result` repeats words that came before; when the model was never asked, it echoes the prompt. */
function resultEvents(record: Json): readonly AgentEvent[] {
  const cost = countAt(record, 'total_cost_usd');
  const tokens = sessionTokens(record);
  const turns = countAt(record, 'num_turns');
  const error = resultError(record);
  const finalText = wordAt(record, 'result');
  return [
    { kind: 'usage', scope: 'total', ...(tokens && { tokens }), ...(cost !== undefined && { cost }) },
    ...(error !== undefined && !isOwnLimit(record) && !wasNotAsked(record)
      ? [gaveUp({ message: error, status: numberAt(record, 'api_error_status') })]
      : []),
    {
      kind: 'result',
      ok: error === undefined,
      ...(error !== undefined && { error }),
      ...(turns !== undefined && { modelTurns: turns }),
      ...(error === undefined && turns !== 0 && finalText !== undefined && { finalText }),
    },
  ];
}

/** `usage` is that of one result; `modelUsage` is that of the whole session, as the cost is. */
function sessionTokens(record: Json): Tokens | undefined {
  const models = objectAt(record, 'modelUsage');
  const usage = objectAt(record, 'usage');
  if (!models || Object.keys(models).length === 0) return usage && uncachedTokens(usage);
  return Object.values(models)
    .map(value => modelTokens(asObject(value)))
    .reduce((sum: Tokens, tokens) => addTokens(sum, tokens) ?? sum, NO_TOKENS);
}

const NO_TOKENS: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

function modelTokens(model: Json | undefined): Tokens {
  const cacheRead = countAt(model, 'cacheReadInputTokens') ?? 0;
  const cacheWrite = countAt(model, 'cacheCreationInputTokens') ?? 0;
  const input = (countAt(model, 'inputTokens') ?? 0) + cacheRead + cacheWrite;
  return { input, output: countAt(model, 'outputTokens') ?? 0, cacheRead, cacheWrite };
}

/** An API error comes as `subtype: "success"`: only `is_error` counts. */
function resultError(record: Json): string | undefined {
  if (wasNotAsked(record)) return 'the prompt was taken for a slash command; the model was not asked';
  if (record.is_error !== true) return undefined;
  const errors = Array.isArray(record.errors) ? record.errors.filter(error => typeof error === 'string') : [];
  return errors.join('; ') || wordAt(record, 'result') || (wordAt(record, 'subtype') ?? 'error');
}

function wasNotAsked(record: Json): boolean {
  return record.num_turns === 0 && record.local_command !== undefined;
}

/** The user's own `--max-turns` or `--max-budget-usd`: an end, and nothing that is broken. */
function isOwnLimit(record: Json): boolean {
  return record.subtype === 'error_max_turns' || record.subtype === 'error_max_budget_usd';
}
