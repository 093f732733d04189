/**
 * A run as its readers see it, folded from its ledger. Plain data, so that a page can get one from the server and fold
 * on from there. `run-fold.ts` creates it; the report, the dashboard and the terminal show it.
 */

import type { CheckResult } from '../domain/checks/check.ts';
import type { ForgeState, IssueSaid } from '../domain/forge/forge-state.ts';
import type { Board } from '../domain/lanes/board.ts';
import type { ForkOf, LoopCommand } from '../domain/run/event.ts';
import type { TurnOutcome, Violation } from '../domain/run/evidence.ts';
import type { LedgerTrust } from '../domain/run/ledger-trust.ts';
import type { Limits } from '../domain/run/limits.ts';
import type { RunOverview, RunStatus, Standing } from '../domain/run/overview.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { endingOf, type StopReason } from '../domain/run/stop-reason.ts';
import type { AskedQuestion } from '../domain/stories/questions.ts';
import type { Story } from '../domain/stories/story.ts';
import { sameFor } from '../domain/text/fields.ts';
import type { Claim } from '../domain/turn/claim.ts';
import type { Usage } from '../domain/turn/usage.ts';
import { type LaneHistory, NO_HISTORY } from './lane-history.ts';
import type { Passage } from './transcript.ts';

/** What the run is doing, as far as its ledger says. */
export type Phase = 'between' | 'agent' | 'checks' | 'waiting' | 'paused' | 'ended';

/** Where the time went. */
export interface Seconds {
  readonly agent: number;
  readonly checks: number;
  /** For a limit to end, or for the user. */
  readonly waiting: number;
}

export interface CheckView
  extends Pick<CheckResult, 'index' | 'command' | 'passed' | 'exitCode' | 'voided' | 'clean' | 'without'> {
  readonly timedOut: boolean;
  readonly seconds: number;
  readonly flaked: number;
  readonly ungated: boolean;
  /** Where the whole output is, relative to the project; '': nowhere. */
  readonly logFile: string;
  /** Of a check that failed: the lines of its output that say why. */
  readonly cause?: readonly string[];
}

export interface PromptSize {
  readonly chars: number;
  /** So many of them are not the user's own: what counts as done, what failed, what has changed. */
  readonly added: number;
}

export interface IterationView {
  readonly number: number;
  /** What it was for, where the loop has modes: `implement`, `review`. */
  readonly mode: string | null;
  readonly story: string | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** How often the agent was started for it. */
  readonly attempts: number;
  readonly seconds: Seconds;
  readonly agent: string;
  /** null: nobody wrote it down. */
  readonly prompt: PromptSize | null;
  /** null: the turn has not ended, or nobody wrote down how. */
  readonly outcome: TurnOutcome | null;
  /** null: this agent does not report it. */
  readonly toolCalls: number | null;
  readonly toolErrors: number | null;
  /** Of this iteration. */
  readonly usage: Usage | null;
  /** Of the run up to here. */
  readonly total: Usage | null;
  readonly checks: readonly CheckView[];
  readonly violations: number;
  readonly claim: Claim | null;
  /** null: the run continued, or the iteration has not ended. */
  readonly stopReason: StopReason | null;
  /** Why it was not done, in words; null: it was, or it has not ended. */
  readonly why: string | null;
}

export interface ViolationView extends Violation {
  readonly iteration: number;
  readonly at: number;
}

/** Something that happened and is no step of an iteration: a notice, a commit, a wait, an event that we do not know. */
export interface Remark {
  readonly seq: number;
  readonly at: number;
  readonly iteration: number;
  readonly type: string;
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
}

export type StoryStatus = 'open' | 'needs_review' | 'changes_requested' | 'approved';

/** A story as it is now; the iterations that were for it show how it got there. */
export interface StoryView {
  readonly id: string;
  readonly title: string;
  readonly status: StoryStatus;
  readonly reviews: number;
  /** What the last review asked for; '': nothing. */
  readonly feedback: string;
}

/** A story moved: it was implemented, or a review has judged it. */
export interface StoryMove {
  readonly story: string;
  readonly iteration: number;
  readonly at: number;
  readonly status: StoryStatus;
  /** What the review asked for; '': nothing. */
  readonly feedback: string;
}

export type OpenQuestion = Pick<AskedQuestion, 'story' | 'question'>;

export type Ending = Omit<LoopResult, 'iterations'>;

export interface RunView {
  /** The number of the last event in it. */
  readonly seq: number;
  readonly runId: string;
  readonly command: LoopCommand;
  readonly agent: string;
  readonly model: string | null;
  /** What it is about; null: nobody wrote it down. */
  readonly title: string | null;
  readonly cwd: string;
  /** What agent and checks ran in; null: nothing. */
  readonly sandbox: string | null;
  /** The iteration of another run that it began with; null: none. */
  readonly forkOf: ForkOf | null;
  /** 0: no limit. */
  readonly maxIterations: number;
  /** As they were at the last verdict; null: nobody wrote them down. */
  readonly limits: Limits | null;
  readonly checks: readonly string[];
  readonly startedAt: number | null;
  readonly lastAt: number | null;
  readonly phase: Phase;
  /** What has begun and not ended: since when, and how many checks at a time. */
  readonly open: { readonly since: number; readonly running: number } | null;
  readonly iterations: readonly IterationView[];
  /** The checks before the first iteration. */
  readonly baseline: readonly CheckView[];
  readonly seconds: Seconds;
  readonly usage: Usage | null;
  readonly violations: readonly ViolationView[];
  readonly remarks: readonly Remark[];
  /** The list of stories as Ralph has it, by its hash; null: this loop has none. */
  readonly storyList: string | null;
  readonly moves: readonly StoryMove[];
  /** What stories ask, and nobody has answered. */
  readonly questions: readonly OpenQuestion[];
  /** Each time that the run went back to the files of an earlier iteration, by their numbers. */
  readonly restores: readonly { readonly from: number; readonly to: number }[];
  /** Of a run that works on several things at the same time; null: this one does not. */
  readonly board: Board | null;
  readonly lanes: LaneHistory;
  /** What was done for its pull request; null: nothing. */
  readonly forge: ForgeState | null;
  /** What was said at its issue, oldest first. */
  readonly said: readonly IssueSaid[];
  readonly ending: Ending | null;
}

