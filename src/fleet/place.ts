/** Where a worker works on a unit: a clone of its repository, made from a mirror that all units of that repository share. */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RemoteProblem } from '../domain/run/remote-answer.ts';
import { parseObject } from '../domain/text/json.ts';
import { isProblem, laterVersion, type Problem } from '../domain/text/problem.ts';
import { ensureFolder } from '../platform/files.ts';
import type { Env } from '../platform/git.ts';
import { sha256 } from '../platform/hash.ts';
import { type LedgerLine, openJournal, readJournal } from '../store/journal.ts';
import { LEDGER_FORMAT, laterFormat } from '../store/ledger-end.ts';
import { newRunPaths, projectPaths, type RunPaths } from '../store/paths.ts';
import { statePaths } from '../store/state.ts';
import { withLock } from '../workspace/lock.ts';
import { type OwnGit, openOwnGit } from '../workspace/own-git.ts';
import { patient, reachingGit, refused, type Shown, show } from '../workspace/remote.ts';
import { unpack } from './carry.ts';
import { carryRef, heldRef, shownBranch, type Unit } from './unit.ts';
import { allLines, type Claim } from './units.ts';
import type { UnitWorld } from './work-unit.ts';

export interface Place {
  readonly root: string;
  readonly own: OwnGit;
}

export function placeFolder(folder: string, id: string): string {
  return join(folder, 'units', id);
}

/** Made anew; what was there of the unit is removed. */
async function makePlace(folder: string, env: Env, unit: Unit, abort: AbortSignal): Promise<Place | Problem> {
  const root = placeFolder(folder, unit.id);
  removePlace(root, env);
  const mirror = await openMirror(env, unit, abort);
  if (isProblem(mirror)) return mirror;
  ensureFolder(dirname(root));
  return (await clone(mirror, root, env, unit)) ?? openPlace(root, env);
}

/** The one that is there. */
async function openPlace(root: string, env: Env): Promise<Place | Problem> {
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
  const init = ['init', '--quiet', '--bare', '--template=', mirror];
  return (await reachingGit(folder, env).order(init, mirror)) ?? mirror;
}

/** Units of one repository that begin at the same time fetch one after the other. */
async function openMirror(env: Env, unit: Unit, abort: AbortSignal): Promise<string | Problem> {
  const { id, repoUrl, base, carry, carryFence } = unit;
  const mirror = await mirrorOf(env, repoUrl);
  if (isProblem(mirror)) return mirror;
  return withLock(`${mirror}.lock`, async () => {
    const failed = (output: string, code: number): Problem => refused(repoUrl, output, code);
    const there = patient(reachingGit(mirror, env), abort);
    const has = async (commit: string) =>
      (await there.run(['cat-file', '-e', `${commit}^{commit}`])).code === 0;
    const fetch = (...specs: readonly string[]) =>
      there.run([
        '-c',
        'fetch.unpackLimit=1',
        'fetch',
        '--quiet',
        '--no-tags',
        '--force',
        '--',
        repoUrl,
        ...specs,
      ]);
    if (!(await has(base))) {
      const got = await fetch('+refs/heads/*:refs/heads/*');
      // Some servers give any commit by its name.
      if (got.code !== 0 || !(await has(base))) {
        const named = await fetch(`${base}:refs/ralph/base/${base}`);
        if (named.code !== 0) return failed(got.code === 0 ? named.output : got.output, named.code);
      }
    }
    if (carry !== null && !(await has(carry))) {
      const ref = carryRef({ id, fence: carryFence ?? 0 }, '*');
      const got = await fetch(`+${ref}:${ref}`);
      if (got.code !== 0 || !(await has(carry)))
        return failed(got.output || `${carry} is not there any more`, got.code);
    }
    return mirror;
  });
}

