/** Claude Code, `claude -p --output-format stream-json --verbose`. */

import type { HookPoint } from '../../domain/session/hook-orders.ts';
import { defined } from '../../domain/text/fields.ts';
import { countAt, type Json, numberAt, objectAt, stringAt, wordAt } from '../../domain/text/json.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import type { Tokens } from '../../domain/turn/usage.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import { assistantEvents, deniedIn, messageText, toolResultEvents, uncachedTokens } from '../blocks.ts';
import {
  gaveUp,
  milliseconds,
  oneLine,
  progressEvents,
  type Records,
  readLine,
  refusedEvents,
  retrying,
  sessionEvent,
  silent,
  sumTokens,
  tokensAt,
  withCached,
} from '../events.ts';
import { CLAUDE_EVENTS, hookPlugin, hooksOf } from '../hooks.ts';

/** What Claude Code reads and obeys, in a project and in the home alike. */
const HOST_FILES = ['settings.json', 'settings.local.json', 'hooks', 'agents', 'commands', 'skills'];

export const claude: AgentAdapter = {
  name: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  tested: '2.1.325',
  login: {
    status: ['auth', 'status'],
    fix: 'claude auth login',
    traces: {
      variables: /^(ANTHROPIC_|CLAUDE_CODE_|AWS_BEARER_TOKEN)/, // also Bedrock, Vertex and Foundry
      files: [
        '~/.claude/.credentials.json',
        ...['.claude/settings.json', '.claude/settings.local.json'],
        ...['/etc/claude-code/managed-settings.json', '/etc/claude-code/managed-settings.d'],
      ],
      settings: ['~/.claude/settings.json', '~/.claude.json', '~/.claude/.claude.json'],
      words: /apiKeyHelper|"env"|primaryApiKey|oauthAccount|--settings/,
    },
  },
  noUpdates: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  reports: { cost: 'turn', tokens: 'step', toolCalls: true },
  endsWithResult: true,
  needsFile: false,
  rootNeeds: ['IS_SANDBOX', 'CLAUDE_CODE_BUBBLEWRAP'],
  hookEvents: CLAUDE_EVENTS,
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
  read: line => readLine(line, RECORDS),
};

function invocation(request: AgentRequest): AgentInvocation {
  const { command, flags, model, mode, permissions, scratch } = request;
  const hooks = hooksOf('claude', CLAUDE_EVENTS, request.hooks, isCalled);
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

/** With one of these the user has chosen what it may do. */
const PERMISSION_FLAGS = [
  ...['--dangerously-skip-permissions', '--permission-mode', '--permission-prompt-tool'],
  ...['--allowedTools', '--allowed-tools'],
];

const RECORDS: Records = {
  assistant: record =>
    isSynthetic(record) ? syntheticEvents(record) : assistantEvents(record, uncachedTokens),
  user: record =>
    toolResultEvents(record, (text, isError) => ({ text, exitCode: isError ? exitCodeOf(text) : undefined })),
  system: systemEvents,
  result: resultEvents,
  rate_limit_event: record => rateLimitEvents(objectAt(record, 'rate_limit_info')),
  stream_event: silent, // a fragment of what comes whole
};

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
  return progressEvents(message);
}

function systemEvents(record: Json): readonly AgentEvent[] {
  const subtype = stringAt(record, 'subtype') ?? '';
  if (Object.hasOwn(SYSTEM, subtype)) return SYSTEM[subtype]?.(record) ?? [];
  return [{ kind: 'unknown', what: oneLine(`system ${subtype}`) }];
}

const SYSTEM: Records = {
  init: record => [sessionOf(record, 'model')],
  api_retry: record => [retryEvent(record)],
  compact_boundary: record => compactionEvents(objectAt(record, 'compact_metadata')),
  permission_denied: record =>
    refusedEvents(
      { id: stringAt(record, 'tool_use_id') ?? '', ...defined({ tool: wordAt(record, 'tool_name') }) },
      stringAt(record, 'message') ?? '',
    ),
  model_fallback: record => [
    ...progressEvents(stringAt(record, 'content')),
    sessionOf(record, 'fallback_model'),
  ],
  informational: record => progressEvents(stringAt(record, 'content')),
  notification: record => progressEvents(stringAt(record, 'text')),
  task_notification: record => progressEvents(stringAt(record, 'summary')),
  hook_response: record =>
    record.outcome === 'error' ? progressEvents(`${stringAt(record, 'hook_name')} hook failed`) : [],
  status: silent,
  hook_started: silent,
  thinking_tokens: silent,
  task_started: silent,
  task_progress: silent,
  task_updated: silent,
  background_tasks_changed: silent,
};

function sessionOf(record: Json, model: string): AgentEvent {
  return sessionEvent(record, { sessionId: 'session_id', model, version: 'claude_code_version' });
}

function retryEvent(record: Json): AgentEvent {
  const status = numberAt(record, 'error_status');
  const attempt = `attempt ${countAt(record, 'attempt') ?? '?'} of ${countAt(record, 'max_retries') ?? '?'}`;
  const message = `${stringAt(record, 'error') ?? 'error'} (${attempt})`;
  // Without a status the connection broke: there was no answer to have one.
  return retrying({ message, status, class: status === undefined ? 'transient' : undefined });
}

function compactionEvents(metadata: Json | undefined): readonly AgentEvent[] {
  const tokens = (key: string) => countAt(metadata, key) ?? '?';
  return progressEvents(`context compacted: ${tokens('pre_tokens')} to ${tokens('post_tokens')} tokens`);
}

/** `allowed` comes with every session of a subscription; only `rejected` is trouble. */
function rateLimitEvents(info: Json | undefined): readonly AgentEvent[] {
  const kind = (wordAt(info, 'rateLimitType') ?? 'rate').replaceAll('_', '-');
  const resetAt = milliseconds(countAt(info, 'resetsAt'));
  if (info?.status === 'rejected') {
    return [gaveUp({ message: `the ${kind} limit is reached`, class: 'rate-limit', resetAt })];
  }
  return info?.status === 'allowed_warning' ? progressEvents(`close to the ${kind} limit`) : [];
}

/** `result.result` repeats words that came before; when the model was never asked, it echoes the prompt. */
function resultEvents(record: Json): readonly AgentEvent[] {
  const cost = countAt(record, 'total_cost_usd');
  const tokens = sessionTokens(record);
  const turns = countAt(record, 'num_turns');
  const error = resultError(record);
  const finalText = wordAt(record, 'result');
  return [
    { kind: 'usage', scope: 'total', ...defined({ tokens, cost }) },
    ...(error !== undefined && !isOwnLimit(record) && !wasNotAsked(record)
      ? [gaveUp({ message: error, status: numberAt(record, 'api_error_status') })]
      : []),
    {
      kind: 'result',
      ok: error === undefined,
      ...defined({ error, modelTurns: turns }),
      ...deniedIn(record),
      ...(error === undefined && turns !== 0 && finalText !== undefined && { finalText }),
    },
  ];
}

/** `usage` is that of one result; `modelUsage` is that of the whole session, as the cost is. */
function sessionTokens(record: Json): Tokens | undefined {
  const models = objectAt(record, 'modelUsage');
  const usage = objectAt(record, 'usage');
  if (!models || Object.keys(models).length === 0) return usage && uncachedTokens(usage);
  return sumTokens(models, modelTokens);
}

function modelTokens(model: Json | undefined): Tokens {
  return withCached(
    tokensAt(model, {
      input: 'inputTokens',
      output: 'outputTokens',
      cacheRead: 'cacheReadInputTokens',
      cacheWrite: 'cacheCreationInputTokens',
    }),
  );
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
