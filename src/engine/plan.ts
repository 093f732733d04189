/** What the loop is given: a plan from a command, and the world to carry it out in. */
import type { Check, CheckResult } from '../domain/check.ts';
import type { Emit, LoopCommand, Prepared, Resumption } from '../domain/event.ts';
import type { StoryEvidence, Violation } from '../domain/evidence.ts';
import type { Past, PastTask } from '../domain/past.ts';
import type { Problem } from '../domain/problem.ts';
import type { IterationResult, LoopResult } from '../domain/result.ts';
import type { StandstillLimits } from '../domain/standstill.ts';
import type { StopReason } from '../domain/stop-reason.ts';
import type { Usage } from '../domain/usage.ts';
import type { Feedback, Run } from '../domain/verdict.ts';
import type { Sandbox } from '../opening/sandbox.ts';
import type { Clock } from '../platform/clock.ts';
import type { Disk } from '../platform/disk.ts';
import type { WorkReport } from '../turns/attempts.ts';
import type { ChosenAgent } from '../turns/choose-agent.ts';
import type { Account } from './account.ts';
import type { Steering } from './steering.ts';

/** What a command brings to the loop: what counts as done and how the steps of an iteration are done. */
export interface LoopPlan {
  readonly command: LoopCommand;
  readonly run: Run;
  /** When to tell the agent that it gets nowhere; absent: never. */
  readonly standstill?: StandstillLimits;
  readonly agent: ChosenAgent;
  readonly checks: readonly Check[];
  /** What the user should know before the first iteration. */
  readonly notices: readonly string[];
  /** Where the work is, when it is not in the project itself. */
  readonly place?: { readonly worktreePath: string; readonly branch: string };
  /** What is to be done once, before the first iteration. */
  prepare(): Promise<Prepared>;
  /** Instead of `prepare`, when that was done before the run was cut off. `baseline`: the checks that it ran. Answers what counts now. */
  recall(prepared: Prepared, baseline: readonly CheckResult[]): Promise<Prepared>;
  /** The prompt of an iteration; a problem ends the run. */
  prompt(iteration: number, feedback: readonly Feedback[]): Promise<string | Problem>;
  turn(iteration: number, prompt: string, account: Account): Promise<WorkReport>;
  /** Finds and undoes changes to what is not the agent's to change. `pending` was found before the run was cut off. */
  guard(iteration: number, pending: readonly string[]): Promise<readonly Violation[]>;
  check(iteration: number): Promise<readonly CheckResult[]>;
  /** Whether the files have changed since the run began, and a name for what they are now; null: not looked at. */
  tree(): Promise<{ readonly changed: boolean | null; readonly state: string | null }>;
  /** After a turn that did not fail and whose checks are all green; what it used up. `before`: the tasks that were begun. */
  keep(iteration: number, before: readonly PastTask[]): Promise<Usage | undefined>;
  /** What the iteration is for, where it is not all the same; asked when it begins and when it is over. */
  assignment?(): { readonly mode: string; readonly story?: string };
  /** What the stories say after this turn; asked once, after `guard` and `tree`. */
  stories?(iteration: number): StoryEvidence;
  /** What more there is to say of the run when it is over. */
  findings?(iterations: readonly IterationResult[]): Partial<LoopResult>;
  /** An iteration is over. */
  note(result: IterationResult): void;
  /** The run is over, however it ended. */
  close(): void;
}

export interface LoopWorld {
  readonly runId: string;
  readonly cwd: string;
  readonly clock: Clock;
  readonly emit: Emit;
  readonly steering: Steering;
  /** Set when the run should end after the step it is in. */
  readonly stopping: AbortSignal;
  /** What agent and checks run in. */
  readonly sandbox?: Pick<Sandbox, 'words' | 'notices' | 'takeDenials' | 'putBack'>;
  /** What to call it then, when it is not the disk. */
  stopReason(): StopReason;
  readonly disk: Disk;
  /** What the run did before it was cut off or stopped; it goes on from there. */
  readonly past?: Past;
  /** What the user should know of how it goes on. */
  readonly repairs?: Pick<Resumption, 'repaired' | 'changes' | 'diff'>;
}
