/** What a run has around it: everything but what its job is. Made once, when the run is opened. */
import type { Settings } from '../../config/settings-shape.ts';
import type { OwnCheck } from '../../domain/checks/check.ts';
import type { RecordedEvent } from '../../domain/run/event.ts';
import type { Problem } from '../../domain/text/problem.ts';
import type { ProjectPaths, RunPaths } from '../../store/paths.ts';
import type { OwnGit } from '../../workspace/own-git.ts';
import type { Protection } from '../../workspace/protect.ts';
import type { Included } from '../../workspace/worktree-include.ts';
import type { EngineWorld } from '../steps.ts';
import type { AgentPool } from './agent-pool.ts';
import type { Budget } from './budget.ts';
import type { ChosenAgent } from './choose-agent.ts';
import type { RunHooks } from './run-hooks.ts';

export interface RunContext extends EngineWorld {
  readonly project: ProjectPaths;
  readonly paths: RunPaths;
  /** Where the agent works. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: Settings;
  /** Those of them that came from flags: the runs that belong to this one get them, too. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly agent: ChosenAgent;
  readonly roster: AgentPool;
  /** Who reviews stories, and the fallbacks behind; absent: the agent does. */
  readonly reviewers?: AgentPool;
  /** No further step is begun. */
  readonly stopping: AbortSignal;
  /** Ends what runs, at once. */
  readonly abort: AbortSignal;
  readonly hooks: RunHooks;
  /** The trace of the run, where there is one. */
  readonly trace?: string;
  /** The chance in the back-off, from 0 to 1. */
  readonly random?: () => number;
  /** With the other runs that this one belongs to. */
  readonly budget?: Budget | undefined;
  /** Where it works is not the user's: brings a commit to where the user finds it, and returns the command that fetches it. */
  readonly sendCommit?: ((commit: string) => Promise<string | Problem>) | undefined;
  /** Rounds of checks of several runs beside each other; absent: there are no others. */
  readonly gate?: CheckGate | undefined;
  /** Ralph takes its work to where it belongs. */
  readonly isLane: boolean;
  /** It is a lane, and nothing keeps the agents of other lanes out of where it works. */
  readonly isExposed: boolean;
  /** What a program knows of checks that the settings only name: that one is a function. */
  readonly ownChecks?: readonly OwnCheck[] | undefined;
  /** undefined: nothing is protected. */
  readonly protection: Protection | undefined;
  /** What a clean checkout needs beside the files of git; undefined: no clean proof was asked for. */
  readonly included: Included | undefined;
  /** Where the repository stands when the run begins; absent: there is none that could be looked at. */
  readonly start?: RepositoryStart | undefined;
  /** Sees what happens in the runs of a parallel run, by what they work on. Must not throw. */
  readonly onChildEvent?: ((lane: string, event: RecordedEvent) => void) | undefined;
}

/** Through which every round of checks goes. */
export interface CheckGate {
  beside<Result>(round: () => Promise<Result>): Promise<Result>;
}

export interface RepositoryStart {
  readonly own: OwnGit;
  /** What the user has staged, where Ralph commits. */
  readonly staged?: readonly string[] | undefined;
}
