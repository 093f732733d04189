/** What the merge queue does next. Pure. First in, first out: nothing lands that was not checked as it lands. */
import type { Board, Candidate, Queued } from './board.ts';

/** `unwatched`: green, and the checks would not notice enough faults. */
export type Checked = 'green' | 'red' | 'unwatched';

export interface QueueFacts {
  /** Candidates whose checks are running, by number. */
  readonly checking: ReadonlySet<number>;
  /** What came of the checks of a candidate so far. */
  readonly checked: ReadonlyMap<number, Checked>;
  /** How many candidates may be checked at the same time, each on top of the one before: 1 is no speculation. */
  readonly slots: number;
}

export type QueueAction =
  /** Merge this work onto that commit. */
  | { readonly kind: 'build'; readonly entry: Queued; readonly onto: string }
  | { readonly kind: 'check'; readonly entry: Queued; readonly candidate: Candidate }
  | { readonly kind: 'land'; readonly entry: Queued; readonly candidate: Candidate }
  | {
      readonly kind: 'send-back';
      readonly entry: Queued;
      readonly candidate: Candidate;
      readonly why: Exclude<Checked, 'green'>;
    };

/** undefined: nothing, before something else has happened. */
export function nextMerge(
  { queue, tip }: Pick<Board, 'queue' | 'tip'>,
  facts: QueueFacts,
): QueueAction | undefined {
  const { checking, checked, slots } = facts;
  let onto = tip;
  for (const [at, entry] of queue.entries()) {
    if (at >= slots) return undefined;
    const { candidate } = entry;
    if (!candidate || candidate.tip !== onto) return { kind: 'build', entry, onto };
    const verdict = checked.get(candidate.number);
    if (verdict === undefined && !checking.has(candidate.number)) return { kind: 'check', entry, candidate };
    // Whatever comes of a later one waits for those before it.
    if (at === 0 && verdict !== undefined)
      return verdict === 'green'
        ? { kind: 'land', entry, candidate }
        : { kind: 'send-back', entry, candidate, why: verdict };
    // Nothing is built on what is known to fail.
    if (verdict !== undefined && verdict !== 'green') return undefined;
    onto = candidate.commit;
  }
  return undefined;
}

/** Seconds that a piece of work and the checks of a candidate take, as far as is known. */
export interface Pace {
  readonly lanes: number;
  readonly story: number | undefined;
  readonly checks: number | undefined;
  readonly cores: number;
}

/** Above this share of the time of a story the queue is what everybody waits for. */
const SLOW = 0.7;

/** Checking ahead costs checks that may be thrown away: only where the queue is slower than the work. */
export function checkSlots({ lanes, story, checks, cores }: Pace): number {
  if (story === undefined || checks === undefined || story <= 0) return 1;
  return lanes * checks > SLOW * story ? Math.max(1, Math.min(cores, lanes)) : 1;
}
