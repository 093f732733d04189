/** Reads the board of a parallel run from its folder, and from those of its runs. */
import { openRuns } from '../store/child-runs.ts';
import { type ProjectPaths, runPaths } from '../store/paths.ts';
import { type BoardView, boardView } from './board-view.ts';
import { readRun } from './read-run.ts';

/** undefined: it is no parallel run. `now` is milliseconds since 1970. */
export function readBoard(project: ProjectPaths, id: string, now: number): BoardView | undefined {
  const { view, state } = readRun(id, runPaths(project, id));
  if (!view.board) return undefined;
  const isRunning = state === 'running';
  return boardView(view, { now, isRunning, children: openRuns(project, view.board) });
}
