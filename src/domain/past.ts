/**
 * What a run has done so far, folded from its events: all that is needed to continue it. A run that starts has an empty past, a run
 * that is resumed has that of its ledger; `next` does not see a difference. Plain data: a checkpoint of it can be written as JSON.
 */
import { beforeVerdict } from './before-verdict.ts';
import { afterBoardEvent, type Board } from './board.ts';
import type { CheckResult } from './check.ts';
import type { Prepared, RunEvent, RunHead, ScmResult } from './event.ts';
import { defined, pick } from './fields.ts';
import type { Measured } from './mutation.ts';
import { type Changes, changesOf, needsAgent, type PastIteration, withCheck } from './past-iteration.ts';
import { type AskedQuestion, afterAnswer, afterQuestion } from './question.ts';
import { type IterationResult, iterationResult } from './result.ts';
import {
  type Ending,
  type IterationTrace,
  type Repeated,
  signatureOf,
  timesRepeated,
  traceOf,
} from './standstill.ts';
import { isSuccess, type StopReason } from './stop-reason.ts';
import { isLimit } from './trouble.ts';
import { addExtra, addWasted, NOTHING_SPENT, type Totals, usageOf } from './usage.ts';
import type { Verdict } from './verdict.ts';

/** An event with its time, in milliseconds since 1970, and on a clock that is never set, where that is known. */
export type Timed = RunEvent & { readonly time: number; readonly ticks?: number | undefined };

export interface Past {
  readonly head?: RunHead;
  readonly prepared?: Prepared;
  /** The checks before the first iteration. */
  readonly baseline: readonly CheckResult[];
  /** Of every finished iteration. */
  readonly results: readonly IterationResult[];
  /** The last finished iteration. */
  readonly last?: PastIteration;
  /** The iteration that has begun and is not finished. */
  readonly open?: PastIteration;
  readonly totals: Totals;
  readonly repeated?: Repeated;
  /** What the latest iterations left behind, to see a standstill. */
  readonly traces: readonly IterationTrace[];
  /** How the run ended; undefined: it is running, or was cut off. */
  readonly ended?: StopReason;
  /** The run has ended by the verdict of its last iteration, and the user resumed it: that verdict no longer counts. */
  readonly isOverruled?: true;
  readonly time: PastTime;
  /** Until when each agent was last said to be limited, by its name, in milliseconds since 1970. */
  readonly limits: Readonly<Record<string, number>>;
  /** Ralph's own copy of the story list, by its hash, and the iteration after which it was recorded. */
  readonly stories?: { readonly hash: string; readonly iteration: number };
  /** What agents have asked the user, oldest first; absent: nothing. */
  readonly questions?: readonly AskedQuestion[];
  /** The latest result of each task of source control; absent: none was begun. */
  readonly scm?: readonly ScmResult[];
  /** Of a run that works on several things at the same time. */
  readonly board?: Board;
  /** The agent has heard what its checks would not notice: it is told once. */
  readonly survivorsTold?: true;
  readonly resumptions: number;
}

export interface PastTime {
  /** Seconds that the run has been running, pauses and the time between its parts left out. */
  readonly elapsed: number;
  /** Seconds of it in which nothing was done. */
  readonly waited: number;
  /** When the last event happened, in milliseconds since 1970; 0: there was none. */
  readonly latest: number;
  /** The same on the steady clock of this part of the run; absent: not recorded. */
  readonly ticks?: number;
  readonly isWaiting: boolean;
  readonly isPaused: boolean;
}

export const NOTHING_YET: Past = {
  baseline: [],
  results: [],
  totals: NOTHING_SPENT,
  traces: [],
  time: { elapsed: 0, waited: 0, latest: 0, isWaiting: false, isPaused: false },
  limits: {},
  resumptions: 0,
};

