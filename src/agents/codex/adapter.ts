/** Codex, `codex e --json`. */
import { createHash } from 'node:crypto';
import { type Json, numberAt, objectAt, objectsAt, stringAt, wordAt } from '../../domain/text/json.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import {
  asideEvents,
  gaveUp,
  oneLine,
  progressEvents,
  type Records,
  readLine,
  refusedEvents,
  retrying,
  sessionEvent,
  silent,
  textEvents,
  tokensAt,
  toolEnd,
  toolStart,
} from '../events.ts';
import { CLAUDE_EVENTS, type Hook, type HookEvents, hooksOf } from '../hooks.ts';

const HOOK_EVENTS: HookEvents = { ...CLAUDE_EVENTS, tools: 'PostToolUse' };

export const codex: AgentAdapter = {
  name: 'codex',
  install: 'npm install -g @openai/codex',
  tested: '0.166.0',
  login: {
    status: ['login', 'status'],
    fix: 'codex login',
    traces: {
      variables: /^(OPENAI_|AZURE_|CODEX_(?!HOME$))/,
      files: ['~/.codex/auth.json', '.codex/config.toml', '/etc/codex'],
      settings: ['~/.codex/config.toml'],
      words: /provider|credentials_store|env_key|base_url|--oss|--profile|(^| )-p /,
    },
  },
  reports: { cost: 'never', tokens: 'turn', toolCalls: true },
  endsWithResult: true,
  needsFile: false,
  needs: {
    hosts: ['api.openai.com', 'chatgpt.com', 'auth.openai.com'],
    addresses: ['OPENAI_BASE_URL'],
    state: ['~/.codex'],
    stateVariable: 'CODEX_HOME',
    settings: ['~/.codex/config.toml', '~/.codex/hooks.json', '~/.codex/rules', '~/.codex/plugins', '.codex'],
    keys: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
  },
  dialogue: { modelFlag: '-m' },
  stopSignal: 'SIGINT', // SIGTERM leaves the running tool behind
  hookEvents: HOOK_EVENTS,
  invocation,
  read: line => readLine(line, RECORDS),
};

const BYPASS = ['--dangerously-bypass-approvals-and-sandbox', '--yolo'];

function invocation(request: AgentRequest): AgentInvocation {
  const { command, model, mode, scratch } = request;
  const flags = withoutSubcommand(request.flags);
  const reply = `${scratch}.reply.txt`;
  const ownReply = mode === 'text' ? defaultFlags(flags, ['-o', '--output-last-message'], ['-o', reply]) : [];
  const argv = [
    'e',
    ...(mode === 'stream' ? defaultFlags(flags, ['--json'], ['--json']) : ownReply),
    ...sandboxFlags(request),
    ...(model === undefined ? [] : defaultFlags(flags, ['-m', '--model', 'model'], ['-m', model])),
    ...hookFlags(hooksOf('codex', HOOK_EVENTS, request.hooks)),
    ...flags,
    ...defaultFlags(flags, ['-'], ['-']), // the prompt is on stdin
  ];
  return { argv: [command, ...argv], env: {}, ...(ownReply.length > 0 && { replyFile: reply }) };
}

/**
 * Codex runs no hook that is not trusted, and says nothing about it. Its flag that trusts all hooks would also trust those
 * of the repository; so these are trusted one by one, by the hash that Codex itself would keep.
 */
function hookFlags(hooks: readonly Hook[]): readonly string[] {
  if (hooks.length === 0) return [];
  // A string in JSON is one in TOML.
  const tables = hooks.map(({ event, command, timeout }) => {
    const handler = `type="command",command=${JSON.stringify(command)},timeout=${timeout}`;
    return `hooks.${event}=[{hooks=[{${handler}}]}]`;
  });
  const trust = hooks.map(hook => `"/<session-flags>/config.toml:${trustName(hook)}:0:0"=${trusted(hook)}`);
  return [...tables, `hooks.state={${trust.join(',')}}`].flatMap(table => ['-c', table]);
}

function trustName({ event }: Hook): string {
  return event.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
}

function trusted(hook: Hook): string {
  const { command, timeout } = hook;
  const handler = { async: false, command, timeout, type: 'command' };
  const identity = JSON.stringify({ event_name: trustName(hook), hooks: [handler] });
  return `{trusted_hash="sha256:${createHash('sha256').update(identity).digest('hex')}"}`;
}

/** A user who names the subcommand himself means the same as we do. */
function withoutSubcommand(flags: readonly string[]): readonly string[] {
  return flags[0] === 'e' || flags[0] === 'exec' ? flags.slice(1) : flags;
}

/** Left to itself `exec` may only read. The bypass flag also waives the demand for a git repository. */
function sandboxFlags({ flags, permissions }: AgentRequest): readonly string[] {
  const chosen = [...BYPASS, '-s', '--sandbox', '--full-auto', '--approve-for-me', 'sandbox_mode'];
  const wanted = permissions === 'skip' ? BYPASS.slice(0, 1) : ['-s', 'workspace-write'];
  const ours = defaultFlags(flags, chosen, wanted);
  const bypassed = [...ours, ...flags].some(word => BYPASS.includes(word));
  const repoCheck = '--skip-git-repo-check';
  return bypassed ? ours : [...ours, ...defaultFlags(flags, [repoCheck], [repoCheck])];
}

