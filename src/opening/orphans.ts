/** What a run that was killed has left running would work beside the next one: it is ended first. */
import { endOwned } from '../platform/process.ts';
import { owners } from '../platform/process-table.ts';
import { ownerName } from '../platform/spawn.ts';
import { overviewOf } from '../store/overview.ts';
import { type ProjectPaths, runPaths } from '../store/paths.ts';
import { listRuns } from '../store/run-file.ts';
import { ownerOfRun } from '../store/run-record.ts';

/** Answers what the user should know of it. */
export async function endOrphans(project: ProjectPaths): Promise<readonly string[]> {
  const running = new Set<unknown>(owners());
  running.delete(ownerName());
  const said: string[] = [];
  if (running.size === 0) return said; // then the runs need not be looked at
  for (const id of listRuns(project)) {
    const paths = runPaths(project, id);
    const owner = ownerOfRun(paths);
    // A program may run several: of one that has ended nothing is left, whoever has its name.
    if (!running.has(owner) || overviewOf(id, paths).state !== 'crashed') continue;
    const ended = await endOwned(owner);
    if (ended > 0)
      said.push(`${ended} process(es) of the run ${id}, which was killed, were still running: ended.`);
  }
  return said;
}
