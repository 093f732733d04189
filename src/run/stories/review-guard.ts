/** A review judges and changes nothing: what it changed outside of the folder of the list is undone, and voids its verdict. */
import { realpathSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Violation } from '../../domain/run/evidence.ts';
import { formatProblem, isProblem, type Problem } from '../../domain/text/problem.ts';
import { ACTIVE_FILE, type PrdPaths } from '../../store/prd-paths.ts';
import { createProtection, type Protection } from '../../workspace/protect.ts';
import { findRepository } from '../../workspace/repository.ts';
import type { RunContext } from '../turns/context.ts';

export type ReviewGuard = ReturnType<typeof createReviewGuard>;

export function createReviewGuard(parts: RunContext, prd: PrdPaths) {
  const { steering, emit } = parts;
  let guarded: Protection | Problem | undefined;
  const early: Violation[] = [];
  const found = (what: readonly string[]) => emit({ type: 'tampered', what });
  const undo = async (iteration: number, pending: readonly string[]): Promise<readonly Violation[]> => {
    if (!guarded) return [];
    if (isProblem(guarded)) return [{ what: formatProblem(guarded), restored: false }];
    return guarded.restore(iteration, { found, pending });
  };
  const end = () => {
    if (guarded) rmSync(parts.paths.state.keptForReview, { recursive: true, force: true });
    guarded = undefined;
  };
  const begin = async (recall?: string): Promise<string | undefined> => {
    end();
    guarded = await keepFiles(parts, prd, recall);
    return isProblem(guarded) ? undefined : guarded.name();
  };
  // What the user changes while the run is paused is his, in a review too.
  steering.care({
    async begin(iteration) {
      early.push(...(await undo(iteration, [])));
    },
    async end() {
      if (guarded) await begin();
    },
  });
  return {
    /** Keeps all files as they are, or takes those that were kept before the run was cut off. Returns their name. */
    begin,
    /** Undoes what has changed, and says what it was. */
    restore: async (iteration: number, pending: readonly string[]): Promise<readonly Violation[]> => [
      ...early.splice(0),
      ...(await undo(iteration, pending)),
    ],
    /** The review is over: nothing is kept for it any more. */
    end,
  };
}

async function keepFiles(
  { env, paths, runId, isLane, sandbox }: RunContext,
  prd: PrdPaths,
  recall: string | undefined,
): Promise<Protection | Problem> {
  const repository = await findRepository({ cwd: prd.root, env });
  if (isProblem(repository)) return repository;
  const { top } = repository;
  const root = realpathSync(prd.root);
  const inside = (path: string) => relative(top, join(root, relative(prd.root, path)));
  const protection = await createProtection({
    cwd: top,
    env,
    // What git ignores is left alone: the commands that a reviewer runs write caches and reports there.
    globs: ['**'],
    newFiles: 'forbid',
    except: [prd.folder, join(prd.root, ACTIVE_FILE)].map(inside),
    aside: paths.aside,
    keepIn: paths.state.keptForReview,
    // Where the branch of a lane stands is nothing that Ralph builds on.
    ...(!isLane && { keepCommits: `refs/ralph/kept/${runId}` }),
    ...(recall !== undefined && { recall }),
  });
  if (!isProblem(protection) && sandbox && sandbox.contained !== 'none') protection.nothingLives();
  return protection;
}
