/** opencode, `opencode run --format json`. */

import { defined } from '../../domain/text/fields.ts';
import {
  asObject,
  countAt,
  isObject,
  type Json,
  numberAt,
  objectAt,
  stringAt,
  wordAt,
} from '../../domain/text/json.ts';
import type { AgentEvent } from '../../domain/turn/agent-event.ts';
import type { TroubleClass } from '../../domain/turn/trouble.ts';
import type { Tokens } from '../../domain/turn/usage.ts';
import { type AgentAdapter, type AgentInvocation, type AgentRequest, defaultFlags } from '../agent.ts';
import {
  asideEvents,
  gaveUp,
  type Records,
  readLine,
  sessionEvent,
  textEvents,
  tokensAt,
  toolEnd,
  toolStart,
  withCached,
} from '../events.ts';

export const opencode: AgentAdapter = {
  name: 'opencode',
  install: 'npm install -g opencode-ai',
  tested: '1.18.18',
  noUpdates: { OPENCODE_DISABLE_AUTOUPDATE: '1' },
  reports: { cost: 'step', tokens: 'step', toolCalls: true },
  endsWithResult: false,
  needsFile: false,
  needs: {
    hosts: ['api.anthropic.com', 'api.openai.com', 'openrouter.ai', 'opencode.ai', 'models.dev'],
    addresses: ['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL'],
    state: ['~/.local/share/opencode', '~/.local/state/opencode', '~/.cache/opencode'],
    settings: ['~/.config/opencode', '.opencode', 'opencode.json', 'opencode.jsonc'],
    keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'OPENROUTER_API_KEY', 'OPENCODE_API_KEY'],
  },
  dialogue: { promptFlag: '--prompt', modelFlag: '-m' },
  stopSignal: 'SIGTERM',
  invocation,
  read: line => readLine(line, RECORDS),
};

function invocation(request: AgentRequest): AgentInvocation {
  const { command, model, mode, permissions } = request;
  const flags = request.flags[0] === 'run' ? request.flags.slice(1) : request.flags;
  const argv = [
    'run',
    ...(mode === 'stream' ? defaultFlags(flags, ['--format'], ['--format', 'json']) : []),
    ...(permissions === 'skip' ? defaultFlags(flags, ['--auto'], ['--auto']) : []),
    ...(model === undefined ? [] : defaultFlags(flags, ['-m', '--model'], ['-m', model])),
    ...flags,
  ];
  return { argv: [command, ...argv], env: {} };
}

const RECORDS: Records = {
  step_start: sessionEvents, // the first record of a run, and the earliest word of its session
  text: ({ part }) => textEvents(wordAt(asObject(part), 'text'), wordAt(asObject(part), 'messageID')),
  reasoning: ({ part }) => asideEvents('thinking', wordAt(asObject(part), 'text')),
  tool_use: ({ part }) => (isObject(part) ? toolEvents(part) : []),
  step_finish: ({ part }) => (isObject(part) ? stepEvents(part) : []),
  error: record => [...sessionEvents(record), ...errorEvents(record)],
};

function sessionEvents(record: Json): readonly AgentEvent[] {
  return wordAt(record, 'sessionID') ? [sessionEvent(record, { sessionId: 'sessionID' })] : [];
}

/** A tool is reported once, when it has ended: start and end come together. */
function toolEvents(part: Json): readonly AgentEvent[] {
  const id = stringAt(part, 'callID') ?? '';
  const name = stringAt(part, 'tool') ?? '';
  const state = objectAt(part, 'state');
  // An unknown tool is "completed" too, under the name `invalid`.
  const ok = stringAt(state, 'status') !== 'error' && name !== 'invalid';
  const text = stringAt(state, 'output') ?? stringAt(state, 'error') ?? '';
  const exitCode = numberAt(objectAt(state, 'metadata'), 'exit');
  return [...toolStart({ id, name, input: state?.input }), toolEnd({ id, ok, text, exitCode })];
}

function stepEvents(part: Json): readonly AgentEvent[] {
  const counts = objectAt(part, 'tokens');
  const tokens = counts && tokensOf(counts);
  const usage = defined({ id: wordAt(part, 'id'), tokens, cost: countAt(part, 'cost') });
  return [{ kind: 'usage', scope: 'part', ...usage }, ...endEvents(stringAt(part, 'reason'))];
}

/** `input` leaves the cached tokens out, `output` the reasoning. */
function tokensOf(counts: Json): Tokens {
  const { cacheRead, cacheWrite } = tokensAt(objectAt(counts, 'cache'), {
    cacheRead: 'read',
    cacheWrite: 'write',
  });
  const { input, output } = tokensAt(counts, { input: 'input', output: 'output' });
  return withCached({ input, output: output + (countAt(counts, 'reasoning') ?? 0), cacheRead, cacheWrite });
}

/** There is no end record: a step that asks for no tool is the end, unless another step follows. */
function endEvents(reason: string | undefined): readonly AgentEvent[] {
  switch (reason) {
    case undefined:
    case 'tool-calls':
    case 'unknown': // it continues after this one as after a tool call
      return [];
    case 'stop':
      return [{ kind: 'result', ok: true }];
    default:
      return [{ kind: 'result', ok: false, error: `the model stopped: ${reason}` }];
  }
}

function errorEvents(record: Json): readonly AgentEvent[] {
  const error = objectAt(record, 'error');
  const data = objectAt(error, 'data');
  const name = stringAt(error, 'name') ?? 'error';
  const message = wordAt(data, 'message') ?? wordAt(error, 'message') ?? name;
  const status = countAt(data, 'statusCode');
  const limited = status === 429; // any answer may carry the header; only a limit has an end
  const resetAt = limited
    ? retryAfter(objectAt(data, 'responseHeaders'), countAt(record, 'timestamp'))
    : undefined;
  const named = CLASS_OF_NAME.get(name);
  return [gaveUp({ message, status, class: named, resetAt }), { kind: 'result', ok: false, error: message }];
}

const CLASS_OF_NAME: ReadonlyMap<string, TroubleClass> = new Map([
  ['ProviderAuthError', 'auth'],
  ['ContextOverflowError', 'context-overflow'],
]);

/** The header is a number of seconds or a date; the record's own time says when the seconds began. */
function retryAfter(headers: Json | undefined, now: number | undefined): number | undefined {
  const header = wordAt(headers, 'retry-after');
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return now === undefined ? undefined : now + seconds * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : date;
}
