/** What the engine is given: the steps of a job, and the world to take them in. */
import type { Check, CheckResult } from '../domain/checks/check.ts';
import type { Measured } from '../domain/checks/mutation.ts';
import type { Contained } from '../domain/checks/proof.ts';
import type { FileChange } from '../domain/checks/test-changes.ts';
import type {
  Emit,
  EndedTurn,
  Judged,
  Prepared,
  Restored,
  Restoring,
  RunEvent,
} from '../domain/run/event.ts';
import type { StoryEvidence, Violation } from '../domain/run/evidence.ts';
import type { Spending } from '../domain/run/limits.ts';
import type { IterationResult, LoopResult, ResultFields } from '../domain/run/result.ts';
import type { StandstillLimits } from '../domain/run/standstill.ts';
import type { RunState, TaskState } from '../domain/run/state.ts';
import type { Feedback, Run } from '../domain/run/verdict.ts';
import type { Problem } from '../domain/text/problem.ts';
import type { Clock } from '../platform/clock.ts';
import type { Confinement } from '../platform/confinement.ts';
import type { Disk } from '../platform/disk.ts';
import type { Meter } from './meter.ts';
import type { Steering } from './steering.ts';
import type { StopRequest } from './stop.ts';

/** How the steps of an iteration are performed. */
export interface Steps {
  /** All that there may be. */
  readonly checks: readonly Check[];
  /** Those that an iteration needs, where that is not all of them; asked after `restore`. */
  checksFor?(iteration: number): readonly Check[];
  /** What is to be done once, before the first iteration. */
  prepare(): Promise<Prepared>;
  /** Instead of `prepare`, when that was done before the run was cut off. Returns what counts now. */
  recall(past: RunState, prepared: Prepared): Promise<Prepared>;
  /** Before an iteration: it may begin, or all that is left waits for the user, or the run has waited long enough. */
  ready?(): 'yes' | 'wait' | Spending;
  /** Before a turn of a lane that others can reach: undoes what they have changed in it since it was last looked at. */
  undoOthers?(): Promise<void>;
  /** The prompt of an iteration; a problem ends the run. */
  prompt(iteration: number, feedback: readonly Feedback[]): Promise<string | Problem>;
  /** The agent works. */
  turn(iteration: number, prompt: string): Promise<EndedTurn>;
  /** Finds and undoes changes to what the agent must not change. `pending` was found before the run was cut off. */
  restore(iteration: number, pending: readonly string[]): Promise<readonly Violation[]>;
  check(iteration: number): Promise<readonly CheckResult[]>;
  /** What is known of the files that the last round of checks saw, or `look`, where there is none. */
  checked?(): Pick<Judged, 'inputsChanged' | 'unstable' | 'snapshot' | 'files'>;
  /** Before a run is done: the checks once more where they have changed files, so that the first of them saw what the last one left. */
  confirm?(iteration: number): Promise<readonly CheckResult[]>;
  /** All checks once more, in a checkout of the tree that is handed over. undefined: they have seen that tree, and no clean proof was asked for. */
  proveHandedOver?(iteration: number): Promise<readonly CheckResult[] | undefined>;
  /** Whether the checks would notice a fault in the changed lines; absent: that was not asked for. undefined: it was cut off with the run. */
  mutate?(): Promise<Measured | undefined>;
  /** Whether the files have changed since the run began, and a name for what they are now; null: not looked at. */
  look(): Promise<{ readonly changed: boolean | null; readonly state: string | null }>;
  /** After a turn that did not fail and whose checks are all green. `before`: the tasks that were begun. False: it was cut off with the run. */
  commit(iteration: number, before: readonly TaskState[]): Promise<boolean>;
  /** The way from the files as they are to those of the best iteration. */
  planReturn(): Promise<Pick<Restoring, 'tree' | 'aside'> | Problem>;
  /** Puts the files back; the same again after it was cut off. */
  goBack(restoring: Restoring): Promise<Omit<Restored, 'from' | 'to' | 'why'>>;
  /** Before the first iteration: whether everything is done and proven already. */
  isDone?(): boolean;
  /** What the iteration is for, where it is not all the same; asked when it begins and when it is over. */
  assignment?(): Pick<
    Extract<RunEvent, { readonly type: 'iteration-started' }>,
    'mode' | 'story' | 'kept' | 'reviewed' | 'unshown' | 'role' | 'agent'
  >;
  /** What the stories say after this turn; asked once, after `restore`, the checks and `look`. */
  stories?(iteration: number): StoryEvidence;
  /** When the run is done: what has become of the branch that it began on; undefined: that holds what it held. */
  lostBranch?(): Promise<string | undefined>;
  /** When the run is over: says what of the user's own it has changed, and returns the files with tests that differ from how they were when it began. */
  lookBack?(): Promise<readonly FileChange[]>;
  /** What more there is to say of the run when it is over. */
  findings?(iterations: readonly IterationResult[]): Partial<ResultFields>;
  /** An iteration is over. */
  note?(result: IterationResult): void;
  /** The run is over, however it ended. */
  close?(): void;
}

/** A run whose work is done in runs of their own: it has no iterations. */
export interface LaneDrive extends Pick<Steps, 'checks' | 'close'> {
  drive(): Promise<LoopResult>;
}

/** Tells the user of something that is no ending. */
export function warn(emit: Emit, text: string): void {
  emit({ type: 'notice', level: 'warning', text });
}

export interface OwnDamage {
  /** What was deleted or changed and is back: a sentence each, without its end. */
  readonly restored: readonly string[];
  /** What the user should know of the worktree: a sentence each. */
  readonly lost: readonly string[];
}

export interface EngineWorld {
  readonly runId: string;
  /** What counts as done, and how far the run may go. */
  readonly goal: Run;
  /** When to tell the agent that it gets nowhere. */
  readonly standstill: StandstillLimits;
  /** Where the work is, when it is not in the project itself. */
  readonly place?: { readonly worktreePath: string; readonly branch: string } | undefined;
  readonly clock: Clock;
  /** Puts an event on the ledger, folds it into the past, and passes it on. */
  readonly emit: Emit;
  past(): RunState;
  readonly meter: Meter;
  readonly steering: Steering;
  readonly stop: StopRequest;
  readonly disk: Disk;
  /** What was emitted is kept. */
  flushed(): Promise<void>;
  /** Whatever ran is gone: no link of its making is left in Ralph's own folder when something is written there. */
  secure(): void;
  /** Puts back what was deleted of Ralph's own folder in the project, and the worktree. */
  restoreOwn(): Promise<OwnDamage>;
  readonly sandbox?: Sandbox;
}

/** What agent and checks run in. */
export interface Sandbox {
  readonly agent: Confinement;
  readonly checks: Confinement;
  /** Containment alone, with the whole environment: for what works with the user's own keys. Absent: there is a sandbox, or nothing. */
  readonly wall?: Confinement;
  readonly contained: Contained;
  /** For people: what it is, and what it lets through. undefined: there is none. */
  readonly words?: string;
  /** What the user should know of it. */
  readonly notices: readonly string[];
  /** What it has stopped since it was last asked. */
  takeDenials(): readonly string[];
  /** Moves away what must not have been created: settings and hooks that others would obey. */
  restore(): readonly Violation[];
  close(): Promise<void>;
}
