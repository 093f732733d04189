/** What nobody needs any more in the state folder and among the temporary files: Ralph's own git directories, and checkouts of runs that were killed. */
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isReallyBelow, namesIn } from '../platform/files.ts';
import { bytesIn } from '../store/prune.ts';
import { recordedRoots } from '../store/run-file.ts';
import { type Env, statePaths } from '../store/state.ts';
import { sweepCleanPlaces } from './clean-checkout.ts';
import { topIn } from './own-folder.ts';

export interface Collected {
  /** What they were for. */
  readonly tops: readonly string[];
  readonly bytes: number;
}

/**
 * A git directory is needed for as long as a run of a project in its work tree is on record: its trees are what that run can be shown, landed,
 * resumed and brought back from. What is kept of a worktree of Ralph's is needed for as long as that, or its folder, is there.
 */
export function collectGit(env: Env, isDry = false): Collected {
  const { gits } = statePaths(env);
  const roots = recordedRoots(env);
  const gone = namesIn(gits).flatMap(name => {
    const place = join(gits, name);
    const top = topIn(place);
    return top === undefined || isNeeded(place, top, roots) ? [] : [{ place, top }];
  });
  const bytes = gone.reduce((sum, { place }) => sum + bytesIn(place), 0);
  if (!isDry) {
    for (const { place } of gone) rmSync(place, { recursive: true, force: true });
    sweepCleanPlaces();
  }
  return { tops: gone.map(({ top }) => top), bytes };
}

function isNeeded(place: string, top: string, roots: readonly string[]): boolean {
  if (isNew(place)) return true;
  const [project, below] = top.split('/.ralph/worktrees/');
  if (below !== undefined && !existsSync(join(place, 'objects')))
    return existsSync(top) || roots.some(root => root === project || isReallyBelow(root, project ?? top));
  return roots.some(root => isReallyBelow(root, top));
}

/** Milliseconds: a run that begins has it made first, and is on record only then. */
const BEGINS = 3_600_000;

function isNew(place: string): boolean {
  return Date.now() - (statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? 0) < BEGINS;
}

/** What is kept of a worktree goes with it, where no objects are in there that others could need. `place`: found while it was there. */
export function forgetPlace(place: string): void {
  if (!existsSync(join(place, 'objects'))) rmSync(place, { recursive: true, force: true });
}
