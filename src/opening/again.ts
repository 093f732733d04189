/** The kind of run that a resumed run was, also of a parallel one. */
import type { Settings } from '../config/settings-shape.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { Env } from '../platform/git.ts';
import { prdPaths } from '../store/prd-paths.ts';
import { isList } from '../store/tasks-file.ts';
import { loadStories } from '../stories/load.ts';
import { policyOf } from '../stories/standing.ts';
import type { RunKind } from './kind.ts';
import { parallelStories } from './parallel-stories.ts';
import { bestOf, parallelTasks } from './parallel-tasks.ts';
import { kindAgain, type ResumedRun, readTask } from './resume.ts';

export async function runAgain(
  run: Omit<ResumedRun, 'repairs'>,
  settings: Settings,
  env: Env,
): Promise<RunKind | readonly Problem[]> {
  const { crew, ralphDir, tasks = '' } = run.file.given;
  if (crew === undefined) return kindAgain(run, settings, env);
  if (crew !== 'stories') {
    const task = readTask(run.paths);
    if (isProblem(task)) return [task];
    return crew === 'tasks' ? parallelTasks(tasks, task, settings) : bestOf(task, settings);
  }
  // What it believes of the list is on its own record; the list in the project only has to be there.
  const prd = prdPaths(run.file.cwd, ralphDir);
  const list = loadStories(prd, policyOf(settings));
  return isList(list) ? parallelStories({ prd, list }, settings) : list;
}
