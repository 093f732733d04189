/** The one line at the bottom of a terminal: where the run is and what happens right now. */
import type { AgentEvent } from '../domain/agent-event.ts';
import { afterBoardEvent, type Board, type LaneState } from '../domain/board.ts';
import { boardUsage } from '../domain/board-sums.ts';
import type { RunEvent, RunHead } from '../domain/event.ts';
import { totalTokens, type Usage } from '../domain/usage.ts';
import { clip, displayWidth, harmless, oneLine } from '../platform/text.ts';
import { BOARD_ONLY, type EventTable, LEDGER_ONLY, lookUp, type Of } from './event-table.ts';
import { keyWords } from './keys.ts';
import { NO_TURN, spentWith, type TurnUsage, turnUsage, usedSoFar } from './live-usage.ts';
import { compact, wholeSeconds } from './numbers.ts';
import { checkNoun, costPhrase, iterationOf, toolLabel, troubleName } from './phrases.ts';
import { mark, paint, type Style } from './style.ts';
import { waitingPhrase } from './waits.ts';

export interface LiveState {
  readonly on: boolean;
  readonly agent: string;
  readonly checkNoun: string;
  readonly iteration: number;
  readonly maxIterations: number;
  /** Milliseconds: of the run, and of what happens now. */
  readonly startedAt: number;
  readonly since: number;
  readonly doing: Doing;
  readonly tools: readonly Running[];
  readonly checking: readonly Running[];
  /** The last known colour of each check, by its index. */
  readonly checks: Readonly<Record<number, boolean>>;
  /** Turns that have ended. */
  readonly spent?: Usage | undefined;
  readonly turn: TurnUsage;
  /** Of a parallel run. */
  readonly board?: Board | undefined;
}

type Doing =
  | { readonly kind: 'preparing' | 'waiting' | 'thinking' | 'committing' | 'paused' }
  | { readonly kind: 'writing'; readonly tail: string }
  | { readonly kind: 'retrying'; readonly what: string }
  | { readonly kind: 'limited'; readonly event: Of<'waiting'> };

interface Running {
  readonly id: string;
  readonly label: string;
}

export const NO_RUN: LiveState = {
  on: false,
  agent: 'the agent',
  checkNoun: 'check',
  iteration: 0,
  maxIterations: 0,
  startedAt: 0,
  since: 0,
  doing: { kind: 'preparing' },
  tools: [],
  checking: [],
  checks: {},
  turn: NO_TURN,
};

export function live(state: LiveState, event: RunEvent, now: number): LiveState {
  const next = lookUp(STATES, event, state, now) ?? state;
  const board = afterBoardEvent(event.type === 'run-started' ? undefined : state.board, {
    ...event,
    time: now,
  });
  return next.board === board ? next : { ...next, board };
}

const startRun = ({ agent, command, maxIterations }: RunHead, _: LiveState, now: number): LiveState => ({
  ...NO_RUN,
  on: true,
  agent: oneLine(agent, 20),
  checkNoun: checkNoun(command).toLowerCase(),
  maxIterations,
  startedAt: now,
  since: now,
});

