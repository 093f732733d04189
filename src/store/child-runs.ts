/** The runs that belong to a parallel run: `PARENT.LANE`, and `PARENT.LANE.2` after it was sent back. */
import { type Lane, parentOf } from '../domain/lanes/board.ts';
import type { RunOverview } from '../domain/run/overview.ts';
import { lookAt, overviewOf } from './overview.ts';
import { type ProjectPaths, runPaths } from './paths.ts';
import { listRuns } from './run-file.ts';

/** Oldest first, those of each lane together. */
export function childrenOf(project: ProjectPaths, parent: string): readonly string[] {
  return listRuns(project)
    .filter(id => parentOf(id) === parent)
    .sort(inOrder);
}

/** The tenth run of a lane comes after the second. */
function inOrder(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

export type OpenRuns = Readonly<Record<string, Pick<RunOverview, 'cost' | 'until'>>>;

/** What the runs have used that the ledger of the whole has not counted yet. */
export function openRuns(
  project: ProjectPaths,
  { lanes }: { readonly lanes: readonly Pick<Lane, 'runs' | 'used'>[] },
): OpenRuns {
  const open = lanes.flatMap(({ runs, used }) => runs.filter(id => !used[id]));
  return Object.fromEntries(
    open.map(id => {
      const { cost, until } = overviewOf(id, runPaths(project, id));
      return [id, { cost, until }];
    }),
  );
}

/** A run at a glance, with what its lanes are using now, and what they ask. */
export function overviewIn(project: ProjectPaths, id: string): RunOverview {
  const {
    overview,
    state: { board },
  } = lookAt(id, runPaths(project, id));
  if (!board || overview.state === 'done') return overview;
  const asking = board.lanes.filter(({ state }) => state !== 'landed').flatMap(({ runs }) => runs.slice(-1));
  const questions = asking.flatMap(child => overviewOf(child, runPaths(project, child)).questions);
  const costs = Object.values(openRuns(project, board)).flatMap(({ cost }) => cost ?? []);
  const cost =
    overview.stopReason === null && costs.length > 0
      ? costs.reduce((sum, each) => sum + each, overview.cost ?? 0)
      : overview.cost;
  return { ...overview, questions, cost };
}