export function fold(before: Past, event: Timed): Past {
  const board = afterBoardEvent(before.board, event);
  const past = { ...before, ...(board && { board }), time: timeAfter(before.time, event) };
  switch (event.type) {
    case 'run-started':
      return { ...past, head: headOf(event) };
    case 'run-resumed':
      return afterResumption(past, event);
    case 'prepared':
      // Where it began is said once, also of a run that was paused and prepared anew.
      return {
        ...past,
        prepared: {
          ...defined({ start: past.prepared?.start }),
          ...pick(event, 'tree', 'kept', 'inputs', 'included', 'start'),
        },
      };
    case 'iteration-started':
      return afterStart(past, event);
    case 'waiting':
      return isLimit(event.trouble) ? withLimit(past, event.agent, event.until) : past;
    case 'agent-switched':
      return event.until === undefined ? past : withLimit(past, event.from, event.until);
    case 'check-ended':
      return afterCheck(past, event.result);
    case 'mutated':
      return withOpen(past, { mutation: measuredOf(event), ...pick(past, 'survivorsTold') });
    case 'agent-ended':
      if (event.purpose === 'commit-message') return { ...past, totals: addExtra(past.totals, event.usage) };
      return withOpen(past, { attempts: [...(past.open?.attempts ?? []), event.usage], soFar: undefined });
    case 'judged':
      return afterVerdict(past, event);
    case 'iteration-ended':
      return afterIteration(past, event);
    case 'stories-settled':
      return { ...past, stories: { hash: event.hash, iteration: event.iteration } };
    case 'question-asked':
      return { ...past, questions: afterQuestion(past.questions, event) };
    case 'question-answered':
      return { ...past, questions: afterAnswer(past.questions, event) };
    case 'scm': {
      const settled = withOpen(withScm(past, event), past.open && changesOf(past.open, event));
      // A hook has changed what was committed: that is not what was checked.
      return event.differs ? judgeAgain(settled) : settled;
    }
    case 'run-ended':
      return { ...past, ended: event.result.stopReason };
    default:
      return past.open ? withOpen(past, changesOf(past.open, event)) : past;
  }
}

function measuredOf(event: Of<'mutated'>): Measured {
  return 'failed' in event
    ? pick(event, 'failed', 'voids')
    : pick(event, 'score', 'mutants', 'survivors', 'checks', 'seconds', 'untried');
}

function withScm(past: Past, event: Of<'scm'>): Past {
  const result = pick(event, 'task', 'outcome', 'detail', 'differs', 'commit');
  return { ...past, scm: [...(past.scm ?? []).filter(({ task }) => task !== event.task), result] };
}

type Of<Type extends RunEvent['type']> = Extract<Timed, { readonly type: Type }>;

function withOpen(past: Past, changes: Changes | undefined): Past {
  if (!past.open || !changes) return past;
  return { ...past, open: { ...past.open, ...changes } as PastIteration };
}

function afterCheck(past: Past, result: CheckResult): Past {
  const { open } = past;
  if (!open) return { ...past, baseline: withCheck(past.baseline, result) };
  // A round in the work tree begins anew: what was clean before it says nothing of the tree that it leaves.
  return result.clean
    ? withOpen(past, { clean: withCheck(open.clean, result) })
    : withOpen(past, { checks: withCheck(open.checks, result), clean: [] });
}

/**
 * What a turn that was cut off is known to have used is counted, and the turn is taken again. Turns and money are believed, success is
 * not: whatever the ledger says of the checks, they run again before the run is done.
 */
function afterResumption({ ended, isOverruled: _, ...past }: Past, event: Of<'run-resumed'>): Past {
  const verdict = past.last?.judged?.verdict;
  const isOverruled = ended !== undefined && verdict?.kind === 'stop' && verdict.reason === ended;
  // Whoever resumes a run that was stuck has changed something that is not in the files.
  const { repeated: __, ...rest } = past;
  const fresh = ended === 'stuck' ? { ...rest, traces: [] } : past;
  const resumed: Past = {
    ...fresh,
    head: headOf(event),
    resumptions: past.resumptions + 1,
    ...(isOverruled && { isOverruled }),
  };
  if (!past.open) return isSuccessful(verdict) && !isOverruled ? judgeAgain(reopen(resumed)) : resumed;
  if (!needsAgent(past.open)) return judgeAgain(resumed);
  return withOpen(countWasted(resumed, past.open), { turn: undefined, attempts: [], soFar: undefined });
}

function isSuccessful(verdict: Verdict | undefined): boolean {
  return verdict?.kind === 'stop' && isSuccess(verdict.reason);
}

