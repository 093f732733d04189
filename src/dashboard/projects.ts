/** The projects a dashboard shows, and the runs in them: all that its server knows of where they are kept. Only what is listed can be asked for. */
import { parentOf } from '../domain/lanes/board.ts';
import { formatProblem, isProblem } from '../domain/text/problem.ts';
import { fileSize } from '../platform/files.ts';
import { createDetailFold } from '../report/details.ts';
import { readRun } from '../report/read-run.ts';
import type { IterationDetail, ListedProject, ListedRun, Snapshot } from '../report/run-view.ts';
import { overviewIn } from '../store/child-runs.ts';
import type { Message } from '../store/inbox.ts';
import { type ProjectPaths, projectPaths, runPaths } from '../store/paths.ts';
import { listRuns } from '../store/run-file.ts';
import { pauseIsPending, type Sent, send } from '../store/send.ts';
import { endDeleted } from '../store/session-ledger.ts';
import type { Env } from '../store/state.ts';
import { forkArguments, resumeArguments } from './launch.ts';
import { repeat, type Stream, streamLedger } from './stream.ts';

export interface Projects {
  /** Rejects when some cannot be reached: what was listed before is still true enough. */
  list(): Promise<readonly ListedProject[]>;
  /** The folder of a project on this machine; undefined: there is none of that number. */
  root(index: string): string | undefined;
  /** undefined: there is none of that name. */
  find(index: string, id: string): Promise<FoundRun | 'unreachable' | undefined>;
}

export interface FoundRun {
  readonly root: string;
  snapshot(): Snapshot;
  detail(iteration: number): IterationDetail | undefined;
  /** Every event after that one, and new ones as they come. */
  follow(stream: Stream, after: number, redact: (line: string) => string): void;
  steer(order: Message, now: number): Sent | Promise<Sent>;
  /** How to continue it, as arguments of `ralph`; undefined: it cannot be. */
  resumption(): readonly string[] | undefined;
  /** The arguments that fork it as a page asks for; undefined: it cannot be. */
  fork(body: string | undefined): readonly string[] | undefined;
}

/** Of each project; more are in `ralph status`. */
const SHOWN = 200;

export function openProjects(roots: readonly string[], env: Env, elsewhere?: OtherRuns): Projects {
  const projects = roots.map(root => projectPaths(root, env));
  const runsOf = createList();
  const at = (index: string) => (/^\d{1,4}$/.test(index) ? projects[Number(index)] : undefined);
  return {
    async list() {
      const own = projects.map(project => ({ root: project.root, runs: runsOf(project) }));
      return elsewhere ? [...own, { root: elsewhere.root, runs: await elsewhere.list() }] : own;
    },
    root: index => at(index)?.root,
    async find(index, id) {
      if (elsewhere && index === String(projects.length))
        return elsewhere.open(id).then(
          run => run && foundElsewhere(run, id),
          () => 'unreachable',
        );
      const project = at(index);
      // A name from outside never becomes a path unless it is the name of a run.
      return project && listRuns(project).includes(id) ? foundRun(project, id) : undefined;
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

function foundRun(project: ProjectPaths, id: string): FoundRun {
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
    follow: (stream, after, redact) => streamLedger(stream, paths, after, redact),
    steer(order, now) {
      const sent = send(project, id, order, now);
      return isProblem(sent) ? { message: formatProblem(sent), done: false, runId: id } : sent;
    },
    fork: body => forkArguments(readRun(id, paths).view, body),
    resumption() {
      const { resumable, raise } = overviewIn(project, id);
      return resumable && parentOf(id) === undefined ? resumeArguments(id, raise) : undefined;
    },
  };
}

/** Runs that are not in a folder of this machine, such as the units of a fleet: listed after the projects, opened as copies. */
export interface OtherRuns {
  /** What stands above them in the list. */
  readonly root: string;
  /** The latest first. Rejects when they cannot be reached. */
  list(): Promise<readonly ListedRun[]>;
  /** undefined: there is none of that name. Rejects when it cannot be reached. */
  open(id: string): Promise<OtherRun | undefined>;
}

export interface OtherRun {
  /** Where the copy is. */
  readonly project: ProjectPaths;
  /** Brings the copy up to date. */
  refresh(): Promise<void>;
  steer(order: Message): Promise<Sent>;
}

/** Milliseconds. */
const REFRESH_EVERY = 1_000;

function foundElsewhere({ project, refresh, steer }: OtherRun, id: string): FoundRun {
  const copy = foundRun(project, id);
  return {
    ...copy,
    // Its worker continues it.
    resumption: () => undefined,
    fork: () => undefined,
    follow(stream, after, redact) {
      repeat(stream, refresh, REFRESH_EVERY);
      copy.follow(stream, after, redact);
    },
    steer,
  };
}
