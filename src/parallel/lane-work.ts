/** What a parallel run works on: stories, tasks, or attempts at one task. The coordinator knows lanes; this knows what is in them. */

import type { Check } from '../domain/checks/check.ts';
import type { LaneHead, SentBack } from '../domain/lanes/board.ts';
import type { LoopCommand, RecordedEvent } from '../domain/run/event.ts';
import type { LoopResult } from '../domain/run/result.ts';
import type { RunState } from '../domain/run/state.ts';
import type { SuccessReason } from '../domain/run/stop-reason.ts';
import type { StoryReport } from '../domain/stories/report.ts';
import type { Problem } from '../domain/text/problem.ts';
import type { StopRequest } from '../run/stop.ts';
import type { Budget } from '../run/turns/budget.ts';
import type { RunContext } from '../run/turns/context.ts';
import type { RunPaths } from '../store/paths.ts';
import type { OwnFile } from '../workspace/integration.ts';
import type { Worktree } from '../workspace/worktree.ts';
import type { LaneSetUp } from './lane-place.ts';
import type { NoteMerge } from './merging.ts';

export interface ChildRequest {
  /** The id of its run. */
  readonly id: string;
  readonly lane: LaneHead;
  readonly worktree: Worktree;
  /** Why it begins anew. */
  readonly sentBack?: SentBack | undefined;
  /** Its checks, where they are not those of the settings. */
  readonly checks?: readonly string[];
  readonly budget: Budget;
  /** With what the lane has for itself. */
  readonly env: RunContext['env'];
  /** Absent: what the lane has for itself is made, or nothing is. */
  readonly laneSetUp?: LaneSetUp | undefined;
  readonly gate: RunContext['gate'];
  readonly stop: StopRequest;
  /** Brings what has landed since into its files before a review; answers the conflicts that are in them now. */
  sync(note: NoteMerge): Promise<SentBack | undefined>;
  onEvent(event: RecordedEvent): void;
}

export interface ChildRun {
  readonly paths: RunPaths;
  run(): Promise<LoopResult>;
}

/** What is known of a run that is over, or was cut off. */
export interface EndedChild {
  readonly past: RunState;
  /** Its ledger is what Ralph wrote. */
  readonly isBelieved: boolean;
  readonly paths: RunPaths;
}

export interface LaneWork {
  readonly command: LoopCommand;
  readonly success: SuccessReason;
  /** The user's branch that gets what has landed. */
  readonly branch: string | null;
  lanes(): readonly LaneHead[];
  /** Files of Ralph's own, from the top of the repository: they are written, not merged. */
  readonly ownPaths: readonly string[];
  /** Those that the integration branch should begin with, where it has others. */
  firstFiles(): readonly OwnFile[];
  /** Whether what lands must be as it was reviewed. */
  readonly isReviewed: boolean;
  checksFor(landed: ReadonlySet<string>): readonly Check[];
  /** As they are when this lane lands: `before` are those of the tip, `own` those of the lane. */
  filesWith(lane: string, child: EndedChild | undefined, files: FilesAt): Promise<readonly OwnFile[]>;
  /** It has landed: what Ralph itself believes changes with it. */
  landed(lane: string, child: EndedChild | undefined): void;
  /** Puts what Ralph believes on record: at the start, and each time something has landed. */
  record?(lane?: string): void;
  /** Of tasks: what the agent of a lane gets to read. */
  taskOf?(lane: LaneHead): string;
  open(child: ChildRequest): Promise<ChildRun | Problem>;
  resume(child: ChildRequest): Promise<ChildRun | Problem>;
  message(lane: LaneHead): string;
  report?(): StoryReport;
  /** Where not every lane lands: picks one when all are over. */
  choose?(parts: RunContext, proven: readonly Attempt[]): Promise<Choice>;
}

/** A lane whose work is proven and not in the queue yet. */
export interface Attempt {
  readonly lane: string;
  readonly head: string;
  /** undefined: it could not be found out. */
  readonly diff: string | undefined;
  readonly cost: number | null;
  /** Percent of the faults in it that the checks notice; null: not tried. */
  readonly score: number | null;
}

export interface Choice {
  readonly lane: string;
  readonly why: string;
}

export interface FilesAt {
  tip(path: string): Promise<string | undefined>;
  base(path: string): Promise<string | undefined>;
  own(path: string): Promise<string | undefined>;
}
