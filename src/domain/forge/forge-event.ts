/** The events of a pull request: what Ralph does at the forge, on the ledger before and after it. */

import { texts } from '../run/event-parts.ts';
import { maybe, number, type RowOf, record, text, word } from '../run/shape.ts';

/** Something that is done at the forge, or in its repository. */
export type ForgeAct = 'push' | 'proof' | 'open' | 'update' | 'comment' | 'reply' | 'ready' | 'merge';

/** Why a run is worked on again. */
export type RoundReason = 'checks' | 'review' | 'conflict' | 'foreign';

/** How following a pull request ends. */
export type ForgeEnding = 'pull_request_ready' | 'merged' | 'pull_request_closed' | 'needs_you';

/** What Ralph says at the issue of a run. */
export type IssueWord = 'started' | 'question' | 'link' | 'end';

/** With this begins the name of a message of a pull request: it is before every message of the user. */
export const ROUND = `${'0'.repeat(14)}-`;

export function isRound({ id }: { readonly id: string }): boolean {
  return id.startsWith(ROUND);
}

export const FORGE_EVENTS = {
  /** Written before the act, so that a kill in the middle does not hide it. `what`: the branch, the ref, the pull request. */
  'forge-started': record({
    act: word<ForgeAct>(),
    what: text,
    /** What is pushed: after a kill nothing else says whose it is. */
    commit: maybe(text),
  }),
  forge: record({
    act: word<ForgeAct>(),
    outcome: word<'done' | 'nothing-to-do' | 'failed'>(),
    detail: text,
    /** Of the pull request. */
    number: maybe(number),
    address: maybe(text),
    /** What was pushed, or merged. */
    commit: maybe(text),
  }),
  /** The run is worked on again. */
  'forge-round': record({
    why: word<RoundReason>(),
    /** The checks that are red, or who asks. */
    names: texts,
    /** The words that it answers, by their names at the forge. */
    words: texts,
    /** The head of the pull request that it is about. */
    commit: text,
    /** The merge that left conflicts in the files: with its marks it is never pushed. */
    merge: maybe(text),
    /** What a lane of its own merges into its files: the base, or what somebody else has pushed. */
    tip: maybe(text),
  }),
  /** Known, and nothing of ours: said once. */
  'forge-noted': record({ what: text, names: texts }),
  'forge-ended': record({ reason: word<ForgeEnding>(), detail: text }),
  /** A comment of Ralph's stands at the issue; `mark`: the hidden one in it. */
  'forge-said': record({ issue: number, what: word<IssueWord>(), mark: text }),
};

export type ForgeEvent = RowOf<typeof FORGE_EVENTS, 'type'>;

/** Those about the pull request. */
export type PullEvent = Exclude<ForgeEvent, { readonly type: 'forge-said' }>;
