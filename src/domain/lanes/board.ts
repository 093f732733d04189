/** The board of a parallel run: where each piece of work stands, folded from the ledger of the run. Plain data. */

import { type Mutation, mutationScore } from '../checks/mutation.ts';
import type { RunEvent } from '../run/event.ts';
import { defined, pick } from '../text/fields.ts';
import { addUsage, type Usage } from '../turn/usage.ts';
import { type Conflict, withConflicts } from './conflict.ts';

export type LaneState = 'waiting' | 'building' | 'reviewing' | 'queued' | 'landed' | 'kept' | 'needs_you';

/** What is worked on: a story, a task, or one of several attempts at a task. */
export interface LaneHead {
  readonly id: string;
  readonly title: string;
  /** 1 comes first. */
  readonly priority: number;
  /** What must have landed before it begins. */
  readonly needs: readonly string[];
  /** Files that it is likely to change: a preference, never a lock. */
  readonly files: readonly string[];
}

/** Why work was sent back: it conflicts, its checks fail on the merged files or would not notice faults, or the merge changed what was reviewed. */
export type SentBackWhy = keyof typeof SENT_BACK;

/** Why it was sent back, in words. */
export const SENT_BACK = {
  conflict: 'it conflicts with what has landed',
  red: 'merged with what has landed its checks fail',
  unwatched: 'its checks would not notice enough faults',
  changed: 'the merge changed what was reviewed',
} as const;

export interface SentBack {
  readonly why: SentBackWhy;
  /** The files that conflict. */
  readonly files: readonly string[];
  /** What is to be decided in them. */
  readonly conflicts?: readonly Conflict[];
  /** The work that it meets there, by title. */
  readonly others: readonly string[];
  /** What a person or an agent should know: the output of the checks. */
  readonly detail: string;
}

export interface LaneStep {
  readonly mode: string;
  /** The number of the iteration in its last run. */
  readonly number?: number;
  /** Dollars that are kept back for its turn. */
  readonly reserved?: number;
}

/** Of what a lane has for itself: it is being made, it is there, it was taken away. */
export type PlaceState = 'begun' | 'ready' | 'gone';

export interface Lane extends LaneHead {
  readonly state: LaneState;
  /** Its runs, oldest first: each time it is sent back a new one begins. */
  readonly runs: readonly string[];
  /** The last of them is not over. */
  readonly isRunning: boolean;
  /** What its run does now, or did last. */
  readonly step?: LaneStep;
  /** How many iterations its runs have begun. */
  readonly iterations: number;
  /** How often the queue sent it back. */
  readonly returns: number;
  readonly sentBack?: SentBack;
  /** What merges have left in its files to be decided, and no agent has said to keep; decided is what differs from it. */
  readonly conflicts?: readonly Conflict[];
  /** What it has for itself; absent: nothing, or nothing any more. */
  readonly place?: Exclude<PlaceState, 'gone'>;
  /** With which ports that was made: what listens there is its own. */
  readonly port?: number;
  /** The run that repairs what was sent back, once it has begun. */
  readonly repair?: string;
  /** The commit that landed, or that waits in the queue. */
  readonly commit?: string;
  /** What each of its runs has used, by its id. */
  readonly used: Readonly<Record<string, Usage>>;
  /** Whether the checks would notice a fault in what it changes. */
  readonly mutation?: Mutation;
  /** Why it needs the user. */
  readonly why?: string;
  /** Why it is this one of several attempts. */
  readonly chosen?: string;
  /** Its pull request has asked for it. */
  readonly isRound?: true;
  /** Of such a one: the commit that is merged into its files. */
  readonly merges?: string;
  /** Milliseconds since 1970: when it was begun, and when it landed. */
  readonly startedAt?: number;
  readonly endedAt?: number;
}

export interface Candidate {
  readonly number: number;
  /** What it was merged onto. */
  readonly tip: string;
  readonly commit: string;
}

