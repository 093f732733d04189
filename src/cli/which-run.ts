/** Which run a command means: one that is named by part of its id, or the latest. */
import { projectAt, type RunPaths, runPaths } from '../store/paths.ts';
import { findRun } from '../store/run-file.ts';
import { type Call, orThrow } from './command.ts';

export const RUN_ARGUMENT = ['[run]', 'a run, or part of its id; without it the latest'] as const;

export function wantedRun({ args, cwd }: Pick<Call, 'args' | 'cwd'>): { id: string; paths: RunPaths } {
  const project = projectAt(cwd);
  const id = orThrow(findRun(project, args[0]));
  return { id, paths: runPaths(project.runs, id) };
}
