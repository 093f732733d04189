/** The one line at the bottom of a terminal: where the run is and what happens right now. */

import { type Board, boardUsage, type LaneState } from '../domain/lanes/board.ts';
import type { RunEvent } from '../domain/run/event.ts';
import { countChecks } from '../domain/run/result.ts';
import { fold, NOTHING_YET, type RunState, usedSoFar } from '../domain/run/state.ts';
import { questionWords } from '../domain/stories/questions.ts';
import type { AgentEvent } from '../domain/turn/agent-event.ts';
import { totalTokens } from '../domain/turn/usage.ts';
import { clip, displayWidth, harmless, oneLine } from '../platform/text.ts';
import { keyWords } from './keys.ts';
import { waitingPhrase } from './news.ts';
import { compact, wholeSeconds } from './numbers.ts';
import { checkNoun, costPhrase, iterationOf, toolLabel, troubleName } from './phrases.ts';
import type { OpenQuestion } from './run-view.ts';
import { mark, paint, type Style } from './style.ts';

/** What the run has done, and what happens right now. */
export interface LiveState {
  readonly run: RunState;
  /** Milliseconds: when the run began, and what happens now. */
  readonly startedAt: number;
  readonly since: number;
  readonly doing: Doing;
  readonly tools: readonly Running[];
  readonly checking: readonly Running[];
}

type Doing =
  | { readonly kind: 'preparing' | 'idle' | 'waiting' | 'thinking' | 'committing' }
  | { readonly kind: 'writing'; readonly tail: string }
  | { readonly kind: 'retrying'; readonly what: string };

interface Running {
  readonly id: string;
  readonly label: string;
}

export const NO_RUN: LiveState = {
  run: NOTHING_YET,
  startedAt: 0,
  since: 0,
  doing: { kind: 'preparing' },
  tools: [],
  checking: [],
};

/** There is a run, and it has not ended. */
export function isOn({ run: { head, result } }: LiveState): boolean {
  return head !== undefined && !result;
}

/** `past`: what a run that is resumed has done before. */
export function live(before: LiveState, event: RunEvent, now: number, past?: RunState): LiveState {
  // Of an agent's words nothing is kept but the last ones, which are shown.
  if (event.type === 'agent' && event.event.kind !== 'usage') return liveAgent(before, event.event, now);
  const isStart = event.type === 'run-started' || event.type === 'run-resumed';
  const { run } = isStart ? NO_RUN : before;
  const state = { ...before, run: fold(run, { ...event, time: now }) };
  switch (event.type) {
    case 'run-started':
    case 'run-resumed':
      return { ...NO_RUN, run: past ?? state.run, startedAt: now, since: now };
    case 'agent-started':
      return doing(state, { kind: event.purpose === 'work' ? 'waiting' : 'committing' }, now);
    case 'check-started': {
      const noun = checkNoun(run.head?.command ?? 'run').toLowerCase();
      const check = { id: String(event.index), label: `${noun} ${oneLine(event.command, LABEL)}` };
      return { ...state, checking: started(state.checking, check), since: now };
    }
    case 'check-ended':
      return { ...state, checking: ended(state.checking, String(event.result.index)), since: now };
    case 'waiting':
    case 'paused':
      return doing(state, { kind: 'idle' }, now);
    case 'iteration-ended':
      return doing({ ...state, tools: [], checking: [] }, { kind: 'preparing' }, now);
    case 'iteration-started':
    case 'agent-ended':
    case 'continued':
      return doing({ ...state, tools: [] }, { kind: 'preparing' }, now);
    default:
      return state;
  }
}

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
  if (state.doing.kind === 'committing') return state;
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
      if (!event.retrying || event.call) return state;
      return doing(state, { kind: 'retrying', what: troubleName(event.trouble) }, now);
    case 'usage':
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
export function liveLine(
  state: LiveState,
  style: Style,
  now: number,
  hasKeys = false,
  asks?: OpenQuestion,
): string {
  if (!isOn(state)) return '';
  const width = style.width - 1;
  const dot = mark(style, 'dot');
  const activity = activityOf(state, style, now, asks);
  const head = headOf(state.run, style.width >= ROOMY);
  const keys = hasKeys
    ? [{ text: keyWords(state.run.time.isPaused, style.width, asks !== undefined), worth: 6 }]
    : [];
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

function headOf({ open, last, head }: RunState, roomy: boolean): string {
  const iteration = open ?? last;
  if (!iteration) return '';
  return `${roomy ? 'Iteration ' : ''}${iterationOf(iteration.number, head?.maxIterations ?? 0)}`;
}

function activityOf(state: LiveState, style: Style, now: number, asks?: OpenQuestion): string {
  const { board, waiting, agent = 'the agent', time } = state.run;
  const running = state.checking.at(-1) ?? state.tools.at(-1);
  if (running) return running.label;
  if (waiting) return waitingPhrase(waiting, now);
  if (time.isPaused) return 'paused';
  switch (state.doing.kind) {
    case 'writing':
      return writing(state.doing.tail, style);
    case 'waiting':
      return `waiting for ${oneLine(agent, 20)}`;
    case 'committing':
      return 'writing the commit message';
    case 'retrying':
      return `${state.doing.what}, retrying`;
    case 'thinking':
      return 'thinking';
    case 'idle':
    case 'preparing':
      return [
        ...(asks ? [`waiting for your answer: ${oneLine(questionWords(asks), LABEL)}`] : []),
        ...(board ? [tallyOf(board)] : asks ? [] : ['preparing']),
      ].join(', ');
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
  const { board } = state.run;
  const used = (board && boardUsage(board)) ?? usedSoFar(state.run);
  const { cost, unpriced, uncounted = 0 } = used ?? {};
  const tokens = totalTokens(used?.tokens);
  const slow = now - state.since >= SLOW && state.since > state.startedAt;
  const parts: readonly Part[] = [
    { text: slow ? `for ${seconds(state.since)}` : '', worth: 1 },
    { text: checksSoFar(state.run, style), worth: 4 },
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

/** The last known colour of each. */
function checksSoFar({ baseline, last, open }: RunState, style: Style): string {
  const all = [...baseline, ...(last?.checks ?? []), ...(open?.checks ?? []), ...(open?.clean ?? [])];
  const { passed, failed } = countChecks([...new Map(all.map(check => [check.index, check])).values()]);
  const counts = [
    passed > 0 && `${passed}${mark(style, 'passed')}`,
    failed > 0 && `${failed}${mark(style, 'failed')}`,
  ];
  return counts.filter(Boolean).join(' ');
}
