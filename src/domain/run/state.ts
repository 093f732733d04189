/**
 * What a run has done so far, folded from its events: all that is needed to continue it, and to say where it stands. A run that starts has
 * an empty state, a run that is resumed has that of its ledger; `next` does not see a difference. Plain data: a checkpoint of it can be
 * written as JSON.
 */

import type { CheckResult } from '../checks/check.ts';
import type { Measured } from '../checks/mutation.ts';
import type { PullEvent } from '../forge/forge-event.ts';
import { afterForgeEvent, afterIssueSaid, type ForgeState, type IssueSaid } from '../forge/forge-state.ts';
import { afterBoardEvent, type Board, type Integrated } from '../lanes/board.ts';
import { type Conflict, pathsOf, withConflicts } from '../lanes/conflict.ts';
import { type AskedQuestion, afterAnswer, afterQuestion } from '../stories/questions.ts';
import { defined, pick } from '../text/fields.ts';
import { isLimit, type Trouble } from '../turn/trouble.ts';
import {
  addExtra,
  addReport,
  addWasted,
  NO_USAGE,
  NOTHING_SPENT,
  type Totals,
  type Usage,
  type UsageSoFar,
  usageOf,
  usedIn,
} from '../turn/usage.ts';
import { afterReturn, type BestSoFar, bestAfter, treeOf } from './best.ts';
import type {
  EndedTurn,
  Judged,
  Prepared,
  Restored,
  Restoring,
  RunEvent,
  RunHead,
  ScmResult,
  Undone,
} from './event.ts';
import type { Violation } from './evidence.ts';
import type { Limits } from './limits.ts';
import { beforeVerdict, type IterationResult, iterationResult, type LoopResult } from './result.ts';
import {
  type Ending,
  type IterationTrace,
  type Repeated,
  signatureOf,
  timesRepeated,
  traceOf,
} from './standstill.ts';
import { isSuccess } from './stop-reason.ts';
import type { Verdict } from './verdict.ts';

/** An event with its time, in milliseconds since 1970, and on a clock that is never set, where that is known. */
export type Timed = RunEvent & { readonly time: number; readonly ticks?: number | undefined };

export interface TaskState {
  readonly task: string;
  readonly head: string | null;
  /** Of a commit: the tree that it holds. */
  readonly tree?: string;
  /** undefined: it was cut off. */
  readonly outcome?: ScmResult['outcome'];
  readonly detail?: string;
  /** A hook has refused it: what it printed. */
  readonly refused?: string;
}

/** What the user said to the agent in an iteration. */
export interface Hint {
  readonly id: string;
  readonly text: string;
}

export interface IterationState {
  readonly number: number;
  /** In `ralph prd`: what it was for. */
  readonly mode?: string;
  readonly story?: string;
  /** The files that a review must leave as they are. */
  readonly kept?: string;
  /** The tree that a review was shown, and why it was not shown what had changed. */
  readonly reviewed?: string;
  readonly unshown?: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** The last attempt, counted from 1, and whose stream it spoke. */
  readonly attempt: number;
  readonly adapter?: string;
  /** What its attempts reported before the turn was over. */
  readonly attempts: readonly Usage[];
  readonly soFar?: UsageSoFar;
  readonly hints: readonly Hint[];
  /** Hints of an earlier try at this iteration that was cut off: they are given again. */
  readonly owed: readonly Hint[];
  /** undefined: the agent is working, or was cut off. */
  readonly turn?: EndedTurn;
  /** Changes to protected files that were found, and may be undone or not. */
  readonly tampered: readonly string[];
  readonly violations: readonly Violation[];
  readonly checks: readonly CheckResult[];
  /** The same in a clean checkout, where that was asked for. */
  readonly clean: readonly CheckResult[];
  /** Whether the checks would notice a fault, where that was asked before the run is done. */
  readonly mutation?: Measured;
  /** The agent had heard of survivors before. */
  readonly survivorsShown?: true;
  readonly judged?: Judged & { readonly verdict: Verdict };
  /** It was judged before: its turn is in the totals. What had repeated itself until then. */
  readonly counted?: { readonly repeated: Repeated | null };
  readonly tasks: readonly TaskState[];
  /** The run has gone back to the files of an iteration, and this is what came of the ones after it. */
  readonly undone?: { readonly to: number; readonly iterations: readonly Undone[] };
}

