/** Runs that are not in a folder of this machine, such as the units of a fleet: listed after the projects, opened as copies. */
import type { Message } from '../store/inbox.ts';
import type { ProjectPaths } from '../store/paths.ts';
import type { Steered } from '../store/steering.ts';
import { type FoundRun, foundRun, type ListedRun, type ProjectRuns, type Projects } from './projects.ts';
import { repeat } from './stream.ts';

export interface Elsewhere {
  /** What stands above them in the list. */
  readonly root: string;
  /** The latest first. Rejects when they cannot be reached. */
  list(): Promise<readonly ListedRun[]>;
  /** undefined: there is none of that name. Rejects when it cannot be reached. */
  open(id: string): Promise<RunElsewhere | undefined>;
}

export interface RunElsewhere {
  /** Where the copy is. */
  readonly project: ProjectPaths;
  /** Brings the copy up to date. */
  refresh(): Promise<void>;
  steer(order: Message): Promise<Steered>;
}

export interface AllProjects {
  /** Rejects when some cannot be reached: what was listed before is still true enough. */
  list(): Promise<readonly ProjectRuns[]>;
  /** Of a project on this machine. */
  root(index: string): string | undefined;
  find(index: string, id: string): Promise<FoundRun | 'unreachable' | undefined>;
}

/** Milliseconds. */
const REFRESH_EVERY = 1_000;

/** `count`: of the local projects. */
export function withElsewhere(local: Projects, count: number, elsewhere: Elsewhere | undefined): AllProjects {
  const { root } = local;
  if (!elsewhere)
    return { root, list: async () => local.list(), find: async (...which) => local.find(...which) };
  return {
    root,
    list: async () => [...local.list(), { root: elsewhere.root, runs: await elsewhere.list() }],
    async find(index, id) {
      if (index !== String(count)) return local.find(index, id);
      try {
        const run = await elsewhere.open(id);
        return run && foundElsewhere(run, id);
      } catch {
        return 'unreachable';
      }
    },
  };
}

function foundElsewhere({ project, refresh, steer }: RunElsewhere, id: string): FoundRun {
  const copy = foundRun(project, id);
  return {
    ...copy,
    // Its worker continues it.
    resumption: () => undefined,
    follow(stream, after, redact) {
      repeat(stream, refresh, REFRESH_EVERY);
      copy.follow(stream, after, redact);
    },
    steer,
  };
}
