/** `ralph loop`: one task, a list of them, or several attempts at one; and what does not go together. */
import type { Settings } from '../../config/settings-shape.ts';
import type { Problem } from '../../domain/text/problem.ts';
import type { Job } from '../job.ts';
import { bestOf, listFlaw, parallelTasks } from './parallel-tasks.ts';
import { type TaskGiven, taskJob } from './task.ts';

export interface LoopGiven extends TaskGiven {
  /** The file whose tasks are worked on, each for itself; then `task` is its text. */
  readonly tasks?: string | undefined;
}

export function loopJob({ tasks, ...given }: LoopGiven, settings: Settings): Job {
  if (tasks !== undefined) return parallelTasks(tasks, given.task, settings);
  return settings.bestOf > 1 ? bestOf(given.task, settings) : taskJob(given);
}

/** What was asked for in so many words, in a command or a call. */
export interface LoopInput {
  readonly task: string | undefined;
  readonly tasks: string | undefined;
  readonly spec: string | undefined;
  readonly worktree: boolean;
  readonly parallel: boolean;
  readonly bestOf: boolean;
  readonly agents: boolean;
}

/** What does not go together, and a list without tasks. */
export function parallelProblems(
  { task: words, tasks, spec, worktree, parallel, bestOf: attempted, agents }: LoopInput,
  { bestOf: attempts }: Settings,
  task: string | Problem,
): readonly Problem[] {
  const problems: Problem[] = [];
  const refuse = (where: string, what: string, fix?: string) =>
    problems.push({ where, what, ...(fix && { fix }) });
  if (tasks !== undefined && (words !== undefined || spec !== undefined))
    refuse('--tasks', 'the tasks are in the file, so there is no other', 'leave out the task and --spec');
  if (tasks !== undefined && attempted) refuse('--best-of', 'it is for one task, and --tasks names several');
  if (tasks === undefined && parallel)
    refuse(
      '--parallel',
      'there is one task, so there is nothing to do beside it',
      '--tasks FILE, or --best-of N',
    );
  if (agents && attempts === 1) refuse('--agents', 'it is for --best-of', '--best-of 3');
  if ((tasks !== undefined || attempts > 1) && worktree)
    refuse('--worktree', 'each of them has a worktree of its own', 'leave it out');
  const flaw = tasks !== undefined && typeof task === 'string' ? listFlaw(task) : undefined;
  if (flaw) refuse(`--tasks ${tasks}`, flaw.what, flaw.fix);
  return problems;
}
