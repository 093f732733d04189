/** What a run has done at the forge so far, folded from its ledger. What the forge itself knows is asked of the forge. */
import { isCommit } from '../text/commit.ts';
import type { ForgeEnding, ForgeEvent, IssueWord, PullEvent, RoundReason } from './forge-event.ts';

export interface ForgeState {
  readonly number?: number;
  readonly address?: string;
  /** The commits that Ralph has put on the branch, the latest last. */
  readonly pushed: readonly string[];
  /** Those that it began to put there: nobody may have heard what came of it. */
  readonly begun?: readonly string[];
  readonly rounds: Readonly<Record<RoundReason, number>>;
  /** Of those for checks: how many each had, by its name. */
  readonly checkRounds: Readonly<Record<string, number>>;
  /** Merges with the marks of conflicts, the latest last. */
  readonly marked?: readonly string[];
  /** Words at the forge that a round was made for. */
  readonly heard: readonly string[];
  /** What was said once: each with its names. */
  readonly noted: readonly string[];
  readonly ended?: { readonly reason: ForgeEnding; readonly detail: string };
}

/** The pull request of a run. */
export interface PullRequestState {
  readonly number: number;
  readonly address: string;
  /** How following it ended; null: it has not, or nobody follows it. */
  readonly outcome: ForgeEnding | null;
}

export function pullRequestOf(forge: ForgeState | null | undefined): PullRequestState | null {
  const { number, address, ended } = forge ?? {};
  if (number === undefined || address === undefined) return null;
  return { number, address, outcome: ended?.reason ?? null };
}

/** What Ralph has said at the issue of a run. */
export interface IssueSaid {
  readonly issue: number;
  readonly what: IssueWord;
  readonly mark: string;
}

export const NOTHING_DONE: ForgeState = {
  pushed: [],
  rounds: { checks: 0, review: 0, conflict: 0, foreign: 0 },
  checkRounds: {},
  heard: [],
  noted: [],
};

export function afterForgeEvent(before: ForgeState | undefined, event: PullEvent): ForgeState {
  const { ended: _, ...state } = before ?? NOTHING_DONE;
  switch (event.type) {
    case 'forge':
      return afterAct(state, event);
    case 'forge-round':
      return afterRound(state, event);
    case 'forge-noted':
      return { ...state, noted: withLast(state.noted, noteName(event.what, event.names)) };
    case 'forge-ended':
      return { ...state, ended: { reason: event.reason, detail: event.detail } };
    case 'forge-started': {
      const { act, commit } = event;
      const isPush = act === 'push' && isCommit(commit);
      return isPush ? { ...state, begun: withLast(state.begun ?? [], commit) } : state;
    }
    default:
      return event satisfies never;
  }
}

export function afterIssueSaid(
  before: readonly IssueSaid[] | undefined,
  { issue, what, mark }: Of<'forge-said'>,
): readonly IssueSaid[] {
  return [...(before ?? []), { issue, what, mark }].slice(-MOST_KEPT);
}

/** By which it is known that it was said. */
export function noteName(what: string, names: readonly string[]): string {
  return `${what}: ${[...names].sort().join(', ')}`;
}

type Of<Type extends ForgeEvent['type']> = Extract<ForgeEvent, { readonly type: Type }>;

function afterAct(state: ForgeState, { act, outcome, number, address, commit }: Of<'forge'>): ForgeState {
  if (outcome === 'failed') return state;
  return {
    ...(act === 'push' && isCommit(commit) ? { ...state, pushed: withLast(state.pushed, commit) } : state),
    ...(number !== undefined && { number }),
    ...(address !== undefined && { address }),
  };
}

/** A bound for a ledger that somebody else wrote. */
const MOST_KEPT = 2_000;

function withLast(all: readonly string[], last: string): readonly string[] {
  return [...all.filter(each => each !== last), last].slice(-MOST_KEPT);
}

function afterRound(state: ForgeState, { why, names, words, merge }: Of<'forge-round'>): ForgeState {
  const heard = [...new Set([...state.heard, ...words])].slice(-MOST_KEPT);
  const marked = isCommit(merge) ? withLast(state.marked ?? [], merge) : state.marked;
  const red = why === 'checks' ? names.map(name => [name, roundsFor(state, name) + 1] as const) : [];
  return {
    ...{ ...state, heard, ...(marked && { marked }) },
    ...(Object.hasOwn(state.rounds, why) && {
      rounds: { ...state.rounds, [why]: state.rounds[why] + 1 },
    }),
    checkRounds: { ...state.checkRounds, ...Object.fromEntries(red) },
  };
}

/** A check may be called `constructor`. */
export function roundsFor({ checkRounds }: Pick<ForgeState, 'checkRounds'>, name: string): number {
  return Object.hasOwn(checkRounds, name) ? (checkRounds[name] ?? 0) : 0;
}
