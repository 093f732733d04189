/**
 * A line of a ledger may have been written by another version, or by an attacker. What does not have the shape of its
 * type is not that event: readers show it as an unknown line, and nothing is derived from it.
 */
import type { AgentEvent } from './agent-event.ts';
import type { RunEvent } from './event.ts';

export type KnownEntry = { readonly seq: number; readonly at: string } & RunEvent;

export type RawEntry = { readonly seq: number; readonly at: string; readonly type: string };

type Kind = 'string' | 'number' | 'boolean' | 'object' | 'list' | 'strings';

const HEAD: Readonly<Record<string, Kind>> = {
  runId: 'string',
  command: 'string',
  agent: 'string',
  'model?': 'string',
  maxIterations: 'number',
  checks: 'strings',
  cwd: 'string',
  'sandbox?': 'string',
};

/** What readers rely on in each event; other keys do not matter. A name that ends with `?` may be missing. */
const SHAPES: Readonly<Record<RunEvent['type'], Readonly<Record<string, Kind>>>> = {
  'run-started': HEAD,
  'run-resumed': { ...HEAD, iteration: 'number', step: 'string', repaired: 'strings', changes: 'strings' },
  prepared: {},
  'turn-ended': { outcome: 'object', 'claim.found': 'boolean', usage: 'object' },
  tampered: { what: 'strings' },
  judged: { iteration: 'number', 'verdict.kind': 'string', 'limits?': 'object' },
  'stories-settled': {
    iteration: 'number',
    hash: 'string',
    done: 'number',
    total: 'number',
    'moved?': 'object',
    'moved.id?': 'string',
    'moved.reviewFeedback?': 'string',
  },
  'scm-started': { task: 'string' },
  'iteration-started': { iteration: 'number', 'mode?': 'string', 'story?': 'string' },
  'agent-started': { purpose: 'string', 'promptChars?': 'number', 'userChars?': 'number' },
  agent: { event: 'object', 'event.kind': 'string' },
  'agent-ended': {
    purpose: 'string',
    outcome: 'object',
    'outcome.kind': 'string',
    'outcome.trouble?': 'object',
    'outcome.trouble.message?': 'string',
    duration: 'number',
    usage: 'object',
    'usage.cost?': 'number',
    'usage.tokens?': 'object',
  },
  waiting: {
    agent: 'string',
    'trouble.class': 'string',
    'trouble.message': 'string',
    until: 'number',
  },
  'agent-switched': { from: 'string', to: 'string', why: 'string' },
  paused: {},
  continued: {},
  told: { text: 'string' },
  'check-started': { index: 'number', command: 'string' },
  'check-ended': {
    'result.index': 'number',
    'result.command': 'string',
    'result.passed': 'boolean',
    'result.exitCode': 'number',
    'result.duration': 'number',
    'result.output': 'string',
    'result.logFile': 'string',
  },
  denied: { what: 'string' },
  violation: { 'violation.what': 'string', 'violation.restored': 'boolean' },
  scm: { task: 'string', outcome: 'string', detail: 'string' },
  'iteration-ended': {
    iteration: 'number',
    'claim.found': 'boolean',
    'claim.nearMiss?': 'string',
    'claim.said?': 'string',
    'verdict.kind': 'string',
    usage: 'object',
    'usage.cost?': 'number',
    'usage.tokens?': 'object',
  },
  notice: { level: 'string', text: 'string' },
  'run-ended': {
    'result.runId': 'string',
    'result.success': 'boolean',
    'result.stopReason': 'string',
    'result.detail?': 'string',
    'result.branch?': 'string',
    'result.totalCost?': 'number',
    'result.totalTokens?': 'object',
    'result.iterations': 'list',
    'result.totalDuration': 'number',
  },
};

/** The same for what an agent's stream says. */
const AGENT_SHAPES: Readonly<Record<AgentEvent['kind'], Readonly<Record<string, Kind>>>> = {
  session: {},
  text: { 'event.text': 'string' },
  aside: { 'event.from': 'string', 'event.text': 'string' },
  'tool-start': { 'event.id': 'string', 'event.name': 'string', 'event.summary': 'string' },
  'tool-end': {
    'event.id': 'string',
    'event.ok': 'boolean',
    'event.output.preview': 'string',
    'event.output.lines': 'number',
  },
  todo: { 'event.items': 'list' },
  usage: {},
  result: {},
  trouble: { 'event.trouble.class': 'string', 'event.trouble.message': 'string' },
  progress: { 'event.text': 'string' },
  unknown: { 'event.what': 'string' },
};

/** null: not an event of this version, or damaged. */
export function knownEntry(entry: RawEntry): KnownEntry | null {
  const shape = Object.hasOwn(SHAPES, entry.type) ? SHAPES[entry.type as RunEvent['type']] : undefined;
  if (!shape || !isCount(entry.seq) || Number.isNaN(Date.parse(entry.at))) return null;
  if (!hasShape(entry, shape)) return null;
  const known = entry as KnownEntry;
  return known.type === 'agent' && !isKnownAgentEvent(known) ? null : known;
}

function isKnownAgentEvent(entry: KnownEntry & { type: 'agent' }): boolean {
  const { kind } = entry.event;
  return Object.hasOwn(AGENT_SHAPES, kind) && hasShape(entry, AGENT_SHAPES[kind]);
}

function hasShape(entry: unknown, shape: Readonly<Record<string, Kind>>): boolean {
  return Object.entries(shape).every(([path, kind]) => fits(entry, path, kind));
}

function fits(entry: unknown, path: string, kind: Kind): boolean {
  const value = path
    .replace('?', '')
    .split('.')
    .reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), entry);
  if (value === undefined || value === null) return path.endsWith('?');
  switch (kind) {
    case 'object':
      return isObject(value);
    case 'list':
      return Array.isArray(value) && value.every(isObject);
    case 'strings':
      return Array.isArray(value) && value.every(each => typeof each === 'string');
    case 'number':
      return isCount(value);
    default:
      return typeof value === kind;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}

/** A line that this version cannot read, with all that it holds: better than to hide it. */
export function unknownEntryWords(entry: RawEntry): string {
  const {
    seq: _seq,
    at: _at,
    type,
    prev: _prev,
    run: _run,
    iteration: _iteration,
    ...rest
  } = entry as RawEntry & Record<string, unknown>;
  return `Unknown event "${String(type)}": ${JSON.stringify(rest)}`;
}
