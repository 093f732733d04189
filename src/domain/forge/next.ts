/** What is done next for a pull request: one pure function from what Ralph has done and what the forge says to one action. */
import { listSome } from '../text/feedback.ts';
import type { ForgeEnding } from './forge-event.ts';
import { type ForgeState, noteName, roundsFor } from './forge-state.ts';

export interface ForgeCheck {
  readonly name: string;
  readonly state: 'running' | 'green' | 'red';
  /** The same check is red on the base as well. */
  readonly redOnBase?: boolean;
}

/** Words of somebody with write permission that no round was made for yet. */
export interface ForgeRequest {
  readonly id: string;
  readonly author: string;
}

/** Where the branch stands at the forge, seen from what Ralph has pushed. `late`: what Ralph pushed is not there yet. */
export type BranchStand = 'ours' | 'ahead' | 'rewritten' | 'late';

export interface ForgeFacts {
  readonly state: 'open' | 'closed' | 'merged';
  readonly isDraft: boolean;
  readonly branch: BranchStand;
  /** null: the forge is still finding out. */
  readonly isMergeable: boolean | null;
  readonly checks: readonly ForgeCheck[];
  /** The head has just arrived: its checks may not have been announced yet. */
  readonly isFresh: boolean;
  readonly requests: readonly ForgeRequest[];
  /** Somebody with write permission approves the head as it is. */
  readonly isApproved: boolean;
  /** The forge requires no approval that is missing. */
  readonly isClear: boolean;
  /** Who has write permission and still asks for changes. */
  readonly contestedBy: readonly string[];
}

export interface ForgeTerms {
  readonly ciRounds: number;
  readonly reviewRounds: number;
  /** Take it out of draft when it is ready. */
  readonly ready: boolean;
  readonly merge: boolean;
}

export type ForgeAction =
  | { readonly kind: 'wait'; readonly why: string }
  /** Red on the base as well: said once. */
  | { readonly kind: 'note'; readonly what: string; readonly names: readonly string[] }
  | { readonly kind: 'fix-checks'; readonly names: readonly string[] }
  | { readonly kind: 'answer'; readonly requests: readonly ForgeRequest[] }
  | { readonly kind: 'merge-base' }
  /** Somebody else has pushed on top of our work. */
  | { readonly kind: 'take-in' }
  | { readonly kind: 'mark-ready' }
  | { readonly kind: 'merge' }
  | { readonly kind: 'end'; readonly reason: ForgeEnding; readonly detail: string };

export const NOT_OURS = 'red on the base as well';

export function nextForge(state: ForgeState, facts: ForgeFacts, terms: ForgeTerms): ForgeAction {
  return (
    overAtForge(facts) ??
    branchStep(state, facts, terms) ??
    unfinished(facts) ??
    conflictStep(state, facts, terms) ??
    redStep(state, facts, terms) ??
    requestStep(state, facts, terms) ??
    greenStep(facts, terms)
  );
}

function end(reason: ForgeEnding, detail = ''): ForgeAction {
  return { kind: 'end', reason, detail };
}

function wait(why: string): ForgeAction {
  return { kind: 'wait', why };
}

function overAtForge({ state }: ForgeFacts): ForgeAction | undefined {
  if (state === 'merged') return end('merged');
  return state === 'closed' ? end('pull_request_closed') : undefined;
}

/** A limit that is reached, and how there can be more. */
function spent(what: string, flag: 'ci-rounds' | 'review-rounds', used: number): ForgeAction {
  const next = `the same command with --${flag} ${used + 3} continues`;
  return end('needs_you', `${what}. Look at it, then ${next}.`);
}

function branchStep(
  { rounds, pushed }: ForgeState,
  { branch }: ForgeFacts,
  { reviewRounds }: ForgeTerms,
): ForgeAction | undefined {
  switch (branch) {
    case 'rewritten': {
      const last = pushed.at(-1)?.slice(0, 12);
      const next = last === undefined ? '' : `: move it back to ${last}, or continue by hand`;
      return end('needs_you', `Somebody has rewritten the history of the branch${next}.`);
    }
    case 'ahead':
      if (rounds.foreign < reviewRounds) return { kind: 'take-in' };
      return spent(
        `Somebody else has pushed to the branch, after ${counted(rounds.foreign)} for such pushes`,
        'review-rounds',
        rounds.foreign,
      );
    case 'late':
      return wait('the forge has not seen the last push yet');
    case 'ours':
      return undefined;
    default:
      return branch satisfies never;
  }
}

