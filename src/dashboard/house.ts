/** The projects a dashboard shows, and the runs in them. Only what is listed can be asked for. */
import { fileSize } from '../platform/files.ts';
import { createDetailFold } from '../report/details.ts';
import { readRun } from '../report/read-run.ts';
import type { IterationDetail, RunReading, Standing } from '../report/run-view.ts';
import { overviewOf, type RunOverview, type RunState } from '../store/overview.ts';
import { type ProjectPaths, projectPaths, type RunPaths, runPaths } from '../store/paths.ts';
import { type LiveRun, listRuns, liveRun } from '../store/run-file.ts';
import { pauseIsPending } from '../store/steering.ts';

export interface ProjectRuns {
  readonly root: string;
  /** The latest first. */
  readonly runs: readonly ListedRun[];
}

export interface ListedRun extends Omit<RunOverview, 'state'> {
  readonly state: Standing;
  /** `waiting` and `paused` are two ways of running. */
  readonly now: RunState;
  /** It may be asked to pause and not have come to it yet. */
  readonly paused: boolean;
}

export interface Snapshot extends RunReading {
  /** The number of the event with which the last iteration began: from there on a page can tell what is going on. */
  readonly since: number;
}

export interface Household {
  list(): readonly ProjectRuns[];
  /** undefined: there is none of that name. */
  find(project: string, id: string): FoundRun | undefined;
}

export interface FoundRun {
  readonly paths: RunPaths;
  snapshot(): Snapshot;
  detail(iteration: number): IterationDetail | undefined;
  /** undefined: it has ended, or is steered elsewhere. */
  live(): LiveRun | undefined;
}

/** Of each project; more are in `ralph status`. */
const SHOWN = 200;

export function openHousehold(roots: readonly string[]): Household {
  const projects = roots.map(projectPaths);
  const runsOf = createList();
  return {
    list: () => projects.map(project => ({ root: project.root, runs: runsOf(project) })),
    find(index, id) {
      const project = /^\d{1,4}$/.test(index) ? projects[Number(index)] : undefined;
      // A name from outside never becomes a path unless it is the name of a run.
      if (!project || !listRuns(project).includes(id)) return undefined;
      return foundRun(project, id);
    },
  };
}

type List = (project: ProjectPaths) => readonly ListedRun[];

/** Looking at a run that has ended costs nothing the second time: it is only looked at again when its ledger has grown. */
function createList(): List {
  const ended = new Map<string, { readonly size: number; readonly run: ListedRun }>();
  return project =>
    listRuns(project)
      .slice(-SHOWN)
      .toReversed()
      .map(id => {
        const paths = runPaths(project.runs, id);
        const size = fileSize(paths.events);
        const known = ended.get(paths.events);
        if (known?.size === size) return known.run;
        const run = listedRun(id, paths);
        if (run.stopReason !== null) ended.set(paths.events, { size, run });
        return run;
      });
}

function listedRun(id: string, paths: RunPaths): ListedRun {
  const overview = overviewOf(id, paths);
  const { state: now } = overview;
  const state = now === 'waiting' || now === 'paused' ? 'running' : now;
  return { ...overview, state, now, paused: now === 'paused' || pauseIsPending(paths) };
}

function foundRun(project: ProjectPaths, id: string): FoundRun {
  const paths = runPaths(project.runs, id);
  return {
    paths,
    snapshot() {
      let since = 0;
      const { result: _, ...reading } = readRun(id, paths, entry => {
        if (entry.type === 'iteration-started') since = entry.seq;
      });
      return { ...reading, since };
    },
    detail(iteration) {
      let found: IterationDetail | undefined;
      const fold = createDetailFold(
        paths,
        detail => {
          found = detail;
        },
        iteration,
      );
      readRun(id, paths, fold.add);
      fold.end();
      return found;
    },
    live: () => liveRun(project, id),
  };
}