const STATES: EventTable<[state: LiveState, now: number], LiveState> = {
  'run-started': startRun,
  'run-resumed': startRun,
  'iteration-started': ({ iteration }, state, now) =>
    doing({ ...state, iteration }, { kind: 'preparing' }, now),
  'agent-started': ({ purpose }, state, now) =>
    doing(state, { kind: purpose === 'work' ? 'waiting' : 'committing' }, now),
  agent: ({ event }, state, now) => liveAgent(state, event, now),
  'agent-ended': (event, state, now) => {
    const after = { ...state, spent: spentWith(state.spent, event), turn: NO_TURN, tools: [] };
    return doing(after, { kind: 'preparing' }, now);
  },
  'check-started': ({ index, command }, state, now) => {
    const check = { id: String(index), label: `${state.checkNoun} ${oneLine(command, LABEL)}` };
    return { ...state, checking: started(state.checking, check), since: now };
  },
  'check-ended': ({ result: { index, passed } }, state, now) => {
    const checking = ended(state.checking, String(index));
    return { ...state, checking, checks: { ...state.checks, [index]: passed }, since: now };
  },
  waiting: (event, state, now) => doing(state, { kind: 'limited', event }, now),
  'agent-switched': ({ to }, state) => ({ ...state, agent: oneLine(to, 20) }),
  paused: (_, state, now) => doing(state, { kind: 'paused' }, now),
  continued: (_, state, now) => doing(state, { kind: 'preparing' }, now),
  'iteration-ended': (_, state, now) =>
    doing({ ...state, tools: [], checking: [] }, { kind: 'preparing' }, now),
  'run-ended': (_, state) => ({ ...state, on: false }),
  ...LEDGER_ONLY,
  ...BOARD_ONLY,
  mutated: null,
  violation: null,
  denied: null,
  'stories-settled': null,
  scm: null,
  notice: null,
  told: null,
  'question-asked': null,
  'question-answered': null,
};

const LABEL = 200;
const MAX_RUNNING = 16;

/** The age of an activity counts from its beginning, not from each further sign of it. */
function doing(state: LiveState, next: Doing, now: number): LiveState {
  return { ...state, doing: next, since: state.doing.kind === next.kind ? state.since : now };
}

function started(running: readonly Running[], one: Running): readonly Running[] {
  return [...running, one].slice(-MAX_RUNNING);
}

function ended(running: readonly Running[], id: string): readonly Running[] {
  return running.filter(one => one.id !== id);
}

function liveAgent(state: LiveState, event: AgentEvent, now: number): LiveState {
  if (state.doing.kind === 'committing' && event.kind !== 'usage') return state;
  switch (event.kind) {
    case 'text': {
      const before = event.delta && state.doing.kind === 'writing' ? state.doing.tail : '';
      const tail = (before + event.text.slice(-LABEL)).slice(-LABEL);
      // Own words after a tool call mean that it is over, even if the agent never said so.
      return doing({ ...state, tools: [] }, { kind: 'writing', tail }, now);
    }
    case 'aside':
      return event.from === 'thinking' ? doing(state, { kind: 'thinking' }, now) : state;
    case 'tool-start': {
      const tool = { id: event.id, label: toolLabel(event, LABEL) };
      return { ...doing(state, { kind: 'waiting' }, now), tools: started(state.tools, tool), since: now };
    }
    case 'tool-end':
      return { ...state, doing: { kind: 'waiting' }, tools: ended(state.tools, event.id), since: now };
    case 'trouble':
      if (!event.retrying) return state;
      return doing(state, { kind: 'retrying', what: troubleName(event.trouble) }, now);
    case 'usage':
      return { ...state, turn: turnUsage(state.turn, event) };
    case 'session':
    case 'todo':
    case 'result':
    case 'progress':
    case 'unknown':
      return state;
    default:
      return event satisfies never;
  }
}

/** Never wider than the terminal, less one: the last column makes some terminals break the line. */
export function liveLine(state: LiveState, style: Style, now: number, hasKeys = false): string {
  if (!state.on) return '';
  const width = style.width - 1;
  const dot = mark(style, 'dot');
  const activity = activityOf(state, style, now);
  const head = headOf(state, style.width >= ROOMY);
  const keys = hasKeys ? [{ text: keyWords(state.doing.kind === 'paused', style.width), worth: 6 }] : [];
  let parts = [...optionalParts(state, style, now), ...keys];
  const room = () => {
    const others = [head, ...parts.map(part => part.text)].filter(text => text !== '');
    return width - others.reduce((used, text) => used + displayWidth(text) + dot.length, 0);
  };
  const wanted = Math.min(displayWidth(activity), ENOUGH);
  for (const least of [...parts].sort((a, b) => a.worth - b.worth)) {
    if (room() >= wanted) break;
    parts = parts.filter(part => part !== least);
  }
  const words = [head, clip(activity, Math.max(1, room())), ...parts.map(part => part.text)];
  return paint(style, 'dim', clip(words.filter(text => text !== '').join(dot), width));
}

