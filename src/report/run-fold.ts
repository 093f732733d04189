/** Folds a ledger into a RunView, event by event. Takes whatever a ledger may hold and never throws. */

import type { CheckResult } from '../domain/checks/check.ts';
import type { PullEvent } from '../domain/forge/forge-event.ts';
import { afterForgeEvent, afterIssueSaid } from '../domain/forge/forge-state.ts';
import { afterBoardEvent } from '../domain/lanes/board.ts';
import type { RunHead } from '../domain/run/event.ts';
import {
  type KnownEntry,
  knownEntry,
  type RawEntry,
  typeText,
  unknownEntryWords,
} from '../domain/run/ledger-entry.ts';
import { questionWords } from '../domain/stories/questions.ts';
import { pick, sameFor } from '../domain/text/fields.ts';
import { addUsage, type Usage, usedIn } from '../domain/turn/usage.ts';
import { checkView, place, redOnes, whyNotDone } from './check-views.ts';
import { type EventTable, FORGE, lookUp, NO_BOARD, NO_NEWS, type Of } from './event-table.ts';
import { afterLaneEvent } from './lane-history.ts';
import { newsOf, resumedPhrase } from './news.ts';
import { movedIn, phrase, refusedPhrase } from './phrases.ts';
import {
  EMPTY_ITERATION,
  EMPTY_VIEW,
  type IterationView,
  type Phase,
  type Remark,
  type RunView,
  type Seconds,
  storyStatus,
} from './run-view.ts';
import type { Mark } from './style.ts';

export interface RunFold {
  add(entry: RawEntry): void;
  /** The same object until something is added. */
  view(): RunView;
}

type Draft<T> = { -readonly [Key in keyof T]: T[Key] };
type Lists = 'iterations' | 'violations' | 'remarks' | 'moves';
/** Lists grow in place: ten thousand iterations are not copied ten thousand times. */
type State = Draft<Omit<RunView, Lists>> & { [Key in Lists]: RunView[Key][number][] };

/** Continues from a view that was folded before, here or elsewhere. */
export function createRunFold(from: RunView = EMPTY_VIEW): RunFold {
  const state = withOwnLists(from);
  let view: RunView | undefined;
  return {
    add(entry) {
      view = undefined;
      const known = knownEntry(entry);
      if (known) step(state, known);
      const words = known ? remarkOn(known) : ({ level: 'warning', text: unknownEntryWords(entry) } as const);
      if (words) remark(state, entry, words);
      state.seq = Number.isFinite(entry.seq) ? entry.seq : state.seq;
      state.lastAt = timeOf(entry) ?? state.lastAt;
    },
    view() {
      view ??= withOwnLists(state);
      return view;
    },
  };
}

function withOwnLists(view: RunView): State {
  const { iterations, violations, remarks, moves } = view;
  const lists = { iterations: [...iterations], violations: [...violations] };
  return { ...view, ...lists, remarks: [...remarks], moves: [...moves] };
}

function step(state: State, entry: KnownEntry): void {
  const at = Date.parse(entry.at);
  lookUp(STEPS, entry, state, at);
  if (entry.type !== 'board-set' && !state.board) return;
  state.board = afterBoardEvent(state.board ?? undefined, { ...entry, time: at }) ?? null;
  state.lanes = afterLaneEvent(state.lanes, entry, at, state.lastAt ?? at);
}

/** What each event does to the view. */
const STEPS: EventTable<[state: State, at: number], void> = {
  'run-started': begin,
  'run-resumed': resume,
  waiting: (_, state, at) => enter(state, 'waiting', at),
  paused: (_, state, at) => enter(state, 'paused', at),
  continued: (_, state, at) => enter(state, 'between', at),
  'agent-switched'({ to }, state) {
    state.agent = to;
  },
  'stories-updated': updateStories,
  'run-ended': end,
  'iteration-started'({ iteration, mode = null, story = null, agent }, state, at) {
    enter(state, 'between', at);
    state.agent = agent ?? state.agent;
    startIteration(state, iteration, at);
    change(state, () => ({ mode, story }));
  },
  'agent-started': startTurn,
  'agent-ended': endTurn,
  'check-started': (_, state, at) => startCheck(state, at),
  'check-ended': ({ result }, state, at) => endCheck(state, result, at),
  violation({ violation }, state, at) {
    state.violations.push({ ...violation, iteration: numberOf(state), at });
    change(state, ({ violations }) => ({ violations: violations + 1 }));
  },
  'iteration-ended': endIteration,
  ...NO_BOARD,
  ...NO_NEWS,
  judged({ limits }, state) {
    state.limits = limits ?? state.limits;
  },
  ...sameFor(null, 'agent', 'hint-delivered', 'mutated', 'denied', 'scm', 'notice'),
  'question-asked'({ story, question }, state) {
    change(state, () => ({ why: questionWords({ story, question }) }));
    state.questions = [...withoutStory(state, story), { story, question }];
  },
  'question-answered'({ story }, state) {
    state.questions = withoutStory(state, story);
  },
  restored({ from, to, problem }, state) {
    if (problem === undefined) state.restores = [...state.restores, { from, to }];
  },
  ...sameFor(followForge, ...FORGE),
  'forge-said'(event, state) {
    state.said = afterIssueSaid(state.said, event);
  },
};