export interface Queued {
  readonly story: string;
  /** The work as its run left it. */
  readonly head: string;
  /** A name for the change that was reviewed. */
  readonly patch: string;
  /** When it came into the queue: the date of its candidate. */
  readonly at: number;
  readonly candidate?: Candidate;
}

export interface Landed {
  readonly story: string;
  readonly commit: string;
  readonly tree: string;
  readonly inputsChanged: readonly string[];
}

export interface Board {
  /** The commit that everything started from. */
  readonly base: string;
  /** The user's branch that is moved at the end, and where it stood; null: none. */
  readonly branch: string | null;
  /** It was there when the run began. */
  readonly isThere?: true;
  /** The tip of the integration branch. */
  readonly tip: string;
  /** Where Ralph has moved the user's branch to; absent: nowhere yet. */
  readonly integrated?: string;
  readonly lanes: readonly Lane[];
  readonly queue: readonly Queued[];
  /** How many candidates there have been. */
  readonly candidates: number;
  /** What landed, in order. */
  readonly landed: readonly Landed[];
  /** Commits that every check passed on, and how many checks there were. */
  readonly green: Readonly<Record<string, number>>;
  /** What turns outside of the lanes have used. */
  readonly extra?: Usage;
}

/** What became of the user's branch at the end of the run. */
export interface Integrated {
  readonly branch: string;
  readonly commit: string;
  /** Why it was not moved. */
  readonly problem?: string;
}

type Timed = RunEvent & { readonly time: number };

/** The board after an event; the same one where the event is not about it. */
export function afterBoardEvent(board: Board | undefined, event: Timed): Board | undefined {
  if (event.type === 'board-set') return newBoard(event);
  if (!board) return undefined;
  switch (event.type) {
    case 'run-resumed':
      return { ...board, lanes: board.lanes.map(tryAgain) };
    case 'story-started':
      return withLane(board, event.story, lane => afterStart(lane, event));
    case 'story-step':
      return withLane(board, event.story, lane => ({
        ...lane,
        state: event.mode === 'review' ? 'reviewing' : 'building',
        step: pick(event, 'mode', 'number', 'reserved'),
        // One that was cut off with the run is taken again, and counts once.
        iterations: lane.iterations + (lane.step?.number === event.number ? 0 : 1),
      }));
    case 'story-ended':
      return withLane(board, event.story, lane => afterRun(lane, event));
    case 'queued':
      return afterQueued(board, event);
    case 'lane-place':
      return withLane(board, event.story, lane => afterPlace(lane, event));
    case 'merge-left':
      return withLane(board, event.story, lane => ({
        ...lane,
        conflicts: withConflicts(lane.conflicts, event.conflicts),
      }));
    case 'candidate':
      return withCandidate(board, event);
    case 'candidate-checked':
      return afterChecks(board, event);
    case 'landed':
      return afterLanded(board, event);
    case 'sent-back':
      return afterSentBack(board, event);
    case 'lane-kept':
      return afterKept(board, event);
    case 'integrated':
      return event.problem === undefined ? { ...board, integrated: event.commit } : board;
    case 'forge-round':
      return withRound(board, event);
    case 'agent-ended':
      return { ...board, extra: board.extra ? addUsage(board.extra, event.usage) : event.usage };
    default:
      return board;
  }
}

type Of<Type extends RunEvent['type']> = Extract<Timed, { readonly type: Type }>;

/** The iterations of a new run are counted from 1. */
function afterStart({ step, ...lane }: Lane, { child, time }: Of<'story-started'>): Lane {
  const isKnown = lane.runs.includes(child);
  return {
    ...lane,
    ...(isKnown && step && { step }),
    ...(lane.sentBack && { repair: child }),
    state: 'building',
    isRunning: true,
    runs: isKnown ? lane.runs : [...lane.runs, child],
    startedAt: lane.startedAt ?? time,
  };
}

function afterPlace({ place: _, port: before, ...lane }: Lane, event: Of<'lane-place'>): Lane {
  const { state, port = before } = event;
  return state === 'gone' ? lane : { ...lane, place: state, ...(port !== undefined && { port }) };
}

