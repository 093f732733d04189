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

const KINDS: Readonly<Record<Exclude<RunEvent['type'], 'agent'>, EventKind>> = {
  'run-started': 'run',
  'run-resumed': 'run',
  prepared: 'run',
  'run-ended': 'run',
  'iteration-started': 'run',
  'agent-started': 'prompt',
  'agent-ended': 'agent',
  'turn-ended': 'agent',
  'check-started': 'checks',
  'check-ended': 'checks',
  mutated: 'checks',
  tampered: 'violations',
  violation: 'violations',
  denied: 'violations',
  'scm-started': 'scm',
  scm: 'scm',
  'restore-started': 'verdicts',
  restored: 'verdicts',
  judged: 'verdicts',
  'stories-updated': 'verdicts',
  'iteration-ended': 'verdicts',
  waiting: 'waits',
  'agent-switched': 'waits',
  paused: 'waits',
  continued: 'waits',
  'hint-delivered': 'waits',
  'question-asked': 'waits',
  'question-answered': 'waits',
  notice: 'notices',
  'board-set': 'run',
  'story-started': 'run',
  'story-step': 'run',
  'story-ended': 'run',
  'lane-place': 'run',
  'merge-left': 'run',
  queued: 'run',
  candidate: 'run',
  'candidate-checked': 'checks',
  landed: 'run',
  'sent-back': 'verdicts',
  'lane-kept': 'verdicts',
  'account-limited': 'waits',
  integrated: 'scm',
  'forge-started': 'scm',
  forge: 'scm',
  'forge-round': 'scm',
  'forge-noted': 'scm',
  'forge-ended': 'scm',
  'forge-said': 'scm',
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
