/** Qwen Code, `qwen -o stream-json`. */

import { defined } from '../../domain/text/fields.ts';
import { countAt, type Json, objectAt, stringAt, wordAt } from '../../domain/text/json.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import type { Tokens } from '../../domain/turn/usage.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import { assistantEvents, deniedIn, messageText, type ToolReply, toolResultEvents } from '../blocks.ts';
import {
  gaveUp,
  oneLine,
  progressEvents,
  type Records,
  readLine,
  retrying,
  sessionEvent,
  silent,
  tokensAt,
  withoutLimitAdvice,
} from '../events.ts';
import { CLAUDE_EVENTS, hooksOf, hookTable } from '../hooks.ts';

export const qwen: AgentAdapter = {
  name: 'qwen',
  install: 'npm install -g @qwen-code/qwen-code',
  tested: '0.24.4',
  reports: { cost: 'never', tokens: 'step', toolCalls: true },
  endsWithResult: true,
  needsFile: true,
  needs: {
    hosts: ['dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com', 'chat.qwen.ai', 'portal.qwen.ai'],
    addresses: ['OPENAI_BASE_URL'],
    state: ['~/.qwen'],
    settings: ['~/.qwen/settings.json', '~/.qwen/extensions', '.qwen/settings.json', '.qwen/extensions'],
    keys: ['DASHSCOPE_API_KEY', 'OPENAI_API_KEY'],
  },
  dialogue: { promptFlag: '-i', modelFlag: '-m' },
  stopSignal: 'SIGTERM',
  hookEvents: CLAUDE_EVENTS,
  invocation,
  read: line => readLine(line, RECORDS),
};

function invocation(request: AgentRequest): AgentInvocation {
  const { command, flags, model, mode, permissions, scratch } = request;
  const argv = [
    ...(mode === 'stream' ? defaultFlags(flags, ['-o', '--output-format'], ['-o', 'stream-json']) : []),
    ...(permissions === 'skip' ? defaultFlags(flags, PERMISSION_FLAGS, ['--yolo']) : []),
    ...(model === undefined ? [] : defaultFlags(flags, ['-m', '--model'], ['-m', model])),
    ...flags,
  ];
  const hooks = hooksOf('qwen', CLAUDE_EVENTS, request.hooks);
  if (hooks.length === 0) return { argv: [command, ...argv], env: {} };
  // The lowest layer of its settings, which adds to the user's own; a place where nearly nobody has any.
  const folder = {
    path: `${scratch}.hooks`,
    files: { 'qwen.json': JSON.stringify({ hooks: hookTable(hooks) }) },
  };
  const env = { QWEN_CODE_SYSTEM_DEFAULTS_PATH: `${folder.path}/qwen.json` };
  return { argv: [command, ...argv], env, folder };
}

/** With one of these the user has chosen what it may do. */
const PERMISSION_FLAGS = ['--yolo', '-y', '--approval-mode', '--allowed-tools'];

const RECORDS: Records = {
  assistant: record =>
    isErrorText(record) ? progressEvents(messageText(record)) : assistantEvents(record, messageTokens),
  user: record => toolResultEvents(record, replyOf),
  system: systemEvents,
  result: resultEvents,
  stream_event: silent, // the state of a goal, or a fragment of what comes whole
};

/** The client puts an API error where the model's words should be, under the model's name and for no tokens. */
function isErrorText(record: Json): boolean {
  const spent = countAt(objectAt(objectAt(record, 'message'), 'usage'), 'output_tokens');
  const text = messageText(record);
  return spent === 0 && text.startsWith('[API Error: ') && text.trimEnd().endsWith(']');
}

/** Only the last record of a message has its usage; the zeros on the others mean nothing. */
function messageTokens(usage: Json): Tokens | undefined {
  const tokens = tokensOf(usage);
  return tokens.input + tokens.output > 0 ? tokens : undefined;
}

/** Unlike its relatives, it counts the cached tokens among `input_tokens`. */
function tokensOf(usage: Json): Tokens {
  return tokensAt(usage, {
    input: 'input_tokens',
    output: 'output_tokens',
    cacheRead: 'cache_read_input_tokens',
  });
}

/** A shell command is answered with a form; a file that looks like one does not begin with `Command:`. */
function replyOf(text: string): ToolReply {
  const exitCode = text.startsWith('Command: ')
    ? /^Exit Code: (\d+)$/m.exec(text.slice(-400))?.[1]
    : undefined;
  return { text, exitCode: exitCode === undefined ? undefined : Number(exitCode) };
}

function systemEvents(record: Json): readonly AgentEvent[] {
  const subtype = stringAt(record, 'subtype') ?? '';
  if (subtype === 'init') return [sessionEvent(record, { sessionId: 'session_id', model: 'model' })];
  if (subtype === 'retry') return [retryEvent(objectAt(record, 'data'))];
  return [{ kind: 'unknown', what: oneLine(`system ${subtype}`) }];
}

function retryEvent(data: Json | undefined): AgentEvent {
  const attempt = countAt(data, 'attempt');
  const message =
    attempt === undefined ? 'retry' : `retry ${attempt} of ${countAt(data, 'maxRetries') ?? '?'}`;
  return retrying({ message, class: 'transient' }); // it does not say why
}

function resultEvents(record: Json): readonly AgentEvent[] {
  const usage = objectAt(record, 'usage');
  const turns = { ...defined({ modelTurns: countAt(record, 'num_turns') }), ...deniedIn(record) };
  const total: readonly AgentEvent[] = usage
    ? [{ kind: 'usage', scope: 'total', tokens: tokensOf(usage) }]
    : [];
  if (record.is_error !== true) return [...total, { kind: 'result', ok: true, ...turns }];
  const message = wordAt(objectAt(record, 'error'), 'message') ?? wordAt(record, 'subtype') ?? 'error';
  const error = withoutLimitAdvice(message);
  return [...total, gaveUp({ message: error }), { kind: 'result', ok: false, error, ...turns }];
}
