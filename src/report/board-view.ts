/** The board of a parallel run as people see it: a column for each state, and what is to be known of each lane, in words. */
import { type Board, boardUsage, type Lane, type LaneState, laneUsage } from '../domain/lanes/board.ts';
import { dollars } from '../domain/turn/usage.ts';
import { sentBackWords, stepWords } from './board-words.ts';
import type { LaneHistory } from './lane-history.ts';
import { counted, timeOfDay, wholeSeconds } from './numbers.ts';
import { commitPhrase, phrase } from './phrases.ts';
import type { RunView } from './run-view.ts';

/** What the run of a lane has used by now, and until when it waits. The ledger of the whole does not say it while it runs. */
export interface ChildNow {
  readonly cost: number | null;
  readonly until: number | null;
}

export type Children = Readonly<Record<string, ChildNow>>;

export interface LaneCard {
  readonly id: string;
  readonly title: string;
  readonly state: LaneState;
  /** Its last run. */
  readonly run: string | null;
  /** What it does, what it has cost, how often it was sent back. */
  readonly facts: readonly string[];
  /** Why it was sent back, or needs the user; '': it does not. */
  readonly why: string;
}

export interface BoardColumn {
  readonly state: LaneState;
  readonly name: string;
  readonly lanes: readonly LaneCard[];
}

export interface BoardView {
  readonly columns: readonly BoardColumn[];
  readonly landed: number;
  readonly total: number;
  /** `$4.65 spent, $0.31 reserved`; '': nothing is known. */
  readonly money: string;
  readonly waits: readonly string[];
}

const NAMES: Readonly<Record<LaneState, string>> = {
  waiting: 'Waiting',
  building: 'Building',
  reviewing: 'Reviewing',
  queued: 'Queue',
  landed: 'Landed',
  kept: 'Kept',
  needs_you: 'Needs you',
};

const COLUMNS: readonly LaneState[] = ['waiting', 'building', 'reviewing', 'queued', 'landed', 'needs_you'];

export interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly isRunning: boolean;
  readonly children?: Children;
}

/** undefined: it is no parallel run. */
export function boardView(
  view: Pick<RunView, 'board' | 'lanes' | 'limits'>,
  moment: Moment,
): BoardView | undefined {
  const { board, lanes: history } = view;
  if (!board) return undefined;
  const cards = cardsOf(board, history, moment);
  const states = cards.some(({ state }) => state === 'kept') ? [...COLUMNS, 'kept' as const] : COLUMNS;
  return {
    columns: states.map(state => ({
      state,
      name: NAMES[state],
      lanes: cards.filter(card => card.state === state),
    })),
    landed: board.landed.length,
    total: board.lanes.length,
    money: moneyWords(board, view.limits?.maxCost, moment),
    waits: moment.isRunning ? waitsOf(board, history, moment) : [],
  };
}

/** Those in the queue in its order, those that landed in theirs. */
function cardsOf(board: Board, history: LaneHistory, moment: Moment): readonly LaneCard[] {
  const order = [...board.landed.map(({ story }) => story), ...board.queue.map(({ story }) => story)];
  const place = ({ id }: Lane) => order.indexOf(id);
  return [...board.lanes]
    .sort((one, other) => place(one) - place(other))
    .map(lane => ({
      id: phrase(lane.id),
      title: phrase(lane.title),
      state: lane.state,
      run: lane.runs.at(-1) ?? null,
      facts: factsOf(lane, board, history, moment),
      why: whyOf(lane),
    }));
}

function factsOf(lane: Lane, board: Board, history: LaneHistory, moment: Moment): readonly string[] {
  const cost = laneCost(lane, moment.children ?? {});
  return [
    ...standing(lane, board, history, moment),
    ...(cost === undefined ? [] : [dollars(cost)]),
    ...(lane.returns === 0 ? [] : [`sent back ${times(lane.returns)}`]),
  ];
}