async function clone(mirror: string, root: string, env: Env, unit: Unit): Promise<Problem | undefined> {
  const { id, repoUrl, base, carry } = unit;
  // A list of stories shows its branch itself.
  const branch = unit.kind === 'prd' ? `ralph/${id}/_list` : shownBranch(unit);
  const outside = reachingGit(dirname(root), env);
  const git = reachingGit(root, env);
  const files = carry === null ? undefined : `${carry}^1`;
  const steps: readonly (readonly [typeof git, readonly string[]])[] = [
    [outside, ['init', '--quiet', '--template=', '--initial-branch', branch, root]],
    [git, ['remote', 'add', '--', 'origin', repoUrl]],
    [git, ['fetch', '--quiet', '--no-tags', mirror, carry ?? base]],
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
    const problem = await at.order(args, repoUrl, `git ${args[0]}`);
    if (problem) return problem;
  }
  return undefined;
}

/** On its branch, in place of what any holder of it has put there. */
export function shownAs(unit: Pick<Unit, 'id' | 'kind' | 'parent'>, to: string): Shown {
  return { ref: `refs/heads/${shownBranch(unit)}`, to, ours: `refs/ralph/${unit.id}/*/work` };
}

export type ShownUnit = Pick<Unit, 'id' | 'fence' | 'kind' | 'parent' | 'repoUrl'> & {
  readonly headSha: string;
};

/** Shows what came of a unit under its name, for a worker that died between the record and the branch. Returns why it cannot be shown. */
export async function showBranch(
  env: Env,
  unit: ShownUnit,
  abort: AbortSignal,
): Promise<Problem | undefined> {
  const { headSha, repoUrl } = unit;
  const mirror = await mirrorOf(env, repoUrl);
  if (typeof mirror !== 'string') return mirror;
  const git = patient(reachingGit(mirror, env), abort);
  const ref = heldRef(unit, 'work');
  const { code, output } = await git.run(['fetch', '--quiet', '--no-tags', '--', repoUrl, `+${ref}:${ref}`]);
  return code === 0 ? show(git, repoUrl, shownAs(unit, headSha)) : refused(repoUrl, output, code);
}

export function pathsOf(
  { folder, env }: Pick<UnitWorld, 'folder' | 'env'>,
  { id }: Pick<Unit, 'id'>,
): RunPaths {
  return newRunPaths(projectPaths(placeFolder(folder, id), env), id);
}

export interface Ready {
  readonly place: Place;
  readonly paths: RunPaths;
  readonly isBegun: boolean;
  readonly isFresh: boolean;
  /** The last line that the database has. */
  readonly after: number;
  /** Lines that are here and not there: of a unit that this worker has had before. */
  readonly unsent: readonly LedgerLine[];
}

export async function getReady(
  { unit, before }: Claim,
  world: UnitWorld,
  abort: AbortSignal,
): Promise<Ready | Problem | RemoteProblem> {
  const { database, folder, env, worker } = world;
  const paths = pathsOf(world, unit);
  const lines = await allLines(database, unit.id);
  const after = lines.at(-1)?.seq ?? 0;
  const format = laterFormat(parseObject(lines[0]?.text ?? ''));
  // Another worker may read it.
  if (format !== undefined) return { ...laterVersion(unit.id, format, LEDGER_FORMAT), answer: 'stop' };
  // One that was reopened may begin with other files, and its ledger has lines that were written elsewhere.
  if (before === worker && existsSync(paths.run) && unit.carry !== null && !unit.reopened) {
    const place = await openPlace(placeFolder(folder, unit.id), env);
    return isProblem(place)
      ? place
      : { place, paths, after, isBegun: true, isFresh: false, unsent: unsentLines(paths, after) };
  }
  const place = await makePlace(folder, env, unit, abort);
  if (isProblem(place)) return place;
  const isBegun = unit.carry !== null && (await unpack(place.own, paths, unit.carry, lines, place.root));
  return isProblem(isBegun) ? isBegun : { place, paths, after, isBegun, isFresh: true, unsent: [] };
}

function unsentLines(paths: RunPaths, after: number): Ready['unsent'] {
  const lines: Ready['unsent'][number][] = [];
  readJournal(openJournal(paths), entry => {
    if (entry.seq > after) lines.push({ seq: entry.seq, type: entry.type, text: JSON.stringify(entry) });
  });
  return lines;
}
