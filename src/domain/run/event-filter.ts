/** Which events of a ledger to show: by kind, by iteration. */

import { sameFor } from '../text/fields.ts';
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

const KINDS: Readonly<Record<Exclude<RunEvent['type'], 'agent'>, EventKind>> = {
  ...sameFor('run', 'run-started', 'run-resumed', 'prepared', 'run-ended', 'iteration-started', 'lane-place'),
  ...sameFor('run', 'board-set', 'story-started', 'story-step', 'story-ended', 'queued', 'candidate'),
  ...sameFor('run', 'merge-left', 'landed'),
  ...sameFor('prompt', 'agent-started'),
  ...sameFor('agent', 'agent-ended', 'turn-ended'),
  ...sameFor('checks', 'check-started', 'check-ended', 'mutated', 'candidate-checked'),
  ...sameFor('violations', 'tampered', 'violation', 'denied'),
  ...sameFor('scm', 'scm-started', 'scm', 'integrated', 'forge-started', 'forge', 'forge-round'),
  ...sameFor('scm', 'forge-noted', 'forge-ended', 'forge-said'),
  ...sameFor('verdicts', 'restore-started', 'restored', 'judged', 'stories-updated', 'iteration-ended'),
  ...sameFor('verdicts', 'sent-back', 'lane-kept'),
  ...sameFor('waits', 'waiting', 'agent-switched', 'paused', 'continued', 'hint-delivered'),
  ...sameFor('waits', 'question-asked', 'question-answered', 'account-limited'),
  ...sameFor('notices', 'notice'),
};

function kindOf(event: RunEvent): EventKind {
  // One of a later version, or whose type is damaged, is shown with the notices.
  const isKnown = typeof event.type === 'string' && Object.hasOwn(KINDS, event.type);
  if (event.type !== 'agent') return isKnown ? KINDS[event.type] : 'notices';
  const kind: unknown = event.event?.kind; // a damaged ledger may have none
  if (kind === 'text') return 'words';
  return kind === 'tool-start' || kind === 'tool-end' ? 'tools' : 'agent';
}

/** `3`, `2-5`, `4-`; undefined when it is none of these. */
export function parseIterations(text: string): readonly [number, number] | undefined {
  const [, first, dash, last] = /^(\d+)(-)?(\d+)?$/.exec(text) ?? [];
  if (first === undefined) return undefined;
  if (dash === undefined) return last === undefined ? [Number(first), Number(first)] : undefined;
  return [Number(first), last === undefined ? Number.POSITIVE_INFINITY : Number(last)];
}