/** Nothing is judged while a check runs. */
function unfinished({ checks, isFresh, isMergeable }: ForgeFacts): ForgeAction | undefined {
  const running = checks.filter(({ state }) => state === 'running').map(({ name }) => name);
  if (running.length > 0) return wait(`checks are running: ${listSome(running)}`);
  if (isFresh) return wait('its checks may not have begun yet');
  return isMergeable === null ? wait('the forge is finding out whether it can be merged') : undefined;
}

function conflictStep(
  { rounds }: ForgeState,
  { isMergeable }: ForgeFacts,
  { ciRounds }: ForgeTerms,
): ForgeAction | undefined {
  if (isMergeable !== false) return undefined;
  if (rounds.conflict < ciRounds) return { kind: 'merge-base' };
  return spent(
    `It still conflicts with its base after ${counted(rounds.conflict)}`,
    'ci-rounds',
    rounds.conflict,
  );
}

/** Names may be new each time: all checks together get so many times what one gets. */
const MOST_NAMES = 5;

function redStep(
  state: ForgeState,
  { checks }: ForgeFacts,
  { ciRounds }: ForgeTerms,
): ForgeAction | undefined {
  const red = checks.filter(({ state }) => state === 'red');
  const ours = red.filter(({ redOnBase }) => !redOnBase).map(({ name }) => name);
  const isOver = state.rounds.checks >= ciRounds * MOST_NAMES;
  const tried = isOver ? ours : ours.filter(name => roundsFor(state, name) >= ciRounds);
  const used = Math.max(ciRounds, ...tried.map(name => roundsFor(state, name)));
  const all = isOver ? `${counted(state.rounds.checks)} for all checks` : counted(used);
  if (tried.length > 0) return spent(`Red after ${all}: ${listSome(tried)}`, 'ci-rounds', used);
  if (ours.length > 0) return { kind: 'fix-checks', names: [...new Set(ours)] };
  const others = notOurs(checks);
  if (others.length === 0 || state.noted.includes(noteName(NOT_OURS, others))) return undefined;
  return { kind: 'note', what: NOT_OURS, names: others };
}

function notOurs(checks: readonly ForgeCheck[]): readonly string[] {
  const red = checks.filter(({ state, redOnBase }) => state === 'red' && redOnBase);
  return [...new Set(red.map(({ name }) => name))];
}

function requestStep(
  state: ForgeState,
  { requests }: ForgeFacts,
  { reviewRounds }: ForgeTerms,
): ForgeAction | undefined {
  if (requests.length === 0) return undefined;
  if (state.rounds.review < reviewRounds) return { kind: 'answer', requests };
  const who = listSome([...new Set(requests.map(({ author }) => author))]);
  const used = state.rounds.review;
  return spent(`${who} asks for more after ${counted(used)} of review`, 'review-rounds', used);
}

function greenStep(facts: ForgeFacts, terms: ForgeTerms): ForgeAction {
  const { checks, isDraft, isApproved, isClear, contestedBy } = facts;
  const others = notOurs(checks);
  const detail = others.length > 0 ? `Red on the base as well: ${listSome(others)}.` : '';
  if (isDraft && (terms.ready || terms.merge)) return { kind: 'mark-ready' };
  if (!terms.merge) return end('pull_request_ready', detail);
  if (detail !== '') return end('needs_you', `Not merged. ${detail} Fix the base, or merge it yourself.`);
  if (contestedBy.length > 0) return wait(`${listSome(contestedBy)} still asks for changes`);
  if (isApproved || isClear) return { kind: 'merge' };
  // It may ask for something else, such as a branch that has all of its base.
  return wait('nobody has approved this commit, and the forge does not take it as it is');
}

function counted(count: number): string {
  return `${count} round${count === 1 ? '' : 's'}`;
}
