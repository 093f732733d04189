/** Tells whether the files have changed since the run began. Outside a repository it does not know, and says so. */
import { isProblem } from '../domain/text/problem.ts';
import type { Snapshot } from './own-index.ts';
import { readStatus, type TreeStatus, treeState } from './tree-status.ts';

export type TreeWatch = ReturnType<typeof createTreeWatch>;

export interface TreeWatchOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function createTreeWatch({ cwd, env }: TreeWatchOptions) {
  let first: string | null = null;
  let last: TreeStatus | undefined;
  let held: string | null = null;
  let tree: string | undefined;
  const now = async (snapshot?: Snapshot): Promise<string | null> => {
    last = undefined;
    tree = undefined;
    const status = await readStatus({ cwd, env, ...(snapshot && { snapshot }) });
    if (isProblem(status)) return null;
    const state = await treeState({ cwd, env, status });
    if (typeof state !== 'string') return null;
    last = status;
    tree = status.tree;
    return state;
  };
  /** Something has touched the files. */
  const touched = () => {
    last = undefined;
  };
  return {
    /** Remembers what the files are now, and gives it a name; null: it does not know. */
    async start(): Promise<string | null> {
      first = await now();
      return first;
    },
    /** What git said at the last look, as long as nothing has touched the files since. */
    status: () => last,
    /** Compares with what they were at an earlier start. */
    recall(state: string | null): void {
      first = state;
    },
    /** `snapshot`: what the files are, where that is known. */
    async look(snapshot?: Snapshot) {
      const state = await now(snapshot);
      return { changed: state === null || first === null ? null : state !== first, state };
    },
    /** What git said at the last look, to save asking again; once, and only while nothing has touched the files since. */
    takeStatus(): TreeStatus | undefined {
      const status = last;
      touched();
      return status;
    },
    /** The tree of the last look: what was checked; undefined: it was not looked at. */
    checked: () => tree,
    touched,
    /** From here to `release` it is the user who changes the files: that is not taken for the agent's work. */
    async hold(): Promise<void> {
      held = await now();
    },
    /** Returns what is compared with from now on. */
    async release(): Promise<string | null> {
      const after = await now();
      if (held === first) first = after; // the agent had changed nothing, and still has not
      return first;
    },
  };
}
