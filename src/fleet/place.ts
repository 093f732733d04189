/** Where a worker works on a unit: a clone of its repository, made from a mirror that all units of that repository share. */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isProblem, type Problem } from '../domain/problem.ts';
import { ensureFolder } from '../platform/files.ts';
import { complaint, type Env } from '../platform/git.ts';
import { sha256 } from '../platform/hash.ts';
import { statePaths } from '../store/state.ts';
import { withLock } from '../workspace/lock.ts';
import { type OwnGit, openOwnGit } from '../workspace/own-git.ts';
import { reachingGit } from '../workspace/remote.ts';
import { carryRef, shownBranch, type Unit } from './unit.ts';

export interface Place {
  readonly root: string;
  readonly own: OwnGit;
}

/** What the files and the branch of a unit begin with. */
export interface Beginning {
  readonly id: string;
  /** The branch that is checked out. */
  readonly branch: string;
  readonly repoUrl: string;
  readonly base: string;
  /** What the holder before has left. */
  readonly carry?: { readonly commit: string; readonly fence: number } | undefined;
}

export function beginningOf(unit: Unit): Beginning {
  const { id, repoUrl, base, carry, carryFence } = unit;
  // A list of stories shows its branch itself.
  const branch = unit.kind === 'prd' ? `ralph/${id}/_list` : shownBranch(unit);
  return {
    ...{ id, branch, repoUrl, base },
    ...(carry !== null && carryFence !== null && { carry: { commit: carry, fence: carryFence } }),
  };
}

export function placeFolder(folder: string, id: string): string {
  return join(folder, 'units', id);
}

/** Made anew; what was there of the unit is removed. */
export async function makePlace(folder: string, env: Env, beginning: Beginning): Promise<Place | Problem> {
  const root = placeFolder(folder, beginning.id);
  removePlace(root, env);
  const mirror = await openMirror(env, beginning);
  if (isProblem(mirror)) return mirror;
  ensureFolder(dirname(root));
  const problem = await clone({ mirror, root, env, beginning });
  if (problem) return problem;
  return openPlace(root, env);
}

/** The one that is there. */
export async function openPlace(root: string, env: Env): Promise<Place | Problem> {
  const own = await openOwnGit({ cwd: root, env });
  return isProblem(own) ? own : { root, own };
}

/** With all that Ralph keeps of it outside. */
export function removePlace(root: string, env: Env): void {
  const state = statePaths(env);
  const project = existsSync(root) ? state.project(root) : undefined;
  const kept = project ? [project.runs, project.live, state.git(root)] : [];
  for (const path of [...kept, root]) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}

/** Out of the reach of agents: what is pushed from there is what was recorded. */
export async function mirrorOf(env: Env, repoUrl: string): Promise<string | Problem> {
  const folder = join(statePaths(env).folder, 'fleet', 'mirrors');
  const mirror = join(folder, `${sha256(repoUrl).slice(0, 24)}.git`);
  if (existsSync(join(mirror, 'HEAD'))) return mirror;
  ensureFolder(folder);
  const made = await reachingGit(folder, env).run(['init', '--quiet', '--bare', '--template=', mirror]);
  return made.code === 0 ? mirror : { where: mirror, what: complaint(made.output, made.code) };
}

/** Units of one repository that begin at the same time fetch one after the other. */
async function openMirror(env: Env, beginning: Beginning): Promise<string | Problem> {
  const { id, repoUrl, base, carry } = beginning;
  const mirror = await mirrorOf(env, repoUrl);
  if (isProblem(mirror)) return mirror;
  return withLock(`${mirror}.lock`, async () => {
    const failed = (output: string, code: number): Problem => ({
      where: repoUrl,
      what: `it cannot be fetched: ${complaint(output, code)}`,
    });
    const there = reachingGit(mirror, env);
    const has = async (commit: string) =>
      (await there.run(['cat-file', '-e', `${commit}^{commit}`])).code === 0;
    const fetch = (...specs: readonly string[]) =>
      there.run(['-c', 'fetch.unpackLimit=1', 'fetch', '--quiet', '--no-tags', '--force', repoUrl, ...specs]);
    if (!(await has(base))) {
      const got = await fetch('+refs/heads/*:refs/heads/*');
      // Some servers give any commit by its name.
      if (got.code !== 0 || !(await has(base))) {
        const named = await fetch(`${base}:refs/ralph/base/${base}`);
        if (named.code !== 0) return failed(got.code === 0 ? named.output : got.output, named.code);
      }
    }
    if (carry && !(await has(carry.commit))) {
      const ref = carryRef(id, carry.fence);
      const got = await fetch(`+${ref}:${ref}`);
      if (got.code !== 0 || !(await has(carry.commit)))
        return failed(got.output || `${carry.commit} is not there any more`, got.code);
    }
    return mirror;
  });
}

interface Cloning {
  readonly mirror: string;
  readonly root: string;
  readonly env: Env;
  readonly beginning: Beginning;
}

async function clone({ mirror, root, env, beginning }: Cloning): Promise<Problem | undefined> {
  const { branch, repoUrl, base, carry } = beginning;
  const outside = reachingGit(dirname(root), env);
  const git = reachingGit(root, env);
  const files = carry && `${carry.commit}^1`;
  const steps: readonly (readonly [typeof git, readonly string[]])[] = [
    [outside, ['init', '--quiet', '--template=', '--initial-branch', branch, root]],
    [git, ['remote', 'add', 'origin', repoUrl]],
    [git, ['fetch', '--quiet', '--no-tags', mirror, carry?.commit ?? base]],
    [git, ['checkout', '--quiet', '--force', '-B', branch, files === undefined ? base : `${files}^1`]],
    // The files as the holder before had them, the index as the commit has it.
    ...(files === undefined
      ? []
      : ([
          [git, ['read-tree', '--reset', '-u', files]],
          [git, ['read-tree', 'HEAD']],
        ] as const)),
  ];
  for (const [at, args] of steps) {
    const { code, output } = await at.run(args);
    if (code !== 0) return { where: repoUrl, what: `git ${args[0]}: ${complaint(output, code)}` };
  }
  return undefined;
}