function followForge(event: PullEvent, state: State): void {
  state.forge = afterForgeEvent(state.forge ?? undefined, event);
}

function withoutStory({ questions }: State, story: string): RunView['questions'] {
  return questions.filter(each => each.story !== story);
}

function begin(entry: RunHead, state: State, at: number): void {
  const head = pick(entry, 'runId', 'command', 'agent', 'cwd', 'maxIterations', 'checks');
  const more = pick(entry, 'model', 'title', 'sandbox', 'forkOf');
  Object.assign(state, { model: null, title: null, sandbox: null, forkOf: null, ...head, ...more });
  state.startedAt ??= at;
}

/** What was open ended when the run was cut off, and not when it was resumed. */
function resume(entry: RunHead, state: State, at: number): void {
  enter(state, 'between', state.lastAt ?? at);
  begin(entry, state, at);
  state.ending = null;
}

function end({ result }: Of<'run-ended'>, state: State, at: number): void {
  const { iterations: _, ...ending } = result;
  enter(state, 'ended', at);
  state.ending = ending;
}

function updateStories({ hash, iteration, moved }: Of<'stories-updated'>, state: State, at: number): void {
  state.storyList = hash;
  if (!moved) return;
  const { id: story, reviewFeedback: feedback = '' } = moved;
  state.moves.push({ story, iteration, at, status: storyStatus(moved), feedback });
}

/** Closes what is open, at the time of the entry, and begins something else. */
function enter(state: State, phase: Phase, at: number, running = 0): void {
  if (state.open) spend(state, state.phase, Math.max(0, at - state.open.since) / 1000);
  state.phase = phase;
  state.open = phase === 'between' || phase === 'ended' ? null : { since: at, running };
}

const SPENT_ON: Partial<Record<Phase, keyof Seconds>> = {
  agent: 'agent',
  checks: 'checks',
  waiting: 'waiting',
  paused: 'waiting',
};

/** The same with the time of what is still running. */
export function viewAt(view: RunView, now: number): RunView {
  const on = view.open ? SPENT_ON[view.phase] : undefined;
  const last = view.iterations.at(-1);
  if (!view.open || on === undefined || !last) return view;
  const more = Math.max(0, now - view.open.since) / 1000;
  const add = (seconds: Seconds) => ({ ...seconds, [on]: seconds[on] + more });
  const iterations = [...view.iterations.slice(0, -1), { ...last, seconds: add(last.seconds) }];
  return { ...view, seconds: add(view.seconds), iterations };
}

function spend(state: State, phase: Phase, seconds: number): void {
  const on = SPENT_ON[phase];
  if (on === undefined) return;
  const more = (before: Seconds) => ({ ...before, [on]: before[on] + seconds });
  state.seconds = more(state.seconds);
  change(state, iteration => ({ seconds: more(iteration.seconds) }));
}

/** The same number again is the same iteration, taken up where it was cut off. */
function startIteration(state: State, number: number, at: number): void {
  if (state.iterations.at(-1)?.number === number) return;
  state.iterations.push({ ...EMPTY_ITERATION, number, startedAt: at, agent: state.agent });
}

function change(state: State, by: (iteration: IterationView) => Partial<IterationView>): void {
  const last = state.iterations.at(-1);
  if (last) state.iterations[state.iterations.length - 1] = { ...last, ...by(last) };
}

function numberOf(state: State): number {
  return state.iterations.at(-1)?.number ?? 0;
}