const ROOMY = 60;
/** Columns in which a reader can still recognise what happens. */
const ENOUGH = 16;

function headOf({ iteration, maxIterations }: LiveState, roomy: boolean): string {
  if (iteration === 0) return '';
  return `${roomy ? 'Iteration ' : ''}${iterationOf(iteration, maxIterations)}`;
}

function activityOf(state: LiveState, style: Style, now: number): string {
  const running = state.checking.at(-1) ?? state.tools.at(-1);
  if (running) return running.label;
  switch (state.doing.kind) {
    case 'writing':
      return writing(state.doing.tail, style);
    case 'waiting':
      return `waiting for ${state.agent}`;
    case 'committing':
      return 'writing the commit message';
    case 'retrying':
      return `${state.doing.what}, retrying`;
    case 'limited':
      return waitingPhrase(state.doing.event, now);
    case 'preparing':
      return state.board ? tallyOf(state.board) : 'preparing';
    case 'thinking':
    case 'paused':
      return state.doing.kind;
    default:
      return state.doing satisfies never;
  }
}

/** `2 building, 1 reviewing, 1 in the queue, 3 of 8 landed`. */
function tallyOf({ lanes, landed }: Board): string {
  const count = (state: LaneState, words: string) => {
    const found = lanes.filter(lane => lane.state === state).length;
    return found === 0 ? [] : [`${found} ${words}`];
  };
  return [
    ...count('building', 'building'),
    ...count('reviewing', 'reviewing'),
    ...count('queued', 'in the queue'),
    `${landed.length} of ${lanes.length} landed`,
  ].join(', ');
}

/** The end of the row that the reader cannot see above yet. */
function writing(tail: string, style: Style): string {
  const row = oneLine(harmless(tail).split('\n').at(-1) ?? '', LABEL);
  if (row === '' || style.width < ROOMY) return 'writing';
  if (row.length <= TAIL) return `writing: ${row}`;
  return `writing: …${harmless(row.slice(-TAIL)).replace(/^(?:\S* |\ufffd)/, '')}`;
}

const TAIL = 40;

interface Part {
  readonly text: string;
  /** The part of least worth goes first. */
  readonly worth: number;
}

/** In the order of the line. */
function optionalParts(state: LiveState, style: Style, now: number): readonly Part[] {
  const seconds = (from: number) => wholeSeconds((now - from) / 1000);
  const used = (state.board && boardUsage(state.board)) ?? usedSoFar(state.spent, state.turn);
  const tokens = totalTokens(used.tokens);
  const { cost, unpriced, uncounted = 0 } = used;
  const slow = now - state.since >= SLOW && state.since > state.startedAt;
  const parts: readonly Part[] = [
    { text: slow ? `for ${seconds(state.since)}` : '', worth: 1 },
    { text: checksSoFar(state, style), worth: 4 },
    { text: seconds(state.startedAt), worth: 5 },
    {
      text: tokens === undefined ? '' : `${uncounted > 0 ? 'at least ' : ''}${compact(tokens)} tokens`,
      worth: 2,
    },
    { text: cost === undefined ? '' : costPhrase(cost, unpriced), worth: 3 },
  ];
  return parts.filter(part => part.text !== '');
}

/** From here on a reader wonders whether it hangs. */
const SLOW = 10_000;

function checksSoFar({ checks }: LiveState, style: Style): string {
  const passed = Object.values(checks).filter(Boolean).length;
  const failed = Object.values(checks).length - passed;
  const counts = [
    passed > 0 && `${passed}${mark(style, 'passed')}`,
    failed > 0 && `${failed}${mark(style, 'failed')}`,
  ];
  return counts.filter(Boolean).join(' ');
}
