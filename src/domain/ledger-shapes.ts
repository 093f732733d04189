/** Of what kind the fields of an event are, and the shapes of those of a parallel run. */
import type { BoardEvent } from './board-event.ts';
import { listOf, number, object, text, trueOrFalse } from './json.ts';

/** A damaged number must not make a reader build a list of a billion. */
const MOST_ITERATIONS = 10_000_000;

export const KINDS = {
  string: text,
  number,
  iteration: {
    words: 'the number of an iteration',
    fits: (value: unknown) =>
      Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MOST_ITERATIONS,
  },
  boolean: trueOrFalse,
  object,
  list: listOf(object),
  strings: listOf(text),
} as const;

export type Kind = keyof typeof KINDS;

export const tokensAt = (path: string): Readonly<Record<string, Kind>> =>
  Object.fromEntries(
    ['input', 'output', 'cacheRead', 'cacheWrite'].map(name => [`${path}.${name}?`, 'number']),
  );

/** What was used, at this place of an event. */
export const usageAt = (path: string): Readonly<Record<string, Kind>> => ({
  [path]: 'object',
  [`${path}.cost?`]: 'number',
  [`${path}.unpriced?`]: 'number',
  [`${path}.uncounted?`]: 'number',
  [`${path}.tokens?`]: 'object',
  ...tokensAt(`${path}.tokens`),
});

export const BOARD_SHAPES: Readonly<Record<BoardEvent['type'], Readonly<Record<string, Kind>>>> = {
  'board-set': {
    base: 'string',
    tip: 'string',
    lanes: 'list',
    'lanes.*.id': 'string',
    'lanes.*.title': 'string',
    'lanes.*.priority': 'number',
    'lanes.*.needs': 'strings',
    'lanes.*.files': 'strings',
  },
  'story-started': { story: 'string', child: 'string', from: 'string' },
  'story-step': { story: 'string', mode: 'string', 'number?': 'iteration', 'reserved?': 'number' },
  'story-ended': {
    story: 'string',
    child: 'string',
    reason: 'string',
    'why?': 'string',
    ...usageAt('usage'),
  },
  queued: { story: 'string', head: 'string', patch: 'string' },
  candidate: { story: 'string', number: 'number', tip: 'string', commit: 'string' },
  'candidate-checked': {
    story: 'string',
    number: 'number',
    commit: 'string',
    passed: 'boolean',
    duration: 'number',
    results: 'list',
    'results.*.command': 'string',
    'results.*.passed': 'boolean',
  },
  landed: {
    story: 'string',
    number: 'number',
    commit: 'string',
    tree: 'string',
    'inputsChanged?': 'strings',
  },
  'sent-back': {
    story: 'string',
    number: 'number',
    why: 'string',
    files: 'strings',
    others: 'strings',
    detail: 'string',
  },
  'lane-kept': { story: 'string', why: 'string', needsYou: 'boolean', 'commit?': 'string' },
  'account-limited': { agent: 'string', until: 'number' },
  integrated: { branch: 'string', commit: 'string', 'problem?': 'string' },
};
