/** What adapters make of records, the same for every agent: words, tools, tokens, trouble, and what nobody knows. */

import { defined } from '../domain/text/fields.ts';
import {
  asObject,
  countAt,
  type Json,
  objectsAt,
  parseObject,
  stringAt,
  wordAt,
} from '../domain/text/json.ts';
import {
  type AgentEvent,
  type TodoItem,
  type TodoStatus,
  type ToolOutput,
  toolOutput,
} from '../domain/turn/agent-event.ts';
import { GUARD_REFUSED, type RefusedCall } from '../domain/turn/refusals.ts';
import { classifyError, classifyStatus, type Trouble, type TroubleClass } from '../domain/turn/trouble.ts';
import { addTokens, type Tokens } from '../domain/turn/usage.ts';
import { leftOutOf } from './long-lines.ts';

/** What each type of record says. */
export type Records = Readonly<Record<string, (record: Json) => readonly AgentEvent[]>>;

/** A type that is not among them is counted as unknown, as is a line that is no record. */
export function readLine(line: string, records: Records, record = parseObject(line)): readonly AgentEvent[] {
  if (!record) {
    const text = oneLine(line);
    return text === '' ? [] : [{ kind: 'unknown', what: `not JSON: ${text}` }];
  }
  const type = stringAt(record, 'type');
  if (type !== undefined && Object.hasOwn(records, type)) return records[type]?.(record) ?? [];
  return [{ kind: 'unknown', what: oneLine(type ?? 'record without a type') }];
}

/** A record that says nothing that is not said elsewhere. */
export const silent = (): readonly AgentEvent[] => [];

/** The start of a session; `keys` are what this agent calls its fields. */
export function sessionEvent(
  record: Json,
  keys: { readonly sessionId?: string; readonly model?: string; readonly version?: string },
): AgentEvent {
  const at = (key: string | undefined) => (key === undefined ? undefined : wordAt(record, key));
  const { sessionId, model, version } = keys;
  return {
    kind: 'session',
    ...defined({ sessionId: at(sessionId), model: at(model), version: at(version) }),
  };
}

/** The agent's own words. */
export function textEvents(text: string | undefined, message?: string): readonly AgentEvent[] {
  return text ? [{ kind: 'text', text, ...defined({ message }) }] : [];
}

export function asideEvents(from: 'thinking' | 'subagent', text: string | undefined): readonly AgentEvent[] {
  return text ? [{ kind: 'aside', from, text }] : [];
}

export function progressEvents(text: string | undefined): readonly AgentEvent[] {
  return text ? [{ kind: 'progress', text: oneLine(text) }] : [];
}

/** What this agent calls its counts; one that has no name, or is not there, is 0. */
export function tokensAt(
  usage: Json | undefined,
  keys: Readonly<Partial<Record<keyof Tokens, string>>>,
): Tokens {
  const count = (key = '') => countAt(usage, key) ?? 0;
  return {
    input: count(keys.input),
    output: count(keys.output),
    cacheRead: count(keys.cacheRead),
    cacheWrite: count(keys.cacheWrite),
  };
}

/** For agents that leave the cached tokens out of their input. */
export function withCached(tokens: Tokens): Tokens {
  return { ...tokens, input: tokens.input + tokens.cacheRead + tokens.cacheWrite };
}

/** The sum over all models that a session has used. */
export function sumTokens(models: Json, tokensOf: (model: Json | undefined) => Tokens): Tokens | undefined {
  return Object.values(models)
    .map(model => tokensOf(asObject(model)))
    .reduce<Tokens | undefined>(addTokens, undefined);
}

interface ToolStart {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly subagent?: boolean;
}

export function toolStart({ id, name, input, subagent }: ToolStart): readonly AgentEvent[] {
  const summary = summarise(input);
  const start = { kind: 'tool-start', id, name, summary, ...(subagent && { subagent }) } as const;
  const items = subagent ? [] : todoItems(name, input);
  return items.length > 0 ? [start, { kind: 'todo', items }] : [start];
}

interface ToolEnd {
  readonly id: string;
  /** What the agent says of it. A command that exits with something else than 0 has failed all the same. */
  readonly ok: boolean;
  readonly text: string;
  readonly exitCode?: number | undefined;
  readonly subagent?: boolean;
}

export function toolEnd({ id, ok, text, exitCode, subagent }: ToolEnd): AgentEvent {
  return {
    kind: 'tool-end',
    id,
    ok: ok && (exitCode ?? 0) === 0,
    output: outputOf(text),
    ...(exitCode !== undefined && { exitCode }),
    ...(subagent && { subagent }),
  };
}

