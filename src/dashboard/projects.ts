/** The projects a dashboard shows, and the runs in them: all that its server knows of where they are kept. Only what is listed can be asked for. */
import { parentOf } from '../domain/board.ts';
import { fileSize } from '../platform/files.ts';
import { createDetailFold } from '../report/details.ts';
import { readRun } from '../report/read-run.ts';
import type { IterationDetail, RunReading, Standing } from '../report/run-view.ts';
import { overviewIn } from '../store/child-runs.ts';
import type { Message } from '../store/inbox.ts';
import { steerFound } from '../store/lane-steering.ts';
import type { RunOverview, RunState } from '../store/overview.ts';
import { type ProjectPaths, projectPaths, runPaths } from '../store/paths.ts';
import { listRuns, liveRun } from '../store/run-file.ts';
import { endDeleted } from '../store/session-end.ts';
import type { Env } from '../store/state.ts';
import { pauseIsPending, type Steered } from '../store/steering.ts';
import { resumeArguments } from './launch.ts';
import { type Stream, streamLedger } from './stream.ts';

export interface ProjectRuns {
  readonly root: string;
  /** The latest first. */
  readonly runs: readonly ListedRun[];
}

export interface ListedRun extends Omit<RunOverview, 'state'> {
  readonly state: Standing;
  /** `waiting` and `paused` are two ways of running. */
  readonly now: RunState;
  /** It was asked to pause; it may not have paused yet. */
  readonly paused: boolean;
  /** Of a unit of a fleet: who has it. */
  readonly worker?: string;
}

export interface Snapshot extends RunReading {
  /** The number of the event that started the last iteration: a page follows the run from there. */
  readonly since: number;
}

export interface Projects {
  list(): readonly ProjectRuns[];
  /** The folder of a project; undefined: there is none of that number. */
  root(index: string): string | undefined;
  /** undefined: there is none of that name. */
  find(index: string, id: string): FoundRun | undefined;
}

export interface FoundRun {
  readonly root: string;
  snapshot(): Snapshot;
  detail(iteration: number): IterationDetail | undefined;
  /** Every event after that one, and new ones as they come. */
  follow(stream: Stream, after: number, redact: (line: string) => string): void;
  steer(order: Message, now: number): Steered | Promise<Steered>;
  /** How to continue it, as arguments of `ralph`; undefined: it cannot be. */
  resumption(): readonly string[] | undefined;
}

/** Of each project; more are in `ralph status`. */
const SHOWN = 200;

export function openProjects(roots: readonly string[], env: Env): Projects {
  const projects = roots.map(root => projectPaths(root, env));
  const runsOf = createList();
  const at = (index: string) => (/^\d{1,4}$/.test(index) ? projects[Number(index)] : undefined);
  return {
    list: () => projects.map(project => ({ root: project.root, runs: runsOf(project) })),
    root: index => at(index)?.root,
    find(index, id) {
      const project = at(index);
      // A name from outside never becomes a path unless it is the name of a run.
      if (!project || !listRuns(project).includes(id)) return undefined;
      return foundRun(project, id);
    },
  };
}

/** A run that has ended is read only once, and again when its ledger has grown. */
function createList() {
  const ended = new Map<string, { readonly size: number; readonly run: ListedRun }>();
  return (project: ProjectPaths): readonly ListedRun[] => {
    endDeleted(project.root);
    return latestRuns(project)
      .toReversed()
      .map(id => {
        const paths = runPaths(project, id);
        const size = fileSize(paths.events);
        const known = ended.get(paths.events);
        if (known?.size === size) return known.run;
        const run = listedRun(project, id);
        if (run.stopReason !== null) ended.set(paths.events, { size, run });
        return run;
      });
  };
}

/** Those that belong to a parallel run come with it. */
function latestRuns(project: ProjectPaths): readonly string[] {
  const ids = listRuns(project);
  const whole = new Set(ids.filter(id => parentOf(id) === undefined).slice(-SHOWN));
  return ids.filter(id => whole.has(parentOf(id) ?? id));
}

function listedRun(project: ProjectPaths, id: string): ListedRun {
  const paths = runPaths(project, id);
  const overview = overviewIn(project, id);
  const { state: now } = overview;
  const state = now === 'waiting' || now === 'paused' ? 'running' : now;
  return { ...overview, state, now, paused: now === 'paused' || pauseIsPending(paths) };
}

export function foundRun(project: ProjectPaths, id: string): FoundRun {
  const paths = runPaths(project, id);
  return {
    root: project.root,
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
    follow: (stream, after, redact) => streamLedger(stream, paths.events, after, redact),
    steer(order, now) {
      const live = liveRun(project, id);
      if (live) return steerFound(project, live, order, now);
      // An answer waits for it to be resumed.
      if (order.kind === 'answer') return steerFound(project, { ended: id }, order, now);
      return { message: 'This run is not running.', done: false };
    },
    resumption() {
      const { resumable, raise } = overviewIn(project, id);
      return resumable && parentOf(id) === undefined ? resumeArguments(id, raise) : undefined;
    },
  };
}
