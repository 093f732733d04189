/** Keeps, iteration by iteration, what had changed since the run began: for whoever looks at the run later. */
import { isProblem } from '../domain/problem.ts';
import { readIfThere, writeAtomic, writePrivate } from '../platform/files.ts';
import type { RunPaths } from '../store/paths.ts';
import { accumulatedDiff, startRef } from '../workspace/diff.ts';
import type { Place } from '../workspace/repository.ts';

export interface ChangesWorld extends Place {
  readonly paths: RunPaths;
  /** Whoever ends the run at once does not want to wait for a diff. */
  readonly abort: AbortSignal;
}

const MOST = 4_000_000;

/** Call it before the agent starts; what it gives writes the file. Outside a repository there is nothing to write. */
export async function watchChanges(world: ChangesWorld): Promise<(file: string) => Promise<void>> {
  const { cwd, env, abort } = world;
  const start = await startOf(world);
  return async file => {
    if (start === undefined || abort.aborted) return;
    const diff = await accumulatedDiff({ cwd, env, startRef: start, maxChars: MOST });
    if (!isProblem(diff) && diff.text !== '') writePrivate(file, diff.text);
  };
}

/** Written down, so that a run which goes on another day still knows where it began. */
async function startOf({ cwd, env, paths }: ChangesWorld): Promise<string | undefined> {
  const known = readIfThere(paths.startRef);
  if (known !== undefined) return known;
  const start = await startRef({ cwd, env });
  if (typeof start !== 'string') return undefined;
  writeAtomic(paths.startRef, start);
  return start;
}
