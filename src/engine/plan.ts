/** What the engine is given: a plan from a command, and the world to carry it out in. */
import type { Check, CheckResult } from '../domain/check.ts';
import type { Emit, EndedTurn, Judged, LoopCommand, Prepared, RunEvent } from '../domain/event.ts';
import type { StoryEvidence, Violation } from '../domain/evidence.ts';
import type { Spending } from '../domain/limits.ts';
import type { Measured } from '../domain/mutation.ts';
import type { Past } from '../domain/past.ts';
import type { PastTask } from '../domain/past-iteration.ts';
import type { Problem } from '../domain/problem.ts';
import type { IterationResult, LoopResult, ResultFields } from '../domain/result.ts';
import type { StandstillLimits } from '../domain/standstill.ts';
import type { Feedback, Run } from '../domain/verdict.ts';
import type { Clock } from '../platform/clock.ts';
import type { Disk } from '../platform/disk.ts';
import type { FolderDamage } from '../store/keep-folder.ts';
import type { Meter } from './meter.ts';
import type { Steering } from './steering.ts';
import type { StopRequest } from './stop.ts';

/** What a command brings to the engine: what counts as done and how the steps of an iteration are performed. */
export interface LoopPlan {
  readonly command: LoopCommand;
  readonly run: Run;
  /** When to tell the agent that it gets nowhere; absent: never. */
  readonly standstill?: StandstillLimits;
  readonly agent: { readonly name: string; readonly model?: string };
  /** All that there may be. */
  readonly checks: readonly Check[];
  /** Those that an iteration needs, where that is not all of them; asked after `restore`. */
  checksFor?(iteration: number): readonly Check[];
  /** What the user should know before the first iteration. */
  readonly notices: readonly string[];
  /** Where the work is, when it is not in the project itself. */
  readonly place?: { readonly worktreePath: string; readonly branch: string };
  /** What is to be done once, before the first iteration. */
  prepare(): Promise<Prepared>;
  /** Instead of `prepare`, when that was done before the run was cut off. Answers what counts now. */
  recall(past: Past, prepared: Prepared): Promise<Prepared>;
  /** Before an iteration: it may begin, or all that is left waits for the user, or the run has waited long enough. */
  ready?(): 'yes' | 'wait' | Spending;
  /** The prompt of an iteration; a problem ends the run. */
  prompt(iteration: number, feedback: readonly Feedback[]): Promise<string | Problem>;
  /** The agent works. */
  turn(iteration: number, prompt: string): Promise<EndedTurn>;
  /** Finds and undoes changes to what the agent must not change. `pending` was found before the run was cut off. */
  restore(iteration: number, pending: readonly string[]): Promise<readonly Violation[]>;
  check(iteration: number): Promise<readonly CheckResult[]>;
  /** What is known of the files that the last round of checks saw. */
  checked?(): Pick<Judged, 'inputsChanged' | 'unsettled' | 'snapshot'>;
  /** All checks once more, in a clean checkout of the tree that is handed over; absent: that was not asked for. */
  proveClean?(iteration: number): Promise<readonly CheckResult[]>;
  /** Whether the checks would notice a fault in the changed lines; absent: that was not asked for. undefined: it was cut off with the run. */
  mutate?(): Promise<Measured | undefined>;
  /** Whether the files have changed since the run began, and a name for what they are now; null: not looked at. */
  look(): Promise<{ readonly changed: boolean | null; readonly state: string | null }>;
  /** After a turn that did not fail and whose checks are all green. `before`: the tasks that were begun. False: it was cut off with the run. */
  commit(iteration: number, before: readonly PastTask[]): Promise<boolean>;
  /** Before the first iteration: whether everything is done and proven already. */
  isDone?(): boolean;
  /** What the iteration is for, where it is not all the same; asked when it begins and when it is over. */
  assignment?(): Pick<
    Extract<RunEvent, { readonly type: 'iteration-started' }>,
    'mode' | 'story' | 'kept' | 'role' | 'agent'
  >;
  /** What the stories say after this turn; asked once, after `restore`, the checks and `look`. */
  stories?(iteration: number): StoryEvidence;
  /** What more there is to say of the run when it is over. */
  findings?(iterations: readonly IterationResult[]): Partial<ResultFields>;
  /** An iteration is over. */
  note(result: IterationResult): void;
  /** The run is over, however it ended. */
  close(): void;
}

/** A run whose work is done in runs of their own: it has no iterations. */
export interface CrewPlan
  extends Pick<LoopPlan, 'command' | 'run' | 'agent' | 'checks' | 'notices' | 'close'> {
  drive(world: EngineWorld): Promise<LoopResult>;
}

/** Tells the user of something that is no ending. */
export function warn(emit: Emit, text: string): void {
  emit({ type: 'notice', level: 'warning', text });
}

export interface EngineWorld {
  readonly runId: string;
  readonly clock: Clock;
  /** Puts an event on the ledger, folds it into the past, and passes it on. */
  readonly emit: Emit;
  past(): Past;
  readonly meter: Meter;
  readonly steering: Steering;
  readonly stop: StopRequest;
  readonly disk: Disk;
  /** What was emitted is kept. */
  settled(): Promise<void>;
  /** Whatever ran is gone: no link of its making is left in Ralph's own folder when something is written there. */
  secure(): void;
  /** Puts back what was deleted of Ralph's own folder in the project, and the worktree. */
  restoreOwn(): Promise<FolderDamage>;
  /** What agent and checks run in. */
  readonly sandbox?: {
    /** What it has stopped since it was last asked. */
    takeDenials(): readonly string[];
    /** Moves away what must not be there: settings and hooks that programs outside would obey. */
    restore(): readonly Violation[];
  };
}
