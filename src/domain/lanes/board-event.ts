/** The events of a parallel run, which works on several things at the same time. Each of them has runs of its own, with their own ledgers. */

import { checkResult, measured, texts, usage } from '../run/event-parts.ts';
import {
  boolean,
  both,
  iteration,
  list,
  mark,
  maybe,
  number,
  orNull,
  partOf,
  type RowOf,
  record,
  text,
  word,
} from '../run/shape.ts';
import type { StopReason } from '../run/stop-reason.ts';
import type { LaneHead, LaneStep, PlaceState, SentBack } from './board.ts';
import { conflict } from './conflict.ts';

export const sentBack = partOf<SentBack>(
  record({ why: text, files: texts, conflicts: maybe(list(conflict)), others: texts, detail: text }),
);

export const BOARD_EVENTS = {
  'board-set': record({
    base: text,
    /** The integration branch stands there: on `base`, or on a commit of Ralph's own with the list. */
    tip: text,
    /** The user's branch that is moved at the end. */
    branch: orNull(text),
    /** It was there, and stood on `base`. */
    isThere: maybe(mark),
    lanes: list(
      partOf<LaneHead>(record({ id: text, title: text, priority: number, needs: texts, files: texts })),
    ),
  }),
  /** Also when a run of it is resumed. `from`: the tip of the integration branch that it begins on. */
  'story-started': record({ story: text, child: text, from: text }),
  /** What `laneSetup` makes for it, and `laneTeardown` takes away. */
  'lane-place': record({
    story: text,
    state: word<PlaceState>(),
    /** The first of its ports, when it is begun. */
    port: maybe(number),
  }),
  /** An iteration of its run begins. */
  'story-step': both(
    record({ story: text }),
    partOf<LaneStep>(record({ mode: text, number: maybe(iteration), reserved: maybe(number) })),
  ),
  'story-ended': record({
    story: text,
    child: text,
    reason: word<StopReason>(),
    /** Why its work does not go into the queue, where it does not. */
    why: maybe(text),
    /** Where its ledger ends: with it the chain of this ledger covers it. */
    ledger: orNull(text),
    usage,
  }),
  /** What has landed is about to be merged into its files, and this conflicts. Also on the ledger of the lane's own run. */
  'merge-left': record({ story: text, merge: text, conflicts: list(conflict) }),
  queued: record({
    ...{ story: text, head: text, patch: text },
    /** What merges have left in it, and nobody has said to keep. */
    conflicts: maybe(list(conflict)),
    /** Of several attempts: why it is this one. */
    chosen: maybe(text),
  }),
  candidate: record({ story: text, number, tip: text, commit: text }),
  /** What the checks say of it, each in a clean checkout of that commit. */
  'candidate-checked': record({
    story: text,
    number,
    commit: text,
    passed: boolean,
    /** Seconds. */
    duration: number,
    results: list(checkResult),
    /** Whether they would notice a fault in what it changes; absent: that was not asked for. */
    mutation: maybe(measured),
  }),
  landed: record({
    story: text,
    number,
    commit: text,
    tree: text,
    /** Files that a check rests on and that differ from where the run began. */
    inputsChanged: maybe(texts),
  }),
  'sent-back': both(record({ story: text, number }), sentBack),
  /** It is over without having landed: another attempt was better, or the user is needed. */
  'lane-kept': record({ story: text, why: text, needsYou: boolean, commit: maybe(text) }),
  'account-limited': record({ agent: text, until: number }),
  /** The user's branch was moved to what landed; or why not. */
  integrated: record({ branch: text, commit: text, problem: maybe(text) }),
};

export type BoardEvent = RowOf<typeof BOARD_EVENTS, 'type'>;