function startTurn(entry: Of<'agent-started'>, state: State, at: number): void {
  const { purpose, promptChars: chars, userChars } = entry;
  enter(state, 'agent', at);
  if (purpose !== 'work') return;
  const prompt = userChars === undefined ? null : { chars, added: Math.max(0, chars - userChars) };
  change(state, ({ attempts }) => ({ attempts: attempts + 1, agent: state.agent, prompt }));
}

/** The agent's own clock is the better one: a wall clock may jump. */
function endTurn(entry: Of<'agent-ended'>, state: State): void {
  const { purpose, outcome, duration, toolCalls, toolErrors } = entry;
  if (state.phase === 'agent') {
    state.phase = 'between';
    state.open = null;
  }
  spend(state, 'agent', Math.max(0, duration));
  const more = (usage: Usage | null) =>
    usedIn(entry).reduce((sum, used) => (sum ? addUsage(sum, used) : used), usage);
  change(state, ({ usage }) => ({ usage: more(usage) }));
  state.usage = more(state.usage);
  if (purpose !== 'work') return;
  change(state, iteration => ({
    outcome,
    toolCalls: count(iteration.toolCalls, toolCalls),
    toolErrors: count(iteration.toolErrors, toolErrors),
  }));
}

function count(before: number | null, more: number | null): number | null {
  return typeof more === 'number' ? (before ?? 0) + more : before;
}

function startCheck(state: State, at: number): void {
  if (state.phase === 'checks' && state.open) state.open = { ...state.open, running: state.open.running + 1 };
  else enter(state, 'checks', at, 1);
}

/** A round of checks lasts until the last one that was begun has ended. */
function endCheck(state: State, result: CheckResult, at: number): void {
  const view = checkView(result);
  if (state.iterations.length === 0) state.baseline = place(state.baseline, view);
  else change(state, iteration => ({ checks: place(iteration.checks, view) }));
  if (state.phase !== 'checks' || !state.open) return;
  if (state.open.running > 1) state.open = { ...state.open, running: state.open.running - 1 };
  else enter(state, 'between', at);
}

function endIteration(entry: Of<'iteration-ended'>, state: State, at: number): void {
  const { verdict, claim, usage } = entry;
  enter(state, 'between', at);
  // A session's hook only writes the end of one.
  if (numberOf(state) !== entry.iteration) startIteration(state, entry.iteration, state.lastAt ?? at);
  state.usage = usage;
  change(state, iteration => ({
    endedAt: at,
    claim,
    total: usage,
    stopReason: verdict.kind === 'stop' ? verdict.reason : null,
    why:
      verdict.kind === 'continue'
        ? (iteration.why ?? whyNotDone(verdict, state.command, movedIn(state.moves, entry.iteration)))
        : null,
    // The stop hook runs its checks in a process of its own; what was red is in its verdict.
    ...(iteration.checks.length === 0 && { checks: redOnes(verdict) }),
  }));
}

function remark(state: State, { seq, at, type }: RawEntry, { level, text }: Words): void {
  const time = timeOf({ at }) ?? state.lastAt ?? 0;
  const iteration = numberOf(state);
  state.remarks.push({
    seq,
    at: time,
    iteration,
    type: phrase(typeText({ type })),
    level,
    text: phrase(text),
  });
}

function timeOf({ at }: { readonly at: unknown }): number | undefined {
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

type Words = Pick<Remark, 'level' | 'text'>;

/** undefined: it is no remark, but a step of the run or nothing that people need to know. */
function remarkOn(entry: KnownEntry): Words | undefined {
  switch (entry.type) {
    case 'notice':
      return entry.level === 'debug' ? undefined : { level: entry.level, text: entry.text };
    case 'agent-ended':
      return entry.refused && { level: 'warning', text: refusedPhrase(entry.refused) };
    case 'run-resumed':
      return { level: 'info', text: [resumedPhrase(entry), ...entry.repaired, ...entry.changes].join('; ') };
    default: {
      const [mark, text] = newsOf(entry, Date.parse(entry.at)) ?? [];
      if (mark === undefined || text === undefined) return undefined;
      const isUntried = entry.type === 'mutated' && 'failed' in entry;
      return { level: isUntried ? 'warning' : (LEVELS[mark] ?? 'info'), text };
    }
  }
}

const LEVELS: Partial<Record<Mark, Remark['level']>> = {
  error: 'error',
  attention: 'warning',
  warning: 'warning',
  retry: 'warning',
};