const RECORDS: Records = {
  'thread.started': record =>
    wordAt(record, 'thread_id') ? [sessionEvent(record, { sessionId: 'thread_id' })] : [],
  'turn.started': silent,
  'item.started': record => itemEvents('item.started', objectAt(record, 'item')),
  'item.updated': record => itemEvents('item.updated', objectAt(record, 'item')),
  'item.completed': record => itemEvents('item.completed', objectAt(record, 'item')),
  error: record => [errorEvent(stringAt(record, 'message') ?? 'error')],
  'turn.completed': record => [...usageEvents(objectAt(record, 'usage')), { kind: 'result', ok: true }],
  'turn.failed': record => failureEvents(wordAt(objectAt(record, 'error'), 'message') ?? 'the turn failed'),
};

/** "Reconnecting... 1/2 (why)" comes before a recovery as well as before the end. */
function errorEvent(message: string): AgentEvent {
  return message.startsWith('Reconnecting') ? retrying({ message }) : failure(message);
}

function failureEvents(error: string): readonly AgentEvent[] {
  return [failure(error), { kind: 'result', ok: false, error }];
}

/** An exhausted plan names the time of day at which it resets: waiting helps, where a quota needs money. */
function failure(message: string): AgentEvent {
  const resets = /\busage limit\b[\s\S]*\btry again (?:at|in) /i.test(message);
  return gaveUp({ message, class: resets ? 'rate-limit' : undefined });
}

/** The cached tokens are among `input_tokens`, the reasoning among `output_tokens`. */
function usageEvents(usage: Json | undefined): readonly AgentEvent[] {
  if (!usage) return [];
  const tokens = tokensAt(usage, {
    input: 'input_tokens',
    output: 'output_tokens',
    cacheRead: 'cached_input_tokens',
    cacheWrite: 'cache_write_input_tokens',
  });
  return [{ kind: 'usage', scope: 'total', tokens }];
}

type ItemRecord = 'item.started' | 'item.updated' | 'item.completed';

export function itemEvents(record: ItemRecord, item: Json | undefined): readonly AgentEvent[] {
  const type = stringAt(item, 'type') ?? '';
  switch (type) {
    case 'agent_message':
      return record === 'item.completed' ? textEvents(stringAt(item, 'text')) : [];
    case 'reasoning':
      return record === 'item.completed' ? asideEvents('thinking', stringAt(item, 'text')) : [];
    case 'todo_list':
      return [todoEvent(item)];
    case 'error': // a warning, such as an unknown model; a real failure is a record of its own
      return progressEvents(stringAt(item, 'message') ?? 'warning');
    default: {
      const tool = Object.hasOwn(TOOLS, type) ? TOOLS[type] : undefined;
      if (item && tool) return toolEvents(record, type, tool, item);
      return [{ kind: 'unknown', what: oneLine(`item ${type}`) }];
    }
  }
}

function todoEvent(item: Json | undefined): AgentEvent {
  const items = objectsAt(item, 'items').map(todo => ({
    text: stringAt(todo, 'text') ?? '',
    status: todo.completed === true ? ('done' as const) : ('pending' as const),
  }));
  return { kind: 'todo', items };
}

type Tool = (item: Json) => { readonly name: string; readonly input: unknown };

function toolEvents(record: ItemRecord, type: string, tool: Tool, item: Json): readonly AgentEvent[] {
  const id = stringAt(item, 'id') ?? '';
  if (record === 'item.started') return toolStart({ id, ...tool(item) });
  if (record === 'item.updated') return [];
  const status = stringAt(item, 'status') ?? 'completed';
  const exitCode = numberAt(item, 'exit_code');
  const text = outputOf(type, item);
  return [
    ...(status === 'declined' ? refusedEvents({ id }, text) : []),
    toolEnd({ id, ok: status === 'completed', text, exitCode }),
  ];
}

const TOOLS: Readonly<Record<string, Tool>> = {
  command_execution: item => ({ name: 'shell', input: unwrapShell(stringAt(item, 'command') ?? '') }),
  file_change: item => ({ name: 'apply_patch', input: changesOf(item) }),
  mcp_tool_call: item => ({
    name: [wordAt(item, 'server'), wordAt(item, 'tool')].filter(Boolean).join('.'),
    input: item.arguments,
  }),
  web_search: item => ({ name: 'web_search', input: stringAt(item, 'query') ?? '' }),
  collab_tool_call: item => ({
    name: wordAt(item, 'tool') ?? 'collab',
    input: stringAt(item, 'prompt') ?? '',
  }),
};

function changesOf(item: Json): string {
  const changes = objectsAt(item, 'changes');
  return changes
    .map(change => `${stringAt(change, 'kind') ?? ''} ${stringAt(change, 'path') ?? ''}`)
    .join(', ');
}

function outputOf(type: string, item: Json): string {
  if (type === 'command_execution') return stringAt(item, 'aggregated_output') ?? '';
  if (type !== 'mcp_tool_call') return '';
  const texts = objectsAt(objectAt(item, 'result'), 'content').map(block => stringAt(block, 'text') ?? '');
  return stringAt(objectAt(item, 'error'), 'message') ?? texts.join('\n');
}

/** Takes `/bin/bash -lc '…'` off a command: everybody knows that it runs in a shell. Only the beginning is kept. */
export function unwrapShell(whole: string): string {
  const command = whole.slice(0, SHOWN_CHARS); // a command may hold a file of megabytes
  const script = /^\S*\b(?:bash|zsh|sh|dash)\s+-l?c\s+([\s\S]+)$/.exec(command)?.[1];
  return script === undefined ? command : unquote(script.trim());
}

const SHOWN_CHARS = 4_000;

/** One shell word without its quotes. */
function unquote(word: string): string {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g, (_, single, double, escaped) => {
    if (single !== undefined) return single;
    return double === undefined ? escaped : double.replace(/\\([$`"\\])/g, '$1');
  });
}
