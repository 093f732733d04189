/** What a run is for: where its agent works, what it gets to read, what is checked, and what counts as done. */

import type { Settings } from '../config/settings-shape.ts';
import type { LoopCommand } from '../domain/run/event.ts';
import type { Problem } from '../domain/text/problem.ts';
import type { ChildRequest, ChildRun } from '../parallel/lane-work.ts';
import type { NoteMerge } from '../parallel/merging.ts';
import type { LaneDrive, Steps } from '../run/steps.ts';
import type { ChosenAgent } from '../run/turns/choose-agent.ts';
import type { RunContext } from '../run/turns/context.ts';
import type { ProjectPaths } from '../store/paths.ts';
import type { Given } from '../store/run-file.ts';
import type { Start } from '../workspace/own-git.ts';
import type { Worktree } from '../workspace/worktree.ts';

export interface Job {
  readonly command: LoopCommand;
  /** Finds or creates the place where the agent works. */
  enter(where: Where): Promise<Workplace | Problem>;
}

export interface Where {
  readonly project: ProjectPaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: Settings;
  /** The id of a run that is resumed. */
  readonly resumed?: string | undefined;
}

export interface Workplace {
  /** Where the agent works. */
  readonly cwd: string;
  /** What the run was given beside its settings: with it the run can be resumed. */
  readonly given: Omit<Given, 'flags'>;
  /** What it is about, in one line. */
  readonly title?: string | undefined;
  /** The user's words. */
  readonly task?: string | undefined;
  readonly worktree?: Worktree | undefined;
  /** The repository as it was then, where that was looked at. */
  readonly begun?: Start | undefined;
  /** What the user should know before the first iteration. */
  readonly notices?: readonly string[];
  /** Nothing is done in it but to merge what runs of its own have proven: `setup` is theirs, and the proof is always a clean one. */
  readonly isMerged?: boolean;
  /** The steps of the job in this place; they give up what they hold when they are closed. */
  steps(context: RunContext, lanes: LaneRuns): Promise<Steps | LaneDrive | Problem>;
  /** Gives up what is held: a directory, a worktree. */
  leave?(): void;
}

/** Opens the runs of a parallel run. */
export interface LaneRuns {
  open(child: ChildRequest, job: Job, agent?: ChosenAgent): Promise<ChildRun | Problem>;
  resume(child: ChildRequest, lane?: StoryLane, agent?: ChosenAgent): Promise<ChildRun | Problem>;
}

/** One of the stories of a parallel run. */
export interface StoryLane {
  readonly id: string;
  /** Before a review: brings in what others have landed meanwhile; returns why it does not fit, for the agent. */
  sync(note: NoteMerge): Promise<string | undefined>;
}
