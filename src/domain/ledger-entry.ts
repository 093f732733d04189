/**
 * A line of a ledger may have been written by another version, or by an attacker. What does not have the shape of its
 * type is not that event: readers show it as an unknown line, and nothing is derived from it.
 */
import { AGENT_SHAPES } from './agent-shapes.ts';
import type { RunEvent } from './event.ts';
import { asObject, number, text } from './json.ts';
import { BOARD_SHAPES, KINDS, type Kind, tokensAt, usageAt } from './ledger-shapes.ts';

export type KnownEntry = { readonly seq: number; readonly at: string } & RunEvent;

export type RawEntry = {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  /** On the steady clock of the part of the run that wrote it. */
  readonly ticks?: number;
};

const HEAD: Readonly<Record<string, Kind>> = {
  runId: 'string',
  command: 'string',
  agent: 'string',
  'model?': 'string',
  'title?': 'string',
  maxIterations: 'number',
  checks: 'strings',
  cwd: 'string',
  'sandbox?': 'string',
  'contained?': 'string',
};

/** Whether the checks would notice a fault. */
const mutationAt = (path: string): Readonly<Record<string, Kind>> => ({
  [`${path}score??`]: 'number',
  [`${path}mutants?`]: 'number',
  [`${path}survivors?`]: 'list',
  [`${path}survivors.*.file`]: 'string',
  [`${path}survivors.*.line`]: 'number',
  [`${path}survivors.*.change`]: 'string',
});