const FRESH = { state: 'waiting', runs: [], isRunning: false, iterations: 0, returns: 0, used: {} } as const;

function newBoard({ base, tip, branch, isThere, lanes }: Of<'board-set'>): Board {
  return {
    base,
    branch,
    ...(isThere && { isThere }),
    tip,
    lanes: lanes.map(lane => ({ ...lane, ...FRESH })),
    queue: [],
    candidates: 0,
    landed: [],
    green: {},
  };
}

/** What a pull request asks for is one more lane, on what has landed. Its title is in a commit: nobody's words are in it. */
function withRound(board: Board, { why, tip }: Of<'forge-round'>): Board {
  const taken = new Set(board.lanes.map(({ id }) => id.toLowerCase()));
  let number = 1;
  while (taken.has(`round-${number}`)) number++;
  const head = { id: `round-${number}`, title: ROUNDS[why], priority: 1, needs: [], files: [] };
  const merges = tip === undefined ? {} : { merges: tip };
  return { ...board, lanes: [...board.lanes, { ...head, ...FRESH, isRound: true, ...merges }] };
}

const ROUNDS: Readonly<Record<Of<'forge-round'>['why'], string>> = {
  checks: 'Fix the checks of the pull request',
  review: 'Answer the review',
  conflict: 'Merge the base of the pull request',
  foreign: 'Take in what others have pushed',
};

/** Whoever resumes the run has done what was needed, or wants to know. */
function tryAgain(lane: Lane): Lane {
  if (lane.state !== 'needs_you') return lane;
  const { why: _, repair: __, ...rest } = lane;
  if (lane.sentBack) return { ...rest, state: 'waiting', returns: 0 };
  return { ...rest, state: lane.runs.length > 0 ? 'building' : 'waiting' };
}

export function laneOf({ lanes }: Pick<Board, 'lanes'>, id: string): Lane | undefined {
  return lanes.find(lane => lane.id === id);
}

function withLane(board: Board, id: string, change: (lane: Lane) => Lane): Board {
  return { ...board, lanes: board.lanes.map(lane => (lane.id === id ? change(lane) : lane)) };
}

/** A run that did not succeed leaves its lane to the user; whoever resumes the whole resumes it. */
function afterRun(lane: Lane, { child, reason, usage, why }: Of<'story-ended'>): Lane {
  const { why: _, ...rest } = lane;
  return {
    ...rest,
    isRunning: false,
    state: why === undefined ? lane.state : 'needs_you',
    ...(why !== undefined && { why: `${reason}: ${why}` }),
    used: { ...lane.used, [child]: usage },
  };
}

function afterQueued(board: Board, event: Of<'queued'>): Board {
  const { story, head, patch, conflicts, chosen, time: at } = event;
  const others = board.queue.filter(each => each.story !== story);
  const moved = withLane(board, story, ({ sentBack: _, conflicts: __, why: ___, ...lane }) => ({
    ...lane,
    ...defined({ conflicts, chosen: chosen ?? lane.chosen }),
    state: 'queued',
    commit: head,
  }));
  return { ...moved, queue: [...others, { story, head, patch, at }] };
}

/** What was built on top of one that is built anew is out of date with it. */
function withCandidate(board: Board, { story, number, tip, commit }: Of<'candidate'>): Board {
  const queue = board.queue.map(each =>
    each.story === story ? { ...each, candidate: { number, tip, commit } } : each,
  );
  return { ...board, queue, candidates: Math.max(board.candidates, number) };
}

function afterLanded(board: Board, event: Of<'landed'>): Board {
  const { story, commit, tree, time, inputsChanged = [] } = event;
  const moved = withLane(board, story, lane => ({ ...lane, state: 'landed', commit, endedAt: time }));
  return {
    ...moved,
    tip: commit,
    queue: board.queue.filter(each => each.story !== story),
    landed: [...board.landed, { story, commit, tree, inputsChanged }],
  };
}