/** The counts are of the whole, also where the line was shortened. */
function outputOf(text: string): ToolOutput {
  const { kept, chars, newlines } = leftOutOf(text);
  const output = toolOutput(kept);
  return { ...output, lines: output.lines + newlines, chars: output.chars + chars };
}

/** What a reader wants to see of an input, best first. `cmd` is what amp calls a command. */
const TELLING_KEYS = [
  'command',
  'cmd',
  'file_path',
  'path',
  'filePath',
  'notebook_path',
  'pattern',
  'query',
  'url',
  'description',
] as const;

export function summarise(input: unknown): string {
  if (typeof input === 'string') return oneLine(input);
  const object = asObject(input);
  const telling = TELLING_KEYS.map(key => wordAt(object, key)).find(word => word !== undefined);
  return oneLine(telling ?? compact(input));
}

const MAX_SUMMARY = 200;

export function oneLine(text: string): string {
  // Ten times as much as is shown: enough for the white space that goes, and no work on a whole file.
  const line = text
    .slice(0, MAX_SUMMARY * 10)
    .replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim();
  return line.length <= MAX_SUMMARY
    ? line
    : `${line.slice(0, MAX_SUMMARY - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Whether it is the beginning of a longer text. */
export function isCut(line: string): boolean {
  return line.length >= MAX_SUMMARY - 1 && line.endsWith('…');
}

function compact(input: unknown): string {
  if (input === undefined || input === null) return '';
  try {
    const text = JSON.stringify(input);
    return text === '{}' ? '' : text;
  } catch {
    return ''; // nested deeper than the stack
  }
}

const TODO_TOOLS = /^(?:TodoWrite|todowrite|todo_write|write_todos)$/;

function todoItems(name: string, input: unknown): readonly TodoItem[] {
  if (!TODO_TOOLS.test(name)) return [];
  return objectsAt(asObject(input), 'todos').map(todo => ({
    text: wordAt(todo, 'content') ?? wordAt(todo, 'description') ?? wordAt(todo, 'text') ?? '',
    status: todoStatus(todo),
  }));
}

function todoStatus(todo: Json): TodoStatus {
  const status = stringAt(todo, 'status');
  if (status === 'completed') return 'done';
  return status === 'in_progress' ? 'active' : 'pending';
}

interface Failure {
  readonly message: string;
  readonly status?: number | undefined;
  /** A class that the agent names itself. */
  readonly class?: TroubleClass | undefined;
  /** In milliseconds since 1970. */
  readonly resetAt?: number | undefined;
}

/** The agent gave up. */
export function gaveUp(failure: Failure): AgentEvent {
  return { kind: 'trouble', trouble: troubleOf(failure), retrying: false };
}

/** The agent is trying again by itself. */
export function retrying(failure: Failure): AgentEvent {
  return { kind: 'trouble', trouble: troubleOf(failure), retrying: true };
}

/** The agent's own permissions did not allow a tool call. What the guard refuses it says itself. */
export function refusedEvents(call: RefusedCall, why: string): readonly AgentEvent[] {
  if (why.includes(GUARD_REFUSED)) return [];
  const message = oneLine([call.tool, why].filter(Boolean).join(': '));
  return [{ kind: 'trouble', trouble: { class: 'permission-denied', message }, retrying: true, call }];
}

function troubleOf({ message, status, class: named, resetAt }: Failure): Trouble {
  const byText = classifyError(message);
  const known = status ?? byText.status;
  return {
    class: named ?? (status === undefined ? byText.class : classOf(status, byText.class)),
    message,
    ...defined({ status: known, resetAt }),
  };
}

/** Providers answer 400 and 429 for things that are neither a wrong call nor a matter of waiting a little. */
const VAGUE: Readonly<Record<number, readonly TroubleClass[]>> = {
  400: ['auth', 'quota', 'context-overflow', 'rate-limit'],
  429: ['quota', 'context-overflow'],
};

function classOf(status: number, byText: TroubleClass): TroubleClass {
  return VAGUE[status]?.includes(byText) ? byText : classifyStatus(status);
}

/** The advice of Gemini CLI and its relatives behind every 429, and only there. It speaks of quotas, whatever the server said. */
export function withoutLimitAdvice(message: string): string {
  return message.replace(/\n(?:Please wait and try again later|Possible quota limitations)[\s\S]*$/, '');
}

/** A time that some agents give in seconds and some in milliseconds. */
export function milliseconds(time: number | undefined): number | undefined {
  return time !== undefined && time < 1e12 ? time * 1000 : time;
}