export interface RunState {
  readonly head?: RunHead;
  /** Who works, where that is known. */
  readonly agent?: string;
  readonly prepared?: Prepared;
  /** The checks before the first iteration. */
  readonly baseline: readonly CheckResult[];
  /** Of every finished iteration. */
  readonly results: readonly IterationResult[];
  /** The last finished iteration. */
  readonly last?: IterationState;
  /** The iteration that has begun and is not finished. */
  readonly open?: IterationState;
  readonly totals: Totals;
  readonly repeated?: Repeated;
  /** What the latest iterations left behind, to see a standstill. */
  readonly traces: readonly IterationTrace[];
  /** In `ralph loop` and `ralph prd`: the iteration that ended best, and how it went since. */
  readonly best?: BestSoFar;
  /** The files are on their way to those of an earlier iteration. */
  readonly restoring?: Restoring;
  /** The last time that they got there. */
  readonly restored?: Restored;
  /** How the run ended; undefined: it is running, or was cut off. */
  readonly result?: LoopResult;
  /** Nothing is done until this trouble has passed. */
  readonly waiting?: Wait;
  /** The run has ended by the verdict of its last iteration, and the user resumed it: that verdict no longer counts. */
  readonly isOverruled?: true;
  readonly time: RunTime;
  /** Until when each agent was last said to be limited, by its name, in milliseconds since 1970. */
  readonly limits: Readonly<Record<string, number>>;
  /** Ralph's own copy of the story list, by its hash, and the iteration after which it was recorded. */
  readonly stories?: {
    readonly hash: string;
    readonly iteration: number;
    /** Those that were approved in the list, and not in words. */
    readonly unsaid?: readonly string[];
  };
  /** By story: the files that it was begun with. Absent: none was begun. */
  readonly storyTrees?: Readonly<Record<string, string>>;
  /** What agents have asked the user, oldest first; absent: nothing. */
  readonly questions?: readonly AskedQuestion[];
  /** The latest result of each task of source control; absent: none was begun. */
  readonly scm?: readonly ScmResult[];
  /** Of a run that works on several things at the same time. */
  readonly board?: Board;
  /** What became of the user's branch at its end. */
  readonly integrated?: Integrated;
  /** Of the run of a lane: what merges have left in its files to be decided, and which files its agent has said to keep so since. */
  readonly conflicts?: readonly Conflict[];
  readonly keeps?: readonly string[];
  /** The agent has heard what its checks would not notice, and hears it once. */
  readonly survivorsShown?: true;
  /** What was done for its pull request; absent: nothing. */
  readonly forge?: ForgeState;
  /** What was said at its issue, oldest first; absent: nothing. */
  readonly said?: readonly IssueSaid[];
  readonly resumptions: number;
}