/** `once`, `twice`, `3 times`. */
export function times(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`;
}

function standing(lane: Lane, board: Board, history: LaneHistory, { now, isRunning, children = {} }: Moment) {
  const { state, step, commit } = lane;
  switch (state) {
    case 'waiting':
      return waitingWords(lane, board);
    case 'building':
    case 'reviewing': {
      const until = children[lane.runs.at(-1) ?? '']?.until ?? null;
      const words = step ? [stepWords(step)] : ['begins'];
      if (!isRunning || !lane.isRunning) return step ? [...words, 'not running'] : ['not running'];
      return until === null ? words : [...words, `waits until ${timeOfDay(until, now)}`];
    }
    case 'queued':
      return queueWords(lane, board, history, { now, isRunning });
    case 'landed':
      return commit === undefined ? [] : [commitPhrase(commit)];
    case 'kept':
    case 'needs_you':
      return [];
    default:
      return state satisfies never;
  }
}

function waitingWords({ needs, sentBack }: Lane, { landed }: Board): readonly string[] {
  if (sentBack) return ['to be merged again'];
  const open = needs.filter(id => !landed.some(({ story }) => story === id));
  return open.length === 0 ? ['ready'] : [`waits for ${open.map(phrase).join(', ')}`];
}

function queueWords(
  { id }: Lane,
  { queue }: Board,
  { spans }: LaneHistory,
  { now, isRunning }: Moment,
): readonly string[] {
  const place = queue.findIndex(({ story }) => story === id);
  const checks = spans.findLast(({ story }) => story === id);
  const since = checks && isRunning ? ` for ${wholeSeconds((now - checks.from) / 1000)}` : '';
  if (checks?.kind === 'checks' && checks.to === null) return [`checks of ${checks.what}${since}`];
  return [place === 0 ? 'next to land' : `number ${place + 1} in the queue`];
}

function whyOf({ state, sentBack, why }: Lane): string {
  if (state === 'needs_you' || state === 'kept') return phrase(why ?? '');
  return sentBack ? `sent back because ${sentBackWords(sentBack)}` : '';
}

/** Of all its runs, the one that is running included. */
function laneCost(lane: Pick<Lane, 'runs' | 'used'>, children: Children): number | undefined {
  const known = laneUsage(lane)?.cost;
  const running = openCost(lane, children);
  return known === undefined && running === 0 ? undefined : (known ?? 0) + running;
}

/** What its runs have used that the ledger of the whole has not counted yet. */
function openCost({ runs, used }: Pick<Lane, 'runs' | 'used'>, children: Children): number {
  return runs.reduce((sum, id) => sum + (used[id] ? 0 : (children[id]?.cost ?? 0)), 0);
}

/** Dollars that all lanes have used, as far as it is known; undefined: nothing is. */
export function boardCost(board: Board, children: Children): number | undefined {
  const known = boardUsage(board)?.cost;
  const open = board.lanes.reduce((sum, lane) => sum + openCost(lane, children), 0);
  return known === undefined && open === 0 ? undefined : (known ?? 0) + open;
}

function moneyWords(board: Board, cap: number | undefined, { isRunning, children = {} }: Moment): string {
  const cost = boardCost(board, children);
  const held = isRunning
    ? board.lanes.reduce((sum, { isRunning: runs, step }) => sum + (runs ? (step?.reserved ?? 0) : 0), 0)
    : 0;
  const parts = [
    ...(cost === undefined ? [] : [`${dollars(cost)} spent`]),
    ...(held > 0 ? [`${dollars(held)} reserved`] : []),
  ];
  const of = cap === undefined ? '' : ` of ${dollars(cap)}`;
  return parts.length === 0 ? '' : `${parts.join(', ')}${of}`;
}

function waitsOf(board: Board, { limited, spans }: LaneHistory, { now }: Moment): readonly string[] {
  const checks = spans.filter(({ kind, to }) => kind === 'checks' && to === null);
  const asked = board.lanes.filter(({ state }) => state === 'needs_you').length;
  return [
    ...(limited && limited.until > now
      ? [`${phrase(limited.agent)} is limited until ${timeOfDay(limited.until, now)}: nothing new is begun`]
      : []),
    ...checks.map(
      ({ story, what, from }) =>
        `The queue: the checks of ${what} (${phrase(story)}), for ${wholeSeconds((now - from) / 1000)}`,
    ),
    ...(asked > 0 ? [`You: ${counted(asked, 'lane')} ${asked === 1 ? 'needs' : 'need'} you`] : []),
  ];
}