/** The last iteration is not over after all, and its tasks that failed are tried again. */
function reopen({ last, results, ...past }: Past): Past {
  if (!last) return { ...past, results };
  const tasks = last.tasks.filter(({ outcome }) => outcome !== 'failed');
  return { ...past, results: results.slice(0, -1), open: { ...last, tasks } };
}

/** The checks of the open iteration run again, and what they give is judged: its turn stays, and is counted once. */
function judgeAgain(past: Past): Past {
  return withOpen(past, { checks: [], clean: [], mutation: undefined, judged: undefined });
}

function afterStart(
  { isOverruled: _, ...past }: Past,
  { iteration, mode, story, kept, time }: Of<'iteration-started'>,
): Past {
  const { open } = past;
  const started: PastIteration = {
    number: iteration,
    ...defined({ mode, story, kept }),
    startedAt: time,
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
  return { ...(open ? countWasted(past, open) : past), open: started };
}

function countWasted(past: Past, { judged, counted, turn, attempts, soFar }: PastIteration): Past {
  if (judged || counted) return past;
  const all = turn ? [turn.usage] : [...attempts, ...(soFar ? [usageOf(soFar)] : [])];
  return { ...past, totals: addWasted(past.totals, all) };
}

function afterVerdict(past: Past, event: Of<'judged'>): Past {
  const { open } = past;
  if (!open?.turn) return past;
  const ending: Ending = { ...open.turn, checks: [...open.checks, ...open.clean], tree: event.tree };
  const before = beforeVerdict(past, open.turn);
  const traces = [...before.traces, traceOf(ending, open.turn.usage)].slice(-MOST_TRACES);
  const repeated = event.tree !== null && {
    repeated: { signature: signatureOf(ending), times: timesRepeated(before.repeated, ending) },
  };
  const counted = { repeated: before.repeated ?? null };
  const judged = withOpen(past, { judged: pick(event, ...JUDGED), counted });
  const told = tellsSurvivors(event.verdict) && ({ survivorsTold: true } as const);
  return { ...judged, totals: before.totals, traces, ...repeated, ...told };
}

function tellsSurvivors(verdict: Verdict): boolean {
  return verdict.kind === 'continue' && verdict.feedback.some(({ kind }) => kind === 'survivors');
}

/** More than anybody would wait for progress; a run of any length looks back no further. */
const MOST_TRACES = 500;

/** Without a verdict it was broken off by a signal, and is not over. */
function afterIteration(past: Past, { time, duration, story }: Of<'iteration-ended'>): Past {
  const { open: begun, ...rest } = past;
  if (!begun?.judged) return past;
  const open = story === undefined ? begun : { ...begun, story };
  const seconds = duration ?? Math.max(0, Math.round(time - open.startedAt) / 1000);
  const result = iterationResult(open, past.head?.command ?? '', seconds);
  return { ...rest, results: [...past.results, result], last: open };
}

function withLimit(past: Past, agent: string, until: number): Past {
  return { ...past, limits: { ...past.limits, [agent]: until } };
}

const JUDGED = [
  ...(['verdict', 'treeChanged', 'tree', 'repeats', 'standstill'] as const),
  ...(['denials', 'stories', 'spent', 'limits', 'inputsChanged', 'unsettled', 'snapshot'] as const),
];

function headOf(event: RunHead): RunHead {
  const names = ['runId', 'command', 'agent', 'model', 'maxIterations', 'checks', 'cwd'] as const;
  return pick(event, ...names, 'title', 'sandbox', 'contained');
}

/** By the steady clock where it was recorded: the time of day may have been set between two events. */
function timeAfter(before: PastTime, event: Timed): PastTime {
  const { latest, elapsed, waited, isWaiting, isPaused } = before;
  const { type, time, ticks } = event;
  const isGap = latest === 0 || isPaused || type === 'run-resumed';
  const passed = ticks === undefined || before.ticks === undefined ? time - latest : ticks - before.ticks;
  const seconds = isGap ? 0 : Math.max(0, passed) / 1000;
  const isOver = type === 'continued' || type === 'run-resumed';
  return {
    elapsed: type === 'judged' ? event.spent.elapsed : elapsed + seconds,
    waited: isWaiting ? waited + seconds : waited,
    latest: time,
    ...defined({ ticks }),
    isWaiting: type === 'waiting',
    isPaused: type === 'paused' || (isPaused && !isOver),
  };
}