function afterChecks(board: Board, event: Of<'candidate-checked'>): Board {
  const { commit, passed, results } = event;
  const count = results.filter(({ isSetup }) => !isSetup).length;
  return withMutation(passed ? { ...board, green: { ...board.green, [commit]: count } } : board, event);
}

function withMutation(board: Board, { story, mutation }: Of<'candidate-checked'>): Board {
  if (!mutation || 'failed' in mutation) return board;
  const known = pick(mutation, 'score', 'mutants', 'survivors');
  return withLane(board, story, lane => ({ ...lane, mutation: known }));
}

function afterSentBack(board: Board, event: Of<'sent-back'>): Board {
  const { story } = event;
  const moved = withLane(board, story, ({ commit: _, repair: __, ...lane }) => ({
    ...lane,
    state: 'waiting',
    returns: lane.returns + 1,
    sentBack: pick(event, 'why', 'files', 'conflicts', 'others', 'detail'),
  }));
  return { ...moved, queue: board.queue.filter(each => each.story !== story) };
}

function afterKept(board: Board, { story, why, needsYou, commit }: Of<'lane-kept'>): Board {
  const moved = withLane(board, story, lane => ({
    ...lane,
    ...defined({ commit }),
    state: needsYou ? 'needs_you' : 'kept',
    isRunning: false,
    why,
  }));
  return { ...moved, queue: board.queue.filter(each => each.story !== story) };
}

/** `20261115-015913-k3f9.US-001` belongs to `20261115-015913-k3f9`. */
export function parentOf(id: string): string | undefined {
  const [parent = '', ...rest] = id.split('.');
  return rest.length === 0 ? undefined : parent;
}

/** The branch on which the run of a lane works: `20261115-015913-k3f9.US-001.2` is on `ralph/20261115-015913-k3f9/US-001`. */
export function laneBranch(child: string): string {
  const [run = '', lane = ''] = child.split('.');
  return `ralph/${run}/${lane}`;
}

/** The sum of what is known to have been used. */
export function boardUsage({ lanes, extra }: Board): Usage | undefined {
  return sumUsage([...lanes.flatMap(({ used }) => Object.values(used)), ...(extra ? [extra] : [])]);
}

export function laneUsage({ used }: Pick<Lane, 'used'>): Usage | undefined {
  return sumUsage(Object.values(used));
}

function sumUsage(all: readonly Usage[]): Usage | undefined {
  return all.length === 0 ? undefined : all.reduce(addUsage);
}

/** What became of a lane: for `--json`. */
export interface LaneOutcome {
  readonly id: string;
  readonly title: string;
  readonly state: LaneState;
  readonly commit: string | null;
  readonly returns: number;
  readonly iterations: number;
  /** Dollars; null: unknown, which is not zero. */
  readonly cost: number | null;
  readonly runs: readonly string[];
  readonly why?: string;
  /** Of several attempts: why it is this one that landed. */
  readonly chosen?: string;
}

export function laneOutcome(lane: Lane): LaneOutcome {
  const { id, title, state, commit = null, returns, iterations, runs, why, chosen } = lane;
  const cost = laneUsage(lane)?.cost ?? null;
  return { id, title, state, commit, returns, iterations, cost, runs, ...defined({ why, chosen }) };
}

/** Of all that has landed. */
export function boardMutation({ lanes }: Board): Mutation | undefined {
  const all = lanes.flatMap(({ state, mutation }) => (state === 'landed' && mutation ? [mutation] : []));
  if (all.length === 0) return undefined;
  const mutants = all.reduce((sum, each) => sum + each.mutants, 0);
  const survivors = all.flatMap(each => each.survivors);
  return { score: mutationScore(mutants, survivors.length), mutants, survivors };
}

/** The run that works on it now, or did when the whole was cut off; undefined: one is to begin. */
export function currentRun({
  runs,
  sentBack,
  repair,
}: Pick<Lane, 'runs' | 'sentBack' | 'repair'>): string | undefined {
  return sentBack ? repair : runs.at(-1);
}
