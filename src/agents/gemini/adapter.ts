/** Gemini CLI, `gemini -o stream-json`. */

import { defined } from '../../domain/text/fields.ts';
import { countAt, type Json, objectAt, stringAt, wordAt } from '../../domain/text/json.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import type { Tokens } from '../../domain/turn/usage.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import {
  gaveUp,
  oneLine,
  type Records,
  readLine,
  refusedEvents,
  sessionEvent,
  tokensAt,
  toolEnd,
  toolStart,
  withoutLimitAdvice,
} from '../events.ts';

export const gemini: AgentAdapter = {
  name: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  tested: '0.61.0',
  reports: { cost: 'never', tokens: 'turn', toolCalls: true },
  endsWithResult: true,
  needsFile: true,
  needs: {
    hosts: [
      'generativelanguage.googleapis.com',
      'cloudcode-pa.googleapis.com',
      'oauth2.googleapis.com',
      'aiplatform.googleapis.com',
    ],
    addresses: ['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL'],
    state: ['~/.gemini'],
    settings: [
      '~/.gemini/settings.json',
      '~/.gemini/trustedFolders.json',
      '~/.gemini/extensions',
      '.gemini/settings.json',
      '.gemini/extensions',
    ],
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  },
  dialogue: { promptFlag: '-i', modelFlag: '-m' },
  stopSignal: 'SIGTERM',
  invocation,
  errorIn: stderr => [...stderr.matchAll(STDERR_ERROR)].at(-1)?.[1],
  read: line => readLine(line, RECORDS),
};

/** A stack and an "unexpected critical error" come after it. */
const STDERR_ERROR = /^Error when talking to \S+ API\b.*?\b_?\w*Error: (.+)$/gm;

function invocation({ command, flags, model, mode, permissions }: AgentRequest): AgentInvocation {
  const argv = [
    ...(mode === 'stream' ? defaultFlags(flags, ['-o', '--output-format'], ['-o', 'stream-json']) : []),
    ...defaultFlags(flags, ['--skip-trust'], ['--skip-trust']), // it refuses to work in a folder it was not asked to trust
    ...(permissions === 'skip' ? defaultFlags(flags, PERMISSION_FLAGS, ['--yolo']) : []),
    ...(model === undefined ? [] : defaultFlags(flags, ['-m', '--model'], ['-m', model])),
    ...flags,
  ];
  return { argv: [command, ...argv], env: {} };
}

/** With one of these the user has chosen what it may do. */
const PERMISSION_FLAGS = ['--yolo', '-y', '--approval-mode', '--allowed-tools'];

const RECORDS: Records = {
  init: record => [sessionEvent(record, { sessionId: 'session_id', model: 'model' })],
  message: record => (record.role === 'assistant' ? messageEvents(record) : []),
  tool_use: record =>
    toolStart({
      id: stringAt(record, 'tool_id') ?? '',
      name: stringAt(record, 'tool_name') ?? '',
      input: record.parameters,
    }),
  tool_result: toolEndEvents,
  error: record => [errorEvent(record)],
  result: resultEvents,
};

function messageEvents(record: Json): readonly AgentEvent[] {
  const text = wordAt(record, 'content');
  return text === undefined ? [] : [{ kind: 'text', text, ...(record.delta === true && { delta: true }) }];
}

/** A command that failed is a `success` here, and its exit code is nowhere to be found. */
function toolEndEvents(record: Json): readonly AgentEvent[] {
  const error = objectAt(record, 'error');
  const text = stringAt(record, 'output') ?? stringAt(error, 'message') ?? '';
  const id = stringAt(record, 'tool_id') ?? '';
  const refused = error?.type === 'policy_violation' ? refusedEvents({ id }, text) : [];
  return [...refused, toolEnd({ id, ok: record.status === 'success', text })];
}

/** A warning is how a hook that blocked, or the loop detector, is shown. */
function errorEvent(record: Json): AgentEvent {
  const message = wordAt(record, 'message') ?? 'error';
  return record.severity === 'warning' ? { kind: 'progress', text: oneLine(message) } : gaveUp({ message });
}

function resultEvents(record: Json): readonly AgentEvent[] {
  const stats = objectAt(record, 'stats');
  const calls = defined({ toolCalls: countAt(stats, 'tool_calls') });
  const usage = usageEvents(stats);
  if (record.status === 'success') return [...usage, { kind: 'result', ok: true, ...calls }];
  const error = objectAt(record, 'error');
  const message = wordAt(error, 'message') ?? 'error';
  const isOwnLimit = error?.type === 'FatalTurnLimitedError'; // set by the user
  const trouble = isOwnLimit ? [] : [failureEvent(message, Date.parse(stringAt(record, 'timestamp') ?? ''))];
  return [...usage, ...trouble, { kind: 'result', ok: false, error: message, ...calls }];
}

/** The server may say how long to wait; the record says from when on. */
function failureEvent(whole: string, now: number): AgentEvent {
  const message = withoutLimitAdvice(whole);
  if (message === whole) return gaveUp({ message });
  const wait = /retry (?:in|after) (\d+(?:\.\d+)?)s\b/i.exec(message)?.[1];
  const resetAt = wait === undefined || Number.isNaN(now) ? undefined : Math.round(now + Number(wait) * 1000);
  return gaveUp({ message, status: 429, class: wait === undefined ? undefined : 'rate-limit', resetAt });
}

function usageEvents(stats: Json | undefined): readonly AgentEvent[] {
  if (!stats) return [];
  const models = Object.keys(objectAt(stats, 'models') ?? {});
  const model = models.length === 1 ? models[0] : undefined; // which is more than `auto`, that init may say
  return [{ kind: 'usage', scope: 'total', tokens: tokensOf(stats), ...defined({ model }) }];
}

/** `input_tokens` holds the cached ones; thoughts are in the total and not in `output_tokens`. */
function tokensOf(stats: Json): Tokens {
  const tokens = tokensAt(stats, { input: 'input_tokens', output: 'output_tokens', cacheRead: 'cached' });
  const output = Math.max(tokens.output, (countAt(stats, 'total_tokens') ?? 0) - tokens.input);
  return { ...tokens, output };
}
