/** The calls of the library. What they need is loaded when one is made, so that importing it costs next to nothing. */
import { rmSync } from 'node:fs';
import type { RecordedEvent } from '../domain/run/event.ts';
import type { RunOverview } from '../domain/run/overview.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { formatProblem } from '../domain/text/problem.ts';
import type { DiscardResult } from '../opening/discard.ts';
import type { LandResult } from '../opening/land.ts';
import { tooOldNode } from '../platform/node-version.ts';
import type { Simulated } from '../report/simulate.ts';
import { createStopRequest } from '../run/stop.ts';
import {
  type LoopConfig,
  LoopConfigError,
  type PromptConfig,
  type ResumeConfig,
  type RunConfig,
  type RunOptions,
  type StoriesConfig,
} from './config.ts';
import { createEventQueue } from './event-queue.ts';
import type { LibraryRun } from './open.ts';
import type { DiscardOptions, LandOptions, Ledger, ReportOptions, RunHandle, RunsOptions } from './runs.ts';

const tooOld = tooOldNode();
if (tooOld !== undefined) throw new Error(tooOld);

/** A loop that is begun by `run`. Disposing of it ends a run that is still running, and waits for that. */
export interface Loop extends AsyncDisposable {
  /** Runs it to its end. Rejects with a LoopConfigError when the configuration is invalid. Call it once. */
  run(): Promise<LoopResult>;
  /** The first iterator gets every event from the first one on, later ones those from then on; it ends with the run. What was read is not kept. */
  readonly events: AsyncIterable<RecordedEvent>;
  /** Removes the worktree and its branch, unless that would lose work: then it says why not. */
  cleanupWorktree(): Promise<string | undefined>;
  /** Removes `.ralph/ralph-progress.md`. */
  cleanupProgress(): Promise<void>;
}

/** `ralph loop` as an object: to read its events while it runs, and to clean up behind it. */
export function createLoop(config: LoopConfig, options: RunOptions = {}): Loop {
  const queue = createEventQueue();
  const stop = createStopRequest();
  let opened: LibraryRun | undefined;
  let running: Promise<LoopResult> | undefined;
  const onEvent = (event: RecordedEvent) => {
    queue.push(event);
    options.onEvent?.(event);
  };
  const begin = async () => {
    try {
      const { openLoop } = await import('./open.ts');
      opened = await openLoop(config, { ...options, stop, onEvent });
      return await opened.run();
    } finally {
      queue.end();
    }
  };
  return {
    events: queue,
    run() {
      running ??= begin();
      return running;
    },
    async cleanupWorktree() {
      if (!opened?.worktree) return undefined;
      const { removeWorktree } = await import('../workspace/remove-worktree.ts');
      const { project, env, worktree } = opened;
      const problem = await removeWorktree({ root: project.root, env, name: worktree.name });
      return problem && formatProblem(problem);
    },
    async cleanupProgress() {
      if (opened) rmSync(opened.project.progress, { force: true });
    },
    async [Symbol.asyncDispose]() {
      stop.request('cancelled', 'now', 'The loop was disposed of.');
      // Whoever called `run` gets its error.
      await running?.catch(() => {});
      queue.end();
    },
  };
}

/** `ralph run`: loops on a prompt until the agent says that it is done and every check passes. Rejects with a LoopConfigError when the configuration is invalid. */
export async function runPrompt(config: PromptConfig, options: RunOptions = {}): Promise<LoopResult> {
  const { openPrompt } = await import('./open.ts');
  return (await openPrompt(config, options)).run();
}

/** `ralph loop`: loops on a task with a clean context each time, until every check passes and the agent says so. Rejects with a LoopConfigError when the configuration is invalid. */
export async function runLoop(config: LoopConfig, options: RunOptions = {}): Promise<LoopResult> {
  const { openLoop } = await import('./open.ts');
  return (await openLoop(config, options)).run();
}

/** `ralph prd run`: builds and reviews the stories of a list. Rejects with a LoopConfigError when the configuration or the list is invalid. */
export async function runStories(config: StoriesConfig = {}, options: RunOptions = {}): Promise<LoopResult> {
  const { openStories } = await import('./open.ts');
  return (await openStories(config, options)).run();
}

/** `ralph resume`: continues a run where its ledger ends. Rejects with a LoopConfigError that says why, when it cannot be. */
export async function resumeRun(config: ResumeConfig = {}, options: RunOptions = {}): Promise<LoopResult> {
  const { openAgain } = await import('./open.ts');
  return (await openAgain(config, options)).run();
}

/** `ralph land`: merges what a run left into the branch that is checked out, once every check passes on the merged tree; else nothing is changed. Rejects with a LoopConfigError that says why, where it is refused. */
export async function landRun(cwd: string, options: LandOptions = {}): Promise<LandResult> {
  const { landHere } = await import('./runs.ts');
  return landHere(cwd, options);
}

/** `ralph discard`: what a run left goes; `back` of the result are the commands that bring it back. Rejects with a LoopConfigError that says why, where it is refused. */
export async function discardRun(cwd: string, options: DiscardOptions = {}): Promise<DiscardResult> {
  const { discardHere } = await import('./runs.ts');
  return discardHere(cwd, options);
}

/** A run that is there, by its id or part of it, or the latest: to look at, follow, steer or resume. */
export async function openRun(cwd: string, run?: string, options: RunsOptions = {}): Promise<RunHandle> {
  const { handleOf } = await import('./runs.ts');
  return handleOf(cwd, run, options);
}

/** `ralph status`: all runs of a project at a glance, oldest first. */
export async function listRuns(cwd: string, options: RunsOptions = {}): Promise<readonly RunOverview[]> {
  const { overviews } = await import('./runs.ts');
  return overviews(cwd, options);
}

/** `ralph log`: the ledger of a run, each line typed, and whether it is what Ralph wrote. Without a run: of the latest. */
export async function readLedger(cwd: string, run?: string, options: RunsOptions = {}): Promise<Ledger> {
  const { ledgerOf } = await import('./runs.ts');
  return ledgerOf(cwd, run, options);
}

/** `ralph report`: a run, or all of them, as HTML, Markdown, JSON, JUnit XML or SARIF. */
export async function createReport(cwd: string, options: ReportOptions = {}): Promise<string> {
  const { reportOf } = await import('./runs.ts');
  return reportOf(cwd, options);
}

/** What to simulate. */
export interface SimulateConfig extends Pick<RunConfig, 'protect' | 'settings'> {
  /** Commands, instead of those of the settings. */
  readonly checks?: readonly string[];
  /** Which failures; default: all. */
  readonly failures?: readonly string[];
}

/** What got past the settings, and what did not. */
export interface Simulation {
  readonly simulated: readonly Simulated[];
  /** Every failure was caught. */
  readonly success: boolean;
}

/** `ralph simulate`: the settings of a project against a scripted agent that fails first, in a copy. Needs no model. */
export async function simulate(
  config: SimulateConfig = {},
  options: Pick<RunOptions, 'cwd' | 'env' | 'signal'> = {},
): Promise<Simulation> {
  const { simulateForProgram } = await import('./simulate.ts');
  const ended = await simulateForProgram(config, options);
  if (!('simulated' in ended)) throw new LoopConfigError(ended);
  return ended;
}
