/** One iteration as far as its events go: what is known of it when the run is cut off. Plain data. */
import type { CheckResult } from './check.ts';
import type { EndedTurn, Judged, RunEvent, ScmOutcome } from './event.ts';
import type { Violation } from './evidence.ts';
import { pick } from './fields.ts';
import type { Measured } from './mutation.ts';
import type { Repeated } from './standstill.ts';
import { addReport, NO_USAGE, type Usage, type UsageSoFar } from './usage.ts';
import type { Verdict } from './verdict.ts';

export interface PastTask {
  readonly task: string;
  readonly head: string | null;
  /** Of a commit: the tree that it holds. */
  readonly tree?: string;
  /** undefined: it was cut off. */
  readonly outcome?: ScmOutcome;
  readonly detail?: string;
}

/** What the user said to the agent in an iteration. */
export interface PastHint {
  readonly id: string;
  readonly text: string;
}

export interface PastIteration {
  readonly number: number;
  /** In `ralph prd`: what it was for. */
  readonly mode?: string;
  readonly story?: string;
  /** The files that a review must leave as they are. */
  readonly kept?: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** The last attempt, counted from 1, and whose stream it spoke. */
  readonly attempt: number;
  readonly adapter?: string;
  /** What its attempts reported before the turn was over. */
  readonly attempts: readonly Usage[];
  readonly soFar?: UsageSoFar;
  readonly hints: readonly PastHint[];
  /** Hints of an earlier try at this iteration that was cut off: they are given again. */
  readonly owed: readonly PastHint[];
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
  readonly survivorsTold?: true;
  readonly judged?: Judged & { readonly verdict: Verdict };
  /** It was judged before: its turn is in the totals. What had repeated itself until then. */
  readonly counted?: { readonly repeated: Repeated | null };
  readonly tasks: readonly PastTask[];
}

export type Changes = { readonly [Key in keyof PastIteration]?: PastIteration[Key] | undefined };

/** The agent was cut off, by a crash or by a signal, or its turn had failed: that is no evidence. */
export function needsAgent({ turn, judged, counted }: PastIteration): boolean {
  if (judged || counted) return false;
  const outcome = turn?.outcome;
  if (outcome === undefined || outcome.kind === 'failed') return true;
  return outcome.kind === 'ended' && outcome.by === 'interrupt';
}

const TURN = [
  ...(['outcome', 'claim', 'blocked', 'question', 'reviews'] as const),
  ...(['steps', 'toolCalls', 'usage', 'idle'] as const),
];

/** What an event within an iteration changes in it. */
export function changesOf(open: PastIteration, event: RunEvent): Changes | undefined {
  switch (event.type) {
    case 'agent-started': {
      if (event.purpose !== 'work') return undefined;
      const adapter = event.adapter !== undefined && { adapter: event.adapter };
      return { soFar: NO_USAGE, attempt: event.attempt ?? 1, ...adapter };
    }
    case 'agent':
      if (event.event.kind !== 'usage' || !open.soFar) return undefined;
      return { soFar: addReport(open.soFar, event.event) };
    case 'told':
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
      return { tasks: withTask(open.tasks, { ...begun, ...pick(event, 'task', 'outcome', 'detail') }) };
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

function withTask(tasks: readonly PastTask[], task: PastTask): readonly PastTask[] {
  const at = tasks.findIndex(each => each.task === task.task);
  return at === -1 ? [...tasks, task] : tasks.with(at, task);
}