/** What readers rely on in each event; other keys do not matter. `*`: each of a list. `?`: may be missing. `??`: may be null, too. */
const SHAPES: Readonly<Record<RunEvent['type'], Readonly<Record<string, Kind>>>> = {
  'run-started': HEAD,
  'run-resumed': { ...HEAD, iteration: 'iteration', step: 'string', repaired: 'strings', changes: 'strings' },
  prepared: {
    'start?': 'object',
    'start.tree?': 'string',
  },
  'turn-ended': {
    'outcome.kind': 'string',
    'claim.found': 'boolean',
    'question?': 'string',
    'reviews?': 'list',
    'reviews.*.story': 'string',
    'reviews.*.verdict': 'string',
    steps: 'number',
    'idle?': 'boolean',
    ...usageAt('usage'),
  },
  tampered: { what: 'strings' },
  judged: {
    iteration: 'iteration',
    'verdict.kind': 'string',
    'verdict.reason?': 'string',
    'verdict.feedback?': 'list',
    repeats: 'number',
    'spent.iterations': 'number',
    'spent.failures': 'number',
    'spent.elapsed': 'number',
    ...usageAt('spent.usage'),
    'limits?': 'object',
    'limits.maxIterations??': 'number',
    'limits.maxCost?': 'number',
    'limits.maxTokens?': 'number',
    'limits.maxTime?': 'number',
    'inputsChanged?': 'strings',
    'unsettled?': 'strings',
    'snapshot?': 'string',
  },
  'stories-settled': {
    iteration: 'iteration',
    hash: 'string',
    done: 'number',
    total: 'number',
    'moved?': 'object',
    'moved.id?': 'string',
    'moved.reviewFeedback?': 'string',
    'moved.reviewCount?': 'number',
    'moved.reviewCap?': 'number',
  },
  ...BOARD_SHAPES,
  'scm-started': { task: 'string', 'tree?': 'string' },
  'iteration-started': {
    iteration: 'iteration',
    'mode?': 'string',
    'story?': 'string',
    'kept?': 'string',
    'role?': 'string',
    'agent?': 'string',
  },
  'agent-started': { purpose: 'string', 'promptChars?': 'number', 'userChars?': 'number' },
  agent: { event: 'object', 'event.kind': 'string' },
  'agent-ended': {
    purpose: 'string',
    outcome: 'object',
    'outcome.kind': 'string',
    'outcome.trouble?': 'object',
    'outcome.trouble.message?': 'string',
    duration: 'number',
    ...usageAt('usage'),
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
  'question-asked': { iteration: 'iteration', story: 'string', question: 'string' },
  'question-answered': { story: 'string', question: 'string', answer: 'string', message: 'string' },
  'check-started': { index: 'number', command: 'string' },
  'check-ended': {
    'result.index': 'number',
    'result.command': 'string',
    'result.passed': 'boolean',
    'result.exitCode': 'number',
    'result.duration': 'number',
    'result.output': 'string',
    'result.logFile': 'string',
    'result.voided?': 'string',
  },
  mutated: {
    iteration: 'iteration',
    ...mutationAt(''),
    'checks?': 'strings',
    'seconds?': 'number',
    'failed?': 'string',
  },
  denied: { what: 'string' },
  violation: { 'violation.what': 'string', 'violation.restored': 'boolean', 'violation.by?': 'string' },
  scm: { task: 'string', outcome: 'string', detail: 'string' },
  'iteration-ended': {
    iteration: 'iteration',
    'claim.found': 'boolean',
    'claim.nearMiss?': 'string',
    'claim.said?': 'string',
    'verdict.kind': 'string',
    'verdict.reason?': 'string',
    'verdict.feedback?': 'list',
    ...usageAt('usage'),
  },
  notice: { level: 'string', text: 'string' },
  'run-ended': {
    'result.runId': 'string',
    'result.success': 'boolean',
    'result.stopReason': 'string',
    'result.detail??': 'string',
    'result.branch??': 'string',
    'result.totalCost??': 'number',
    'result.totalTokens??': 'object',
    ...tokensAt('result.totalTokens'),
    'result.totalDuration': 'number',
    'result.waited?': 'number',
    'result.unreportedCalls?': 'number',
    'result.uncountedCalls?': 'number',
    'result.worktreePath??': 'string',
    'result.proof?': 'object',
    'result.proof.level?': 'string',
    'result.proof.contained?': 'string',
    'result.proof.checkInputsChanged?': 'strings',
    'result.mutation?': 'object',
    ...mutationAt('result.mutation.'),
    'result.stories?': 'object',
    'result.stories.stories.*.id?': 'string',
    'result.stories.stories.*.title?': 'string',
    'result.lanes?': 'list',
    'result.lanes.*.id': 'string',
    'result.lanes.*.title': 'string',
    'result.lanes.*.state': 'string',
    'result.lanes.*.commit??': 'string',
    'result.lanes.*.returns': 'number',
    'result.lanes.*.iterations?': 'number',
    'result.lanes.*.cost??': 'number',
    'result.lanes.*.runs': 'strings',
    'result.lanes.*.why?': 'string',
    'result.iterations': 'list',
    'result.iterations.*.cost??': 'number',
    'result.iterations.*.error??': 'string',
    'result.iterations.*.violations': 'strings',
    'result.iterations.*.checkResults': 'list',
    'result.iterations.*.checkResults.*.name': 'string',
    'result.iterations.*.checkResults.*.passed': 'boolean',
    'result.iterations.*.checkResults.*.exitCode': 'number',
    'result.iterations.*.checkResults.*.duration': 'number',
    'result.iterations.*.checkResults.*.flaked?': 'number',
    'result.iterations.*.checkResults.*.voided?': 'string',
  },
};

type EntryShape = readonly {
  readonly path: readonly string[];
  /** What it may be beside its kind. */
  readonly or: readonly unknown[];
  readonly kind: Kind;
}[];

/** Split once: a ledger may have a million lines. */
function shapesOf(
  rows: Readonly<Record<string, Readonly<Record<string, Kind>>>>,
): ReadonlyMap<string, EntryShape> {
  const shapeOf = (row: Readonly<Record<string, Kind>>): EntryShape =>
    Object.entries(row).map(([name, kind]) => ({
      path: name.replaceAll('?', '').split('.'),
      or: name.endsWith('??') ? [undefined, null] : name.endsWith('?') ? [undefined] : [],
      kind,
    }));
  return new Map(Object.entries(rows).map(([type, row]) => [type, shapeOf(row)]));
}

const EVENTS = shapesOf(SHAPES);
const AGENT_EVENTS = shapesOf(AGENT_SHAPES);

/** null: not an event of this version, or damaged. */
export function knownEntry(entry: RawEntry): KnownEntry | null {
  if (
    !number.fits(entry.seq) ||
    !text.fits(entry.at) || // an object may have no way to become a text
    Number.isNaN(Date.parse(entry.at)) ||
    !(entry.ticks === undefined || number.fits(entry.ticks)) ||
    !hasShape(entry, EVENTS.get(entry.type))
  )
    return null;
  const known = entry as KnownEntry;
  return known.type === 'agent' && !hasShape(known, AGENT_EVENTS.get(known.event.kind)) ? null : known;
}

function hasShape(entry: unknown, shape: EntryShape | undefined): boolean {
  if (!shape) return false;
  return shape.every(({ path, or, kind }) => {
    const { fits } = KINDS[kind];
    return everyAt(entry, path, 0, value => or.includes(value) || fits(value));
  });
}

/** Without a list in between: the last line of a long run has a thousand iterations. */
function everyAt(
  value: unknown,
  path: readonly string[],
  at: number,
  fits: (value: unknown) => boolean,
): boolean {
  const name = path[at];
  if (name === undefined) return fits(value);
  if (name !== '*') return everyAt(asObject(value)?.[name], path, at + 1, fits);
  return !Array.isArray(value) || value.every(each => everyAt(each, path, at + 1, fits));
}

const ENVELOPE: ReadonlySet<string> = new Set(['seq', 'at', 'ticks', 'type', 'prev', 'run', 'iteration']);

/** A line that this version cannot read, with all that it holds: better than to hide it. */
export function unknownEntryWords(entry: RawEntry): string {
  const rest = Object.entries(entry).filter(([key]) => !ENVELOPE.has(key));
  return `Unknown event "${typeText(entry)}": ${JSON.stringify(Object.fromEntries(rest))}`;
}

/** The type of a line that may be damaged. */
export function typeText({ type }: { readonly type: unknown }): string {
  return typeof type === 'string' ? type : String(JSON.stringify(type));
}
