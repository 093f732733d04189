/** Which events of a ledger to show: by kind, by iteration. */
import type { RunEvent } from './event.ts';

export const EVENT_KINDS = [
  'run',
  'prompt',
  'words',
  'tools',
  'agent',
  'checks',
  'violations',
  'scm',
  'verdicts',
  'waits',
  'notices',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export interface EventFilter {
  /** Empty: all. */
  readonly kinds: readonly EventKind[];
  /** The first and the last one that is shown; undefined: all, and what was before the first. */
  readonly iterations?: readonly [number, number];
}

/** Reads a ledger in order, since most events belong to the iteration that was started last. */
export function createEventFilter({ kinds, iterations }: EventFilter): (event: RunEvent) => boolean {
  let iteration = 0;
  return event => {
    if (event.type === 'iteration-started') iteration = event.iteration;
    const [first, last] = iterations ?? [0, Number.POSITIVE_INFINITY];
    const isOfRun = event.type === 'run-ended';
    const isInside = iterations === undefined || (!isOfRun && iteration >= first && iteration <= last);
    return isInside && (kinds.length === 0 || kinds.includes(kindOf(event)));
  };
}

function kindOf(event: RunEvent): EventKind {
  switch (event.type) {
    case 'run-started':
    case 'run-resumed':
    case 'prepared':
    case 'run-ended':
    case 'iteration-started':
      return 'run';
    case 'agent-started':
      return 'prompt';
    case 'agent': {
      const kind: unknown = event.event?.kind; // a damaged ledger may have none
      if (kind === 'text') return 'words';
      return kind === 'tool-start' || kind === 'tool-end' ? 'tools' : 'agent';
    }
    case 'agent-ended':
    case 'turn-ended':
      return 'agent';
    case 'check-started':
    case 'check-ended':
      return 'checks';
    case 'tampered':
    case 'violation':
    case 'denied':
      return 'violations';
    case 'scm-started':
    case 'scm':
      return 'scm';
    case 'judged':
    case 'stories-settled':
    case 'iteration-ended':
      return 'verdicts';
    case 'waiting':
    case 'agent-switched':
    case 'paused':
    case 'continued':
    case 'told':
      return 'waits';
    case 'notice':
      return 'notices';
    default:
      event satisfies never; // of a later version: shown with the notices
      return 'notices';
  }
}

/** `3`, `2-5`, `4-`; undefined when it is none of these. */
export function parseIterations(text: string): readonly [number, number] | undefined {
  const [, first, dash, last] = /^(\d+)(-)?(\d+)?$/.exec(text) ?? [];
  if (first === undefined) return undefined;
  if (dash === undefined) return last === undefined ? [Number(first), Number(first)] : undefined;
  return [Number(first), last === undefined ? Number.POSITIVE_INFINITY : Number(last)];
}