export interface Wait {
  readonly agent: string;
  readonly trouble: Trouble;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export interface RunTime {
  /** Seconds that the run has been running, pauses and the time between its parts left out. */
  readonly elapsed: number;
  /** Seconds of it in which nothing was done. */
  readonly waited: number;
  /** When the last event happened, in milliseconds since 1970; 0: there was none. */
  readonly latest: number;
  /** The same on the steady clock of this part of the run; absent: not recorded. */
  readonly ticks?: number;
  readonly isPaused: boolean;
}

export const NOTHING_YET: RunState = {
  baseline: [],
  results: [],
  totals: NOTHING_SPENT,
  traces: [],
  time: { elapsed: 0, waited: 0, latest: 0, isPaused: false },
  limits: {},
  resumptions: 0,
};

export function fold(before: RunState, event: Timed): RunState {
  // The run itself has ended, or has not begun again: its time stands still.
  if (event.type === 'forge-said') return { ...before, said: afterIssueSaid(before.said, event) };
  if (!isPullEvent(event)) return afterEvent(before, event);
  const board = afterBoardEvent(before.board, event);
  return { ...before, forge: afterForgeEvent(before.forge, event), ...(board && { board }) };
}

function afterEvent(before: RunState, event: Timed): RunState {
  const board = afterBoardEvent(before.board, event);
  const { waiting, ...rest } = before;
  const state = {
    ...rest,
    ...(waiting && event.type === 'notice' && { waiting }),
    ...(board && { board }),
    time: timeAfter(before, event),
  };
  switch (event.type) {
    case 'run-started':
      return { ...state, head: headOf(event), agent: event.agent };
    case 'run-resumed':
      return afterResumption(state, event);
    case 'prepared':
      return afterPreparation(state, event);
    case 'iteration-started':
      return afterStart(state, event);
    case 'waiting':
      return afterWait(state, pick(event, 'agent', 'trouble', 'until'));
    case 'agent-switched':
      return {
        ...(event.until === undefined ? state : withLimit(state, event.from, event.until)),
        agent: event.to,
      };
    case 'check-ended':
      return afterCheck(state, event.result);
    case 'mutated':
      return withOpen(state, { mutation: measuredOf(event), ...pick(state, 'survivorsShown') });
    case 'agent-ended':
      return afterCall(state, event);
    case 'judged':
      return afterVerdict(state, event);
    case 'iteration-ended':
      return afterIteration(state, event);
    case 'stories-updated':
      return { ...state, stories: afterStories(state.stories, event) };
    case 'question-asked':
      return { ...state, questions: afterQuestion(state.questions, event) };
    case 'question-answered':
      return { ...state, questions: afterAnswer(state.questions, event) };
    case 'scm':
      return afterScm(state, event);
    case 'restore-started':
      return { ...state, restoring: { from: event.from, ...pick(event, 'to', 'why', 'tree', 'aside') } };
    case 'restored':
      return afterReturn({ ...state, restored: { from: event.from, ...pick(event, ...RESTORED) } }, event);
    case 'merge-left':
      return board ? state : afterMerge(state, event);
    case 'turn-ended':
      return withOpen(afterKeeps(state, event), state.open && changesOf(state.open, event));
    case 'integrated':
      return { ...state, integrated: pick(event, 'branch', 'commit', 'problem') };
    case 'run-ended':
      return { ...state, result: event.result };
    default:
      return state.open ? withOpen(state, changesOf(state.open, event)) : state;
  }
}

function isPullEvent(event: Timed): event is Timed & PullEvent {
  return typeof event.type === 'string' && /^forge(-|$)/.test(event.type);
}

/** What is merged anew is to be decided anew. */
function afterMerge(state: RunState, { conflicts }: Of<'merge-left'>): RunState {
  const paths = pathsOf(conflicts);
  const keeps = state.keeps?.filter(path => !paths.includes(path));
  return {
    ...withoutBest(state),
    conflicts: withConflicts(state.conflicts, conflicts),
    ...defined({ keeps }),
  };
}

function afterKeeps(state: RunState, { keeps }: Of<'turn-ended'>): RunState {
  return keeps ? { ...state, keeps: [...new Set([...(state.keeps ?? []), ...keeps])] } : state;
}

type Changes = { readonly [Key in keyof IterationState]?: IterationState[Key] | undefined };

/** The agent was cut off, by a crash or by a signal, or its turn had failed: that is no evidence. */
export function needsAgent({ turn, judged, counted }: IterationState): boolean {
  if (judged || counted) return false;
  const outcome = turn?.outcome;
  if (outcome === undefined || outcome.kind === 'failed') return true;
  return outcome.kind === 'ended' && outcome.by === 'interrupt';
}

const TURN = [
  ...(['outcome', 'claim', 'blocked', 'question', 'reviews', 'keeps'] as const),
  ...(['steps', 'toolCalls', 'refused', 'usage', 'idle'] as const),
];

/** What an event within an iteration changes in it. */
function changesOf(open: IterationState, event: RunEvent): Changes | undefined {
  switch (event.type) {
    case 'agent-started': {
      if (event.purpose !== 'work') return undefined;
      const adapter = event.adapter !== undefined && { adapter: event.adapter };
      return { soFar: NO_USAGE, attempt: event.attempt ?? 1, ...adapter };
    }
    case 'agent':
      if (event.event.kind !== 'usage' || !open.soFar) return undefined;
      return { soFar: addReport(open.soFar, event.event) };
    case 'hint-delivered':
      return { hints: [...open.hints, { id: event.hint, text: event.text }] };
    case 'turn-ended':
      return { turn: pick(event, ...TURN) };
    case 'tampered':
      return { tampered: [...open.tampered, ...event.what] };
    case 'violation':
      return { violations: [...open.violations, event.violation] };
    case 'scm-started':
      return { tasks: withTask(open.tasks, pick(event, 'task', 'head', 'tree')) };
    case 'scm': {
      const begun = open.tasks.find(({ task }) => task === event.task) ?? { head: null };
      return {
        tasks: withTask(open.tasks, { ...begun, ...pick(event, 'task', 'outcome', 'detail', 'refused') }),
      };
    }
    default:
      return undefined;
  }
}

/** In the order of the configuration: checks that ran side by side end in any. */
export function withCheck(checks: readonly CheckResult[], result: CheckResult): readonly CheckResult[] {
  const others = checks.filter(({ index }) => index !== result.index);
  return [...others, result].sort((a, b) => a.index - b.index);
}

function withTask(tasks: readonly TaskState[], task: TaskState): readonly TaskState[] {
  const at = tasks.findIndex(each => each.task === task.task);
  return at === -1 ? [...tasks, task] : tasks.with(at, task);
}

function afterCall(state: RunState, event: Of<'agent-ended'>): RunState {
  if (event.purpose === 'commit-message') return { ...state, totals: addExtra(state.totals, event.usage) };
  return withOpen(state, { attempts: [...(state.open?.attempts ?? []), ...usedIn(event)], soFar: undefined });
}

function measuredOf(event: Of<'mutated'>): Measured {
  return 'failed' in event
    ? pick(event, 'failed', 'voids')
    : pick(event, 'score', 'mutants', 'survivors', 'checks', 'seconds', 'untried');
}

/** What was approved in words later is said. */
function afterStories(
  before: RunState['stories'],
  { hash, iteration, moved }: Of<'stories-updated'>,
): NonNullable<RunState['stories']> {
  const others = before?.unsaid?.filter(id => id !== moved?.id) ?? [];
  const unsaid = moved?.unsaid ? [...others, moved.id] : others;
  return { hash, iteration, ...(unsaid.length > 0 && { unsaid }) };
}

function afterScm(state: RunState, event: Of<'scm'>): RunState {
  const result = pick(event, 'task', 'outcome', 'detail', 'differs', 'commit', 'refused', 'message');
  const scm = [...(state.scm ?? []).filter(({ task }) => task !== event.task), result];
  const after = withOpen({ ...state, scm }, state.open && changesOf(state.open, event));
  // A hook or a filter has changed what was committed: that is not what was checked.
  return event.differs ? judgeAgain(after) : after;
}

/** Where it began is said once, also of a run that was paused and prepared anew. */
function afterPreparation(state: RunState, event: Of<'prepared'>): RunState {
  const { start } = state.prepared ?? {};
  const prepared = pick(event, 'tree', 'kept', 'inputs', 'included', 'start');
  // What changed in a pause is the user's: nothing goes back behind it.
  return { ...withoutBest(state), prepared: { ...defined({ start }), ...prepared } };
}

function withoutBest({ best: _, ...state }: RunState): RunState {
  return state;
}

type Of<Type extends RunEvent['type']> = Extract<Timed, { readonly type: Type }>;

function withOpen(state: RunState, changes: Changes | undefined): RunState {
  if (!state.open || !changes) return state;
  return { ...state, open: { ...state.open, ...changes } as IterationState };
}

function afterCheck(state: RunState, result: CheckResult): RunState {
  const { open } = state;
  if (!open) return { ...state, baseline: withCheck(state.baseline, result) };
  // A round in the work tree begins anew: what was clean before it says nothing of the tree that it leaves.
  return result.clean
    ? withOpen(state, { clean: withCheck(open.clean, result) })
    : withOpen(state, { checks: withCheck(open.checks, result), clean: [] });
}

/**
 * What a turn that was cut off is known to have used is counted, and the turn is taken again. Turns and money are believed, success is
 * not: whatever the ledger says of the checks, they run again before the run is done.
 */
function afterResumption(
  { result, integrated: _, isOverruled: __, ...state }: RunState,
  event: Of<'run-resumed'>,
): RunState {
  const ended = result?.stopReason;
  const verdict = state.last?.judged?.verdict;
  const isOverruled = ended !== undefined && verdict?.kind === 'stop' && verdict.reason === ended;
  // Whoever resumes a run that got nowhere has changed something that is not in the files.
  const { repeated: ___, ...rest } = state;
  const fresh =
    ended === 'stuck' || ended === 'permission_denied'
      ? {
          ...rest,
          ...(rest.best && { best: { ...rest.best, worse: [], returns: 0 } }),
          traces: [],
        }
      : state;
  const resumed: RunState = {
    ...(event.touched ? withoutBest(fresh) : fresh),
    head: headOf(event),
    agent: event.agent,
    resumptions: state.resumptions + 1,
    ...(isOverruled && { isOverruled }),
  };
  const isDone = verdict?.kind === 'stop' && isSuccess(verdict.reason);
  if (!state.open) return isDone && !isOverruled ? judgeAgain(reopen(resumed)) : resumed;
  if (!needsAgent(state.open)) return judgeAgain(resumed);
  return withOpen(countWasted(resumed, state.open), { turn: undefined, attempts: [], soFar: undefined });
}

/** The last iteration is not over after all, and its tasks that failed are tried again. */
function reopen({ last, results, ...state }: RunState): RunState {
  if (!last) return { ...state, results };
  const tasks = last.tasks.filter(({ outcome }) => outcome !== 'failed');
  return { ...state, results: results.slice(0, -1), open: { ...last, tasks } };
}

/** The checks of the open iteration run again, and what they give is judged: its turn stays, and is counted once. */
function judgeAgain(state: RunState): RunState {
  return withOpen(state, { checks: [], clean: [], mutation: undefined, judged: undefined });
}

function afterStart(
  { isOverruled: _, restored: __, ...state }: RunState,
  event: Of<'iteration-started'>,
): RunState {
  const { open } = state;
  const started: IterationState = {
    number: event.iteration,
    ...pick(event, 'mode', 'story', 'kept', 'reviewed', 'unshown'),
    startedAt: event.time,
    attempt: 1,
    attempts: [],
    hints: [],
    owed: open && !open.judged ? [...open.owed, ...open.hints] : [],
    tampered: [],
    violations: [],
    checks: [],
    clean: [],
    tasks: [],
  };
  const storyTrees = withStory(state, event);
  return {
    ...(open ? countWasted(state, open) : state),
    ...(storyTrees && { storyTrees }),
    open: started,
  };
}

/** A story begins with what the iteration before it left. */
function withStory(
  { storyTrees, last, prepared }: Pick<RunState, 'storyTrees' | 'last' | 'prepared'>,
  { mode, story }: Of<'iteration-started'>,
): RunState['storyTrees'] {
  const tree = last ? treeOf(last) : prepared?.start?.tree;
  if (mode !== 'implement' || story === undefined || tree === undefined) return storyTrees;
  return { [story]: tree, ...storyTrees };
}

function countWasted(state: RunState, { judged, counted, turn, attempts, soFar }: IterationState): RunState {
  if (judged || counted) return state;
  const all = turn ? [turn.usage] : [...attempts, ...(soFar ? [usageOf(soFar)] : [])];
  return { ...state, totals: addWasted(state.totals, all) };
}

function afterVerdict(state: RunState, event: Of<'judged'>): RunState {
  const { open } = state;
  if (!open?.turn) return state;
  const ending: Ending = { ...open.turn, checks: [...open.checks, ...open.clean], tree: event.tree };
  const before = beforeVerdict(state, open.turn);
  const traces = [...before.traces, traceOf(open.turn, ending, before.tree)].slice(-MOST_TRACES);
  const repeated = event.tree !== null && {
    repeated: { signature: signatureOf(ending), times: timesRepeated(before.repeated, ending) },
  };
  const counted = { repeated: before.repeated ?? null };
  const judged = withOpen(state, { judged: pick(event, ...JUDGED), counted });
  const { verdict } = event;
  const isShown = verdict.kind === 'continue' && verdict.feedback.some(({ kind }) => kind === 'survivors');
  return { ...judged, totals: before.totals, traces, ...repeated, ...(isShown && { survivorsShown: true }) };
}

/** Whether an agent was asked for anything, or lanes may have their worktrees: before that there is nothing to resume. */
export function hasBegun({ open, last, board }: Pick<RunState, 'open' | 'last' | 'board'>): boolean {
  return (open ?? last ?? board) !== undefined;
}

/** As they were at the last verdict; undefined: there was none. */
export function lastLimits({ open, last }: RunState): Limits | undefined {
  return (open?.judged ?? last?.judged)?.limits;
}

/** What the run is known to have used, the open turn included; undefined: nothing was used yet. */
export function usedSoFar(state: RunState): Usage | undefined {
  const { totals, open } = state;
  if (!open || open.judged || open.counted) return totals.usage;
  // The turn that runs may still report what is missing.
  const running = open.soFar && { ...usageOf(open.soFar), unpriced: 0, uncounted: 0 };
  const known = running && (running.tokens || running.cost !== undefined) ? [running] : [];
  const all = open.turn ? [open.turn.usage] : [...open.attempts, ...known];
  return all.reduce(addExtra, totals).usage;
}

/** More than anybody would wait for progress; a run of any length looks back no further. */
const MOST_TRACES = 500;

/** Without a verdict it was broken off by a signal, and is not over. */
function afterIteration(state: RunState, { time, duration, story }: Of<'iteration-ended'>): RunState {
  const { open: begun, ...rest } = state;
  if (!begun?.judged) return state;
  const open = story === undefined ? begun : { ...begun, story };
  const seconds = duration ?? Math.max(0, Math.round(time - open.startedAt) / 1000);
  const { command = '' } = state.head ?? {};
  const result = iterationResult(open, command, seconds);
  const best = command === 'loop' || command === 'prd' ? bestAfter(state.best, open) : undefined;
  return { ...rest, results: [...state.results, result], last: open, ...defined({ best }) };
}

function afterWait(state: RunState, waiting: Wait): RunState {
  const { agent, trouble, until } = waiting;
  return { ...(isLimit(trouble) ? withLimit(state, agent, until) : state), waiting };
}

function withLimit(state: RunState, agent: string, until: number): RunState {
  return { ...state, limits: { ...state.limits, [agent]: until } };
}

const RESTORED = ['to', 'why', 'undone', 'aside', 'bringBack', 'problem'] as const;

const JUDGED = [
  ...(['verdict', 'treeChanged', 'tree', 'repeats', 'standstill'] as const),
  ...(['denials', 'stories', 'spent', 'limits', 'inputsChanged', 'unstable', 'snapshot', 'files'] as const),
];

function headOf(event: RunHead): RunHead {
  const names = ['runId', 'command', 'agent', 'model', 'maxIterations', 'checks', 'cwd'] as const;
  return pick(event, ...names, 'title', 'sandbox', 'forkOf', 'contained', 'sealed');
}

/** By the steady clock where it was recorded: the time of day may have been set between two events. */
function timeAfter({ time: before, waiting }: RunState, event: Timed): RunTime {
  const { latest, elapsed, waited, isPaused } = before;
  const { type, time, ticks } = event;
  const isGap = latest === 0 || isPaused || type === 'run-resumed';
  const passed = ticks === undefined || before.ticks === undefined ? time - latest : ticks - before.ticks;
  const seconds = isGap ? 0 : Math.max(0, passed) / 1000;
  const isOver = type === 'continued' || type === 'run-resumed';
  return {
    elapsed: type === 'judged' ? event.spent.elapsed : elapsed + seconds,
    waited: waiting ? waited + seconds : waited,
    latest: time,
    ...defined({ ticks }),
    isPaused: type === 'paused' || (isPaused && !isOver),
  };
}
