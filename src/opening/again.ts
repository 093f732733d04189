/** The kind of run that a resumed run was, also of a parallel one. */
import type { Settings } from '../config/settings-shape.ts';
import type { Problem } from '../domain/problem.ts';
import type { Env } from '../platform/git.ts';
import { prdPaths } from '../store/prd-paths.ts';
import { isList } from '../store/tasks-file.ts';
import { loadStories } from '../stories/load.ts';
import { policyOf } from '../stories/standing.ts';
import type { RunKind } from './kind.ts';
import { parallelStories } from './parallel-stories.ts';
import { kindAgain, type ResumedRun } from './resume.ts';

export async function runAgain(
  run: Omit<ResumedRun, 'repairs'>,
  settings: Settings,
  env: Env,
): Promise<RunKind | readonly Problem[]> {
  const { crew, ralphDir } = run.file.given;
  if (crew !== 'stories') return kindAgain(run, settings, env);
  // What it believes of the list is on its own record; the list in the project only has to be there.
  const prd = prdPaths(run.file.cwd, ralphDir);
  const list = loadStories(prd, policyOf(settings));
  return isList(list) ? parallelStories({ prd, list }, settings) : list;
}
