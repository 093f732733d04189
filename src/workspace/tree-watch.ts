/** Tells whether the files have changed since the run began. Outside a repository it does not know, and says so. */
import { treeState } from './tree-state.ts';

export interface TreeWatch {
  /** Remembers what the files are now. */
  start(): Promise<void>;
  look(): Promise<{ readonly changed: boolean | null; readonly state: string | null }>;
}

export interface TreeWatchOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Looking costs a `git status`; without need it is not done. */
  readonly on: boolean;
}

export function createTreeWatch({ cwd, env, on }: TreeWatchOptions): TreeWatch {
  const now = async (): Promise<string | null> => {
    if (!on) return null;
    const state = await treeState({ cwd, env });
    return typeof state === 'string' ? state : null;
  };
  let first: string | null = null;
  return {
    async start() {
      first = await now();
    },
    async look() {
      const state = await now();
      return { changed: state === null || first === null ? null : state !== first, state };
    },
  };
}