/** A run in the list of a dashboard. */
export interface ListedRun extends Omit<RunOverview, 'state'> {
  readonly state: Standing;
  readonly now: RunStatus;
  /** It was asked to pause; it may not have paused yet. */
  readonly paused: boolean;
  /** Of a unit of a fleet: who has it. */
  readonly worker?: string;
}

export interface ListedProject {
  readonly root: string;
  /** The latest first. */
  readonly runs: readonly ListedRun[];
}

/** How far the ledger itself can be trusted. */
export interface Integrity {
  /** Whether it is what Ralph wrote. */
  readonly trust: LedgerTrust;
  /** Bytes of a last line that was cut off. */
  readonly torn: number;
}

/** A run as it was read from its folder. */
export interface RunReading {
  readonly id: string;
  readonly state: Standing;
  readonly view: RunView;
  readonly integrity: Integrity;
  /** Empty where the loop has none. */
  readonly stories: readonly StoryView[];
}

/** With the number of the event that started the last iteration: a page follows the run from there. */
export type Snapshot = RunReading & { readonly since: number };

/** A text that may be too long to show. */
export interface Part {
  readonly text: string;
  /** Bytes that are not shown. */
  readonly left: number;
  /** Where the whole of it is. */
  readonly file: string;
}

export interface CheckOutput {
  readonly index: number;
  readonly command: string;
  readonly output: Part;
}

/** Stands for what there was before the first iteration: of its details only the diff, of what the user had changed. */
export const BEFORE = 0;

/** What one iteration consists of, for whoever wants to see it all. */
export interface IterationDetail {
  readonly number: number;
  readonly prompt: Part | null;
  readonly passages: readonly Passage[];
  /** Passages that were too many to keep. */
  readonly passagesLeft: number;
  readonly diff: Part | null;
  readonly checks: readonly CheckOutput[];
  /** What the agent printed on stderr. */
  readonly errors: Part | null;
}

export const NO_SECONDS: Seconds = { agent: 0, checks: 0, waiting: 0 };

export function totalSeconds({ agent, checks, waiting }: Seconds): number {
  return agent + checks + waiting;
}

export const EMPTY_ITERATION: IterationView = {
  ...{ number: 0, startedAt: 0, agent: '', attempts: 0, violations: 0 },
  ...{ seconds: NO_SECONDS, checks: [] },
  ...sameFor(null, 'mode', 'story', 'endedAt', 'prompt', 'outcome', 'toolCalls', 'toolErrors'),
  ...sameFor(null, 'usage', 'total', 'claim', 'stopReason', 'why'),
};

export const EMPTY_VIEW: RunView = {
  ...{ seq: 0, runId: '', command: 'run', agent: '', cwd: '', maxIterations: 0, phase: 'between' },
  ...{ checks: [], iterations: [], baseline: [], violations: [], remarks: [], moves: [] },
  ...{ questions: [], restores: [], said: [], seconds: NO_SECONDS, lanes: NO_HISTORY },
  ...sameFor(null, 'model', 'title', 'sandbox', 'forkOf', 'limits', 'startedAt', 'lastAt', 'open'),
  ...sameFor(null, 'usage', 'storyList', 'board', 'forge', 'ending'),
};

/** The checks as they stood at the end; an iteration that never got to one changes nothing. */
export function lastChecks(view: RunView): readonly CheckView[] {
  return view.iterations.findLast(iteration => iteration.checks.length > 0)?.checks ?? [];
}

/** As `hasBegun` has it. A session's ledger says so only when its agent stops. */
export function viewHasBegun({ iterations, board, command }: RunView): boolean {
  return iterations.length > 0 || board !== null || command === 'session';
}

/** How an iteration came out, in a few words; undefined: it has not ended, or nobody wrote it down. */
export function outcomeWords({ stopReason, why }: IterationView): string | undefined {
  return (stopReason === null ? why : endingOf(stopReason).short) ?? undefined;
}

/** Seconds from the first event to the last. */
export function elapsed(view: RunView): number {
  if (view.ending) return view.ending.totalDuration;
  return view.startedAt === null || view.lastAt === null
    ? 0
    : Math.max(0, view.lastAt - view.startedAt) / 1000;
}

/** Of all iterations that report it; null: none does. */
export function averagePrompt({ iterations }: RunView): PromptSize | null {
  const sizes = iterations.flatMap(({ prompt }) => prompt ?? []);
  const mean = (of: (size: PromptSize) => number) =>
    sizes.reduce((sum, size) => sum + of(size), 0) / sizes.length;
  return sizes.length === 0 ? null : { chars: mean(size => size.chars), added: mean(size => size.added) };
}

/** Where a story stands, in one word. */
export function storyStatus({ passes, reviewStatus }: Pick<Story, 'passes' | 'reviewStatus'>): StoryStatus {
  if (passes) return 'approved';
  return reviewStatus === 'needs_review' || reviewStatus === 'changes_requested' ? reviewStatus : 'open';
}
