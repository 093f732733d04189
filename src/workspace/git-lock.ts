/** What git leaves when it is killed: its locks on the index and the refs, and in Ralph's own git directory objects that are half written. */

import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isReallyBelow, namesIn, tryTo } from '../platform/files.ts';
import { identify } from '../platform/process-table.ts';
import { sweepIndexes } from './commit-in-repository.ts';
import { folderOf } from './own-folder.ts';
import { findRepository, type Place, type Repository } from './repository.ts';

export interface Span {
  /** Milliseconds since 1970: when the dead run lived. */
  readonly from: number;
  readonly to: number;
}

/** A step of a run that was cut off may have run on for a moment after its last event. */
const AFTER = 5_000;

/**
 * Removes the locks that are from the time of the dead run, when no git is running here, and says so.
 * git writes nothing into them that would tell whose they are.
 */
export async function clearGitLocks(place: Place, { from, to }: Span): Promise<readonly string[]> {
  const repository = await findRepository(place);
  if ('what' in repository) return [];
  sweepIndexes(repository.gitDir, pid => identify(pid) === undefined);
  const own = folderOf(repository.top, place.env).path;
  const isBusy = gitIsRunning([repository.top, own]);
  const isOf = (path: string) => {
    const made = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return made >= from - 1000 && made <= to + AFTER && !isBusy;
  };
  for (const half of halfWritten(join(own, 'objects'))) if (isOf(half)) rmSync(half, { force: true });
  return [...locksOf(repository), ...locksOf({ gitDir: own, commonDir: own })].flatMap(lock => {
    const isOthers = !isOf(lock);
    // In Ralph's own git directory it is that of another run, and holds nobody else.
    if (isOthers && isReallyBelow(lock, own)) return [];
    if (isOthers)
      return `${lock} is there, and it is not known to be this run's: remove it yourself if no git is running`;
    release(lock);
    return `${lock} was left behind by a git that was killed: removed`;
  });
}

/**
 * The same before Ralph moves a branch in a worktree of its own, between two turns: whoever had taken them is dead, the git of an agent that was
 * stopped as well as one of Ralph's. In a folder of the user it may be of somebody else.
 */
export function clearOwnLocks(
  { top, gitDir, commonDir }: Pick<Repository, 'top' | 'gitDir' | 'commonDir'>,
  ref: string,
): void {
  if (gitDir === commonDir || !top.includes('/.ralph/worktrees/')) return;
  const all = [join(gitDir, 'index.lock'), join(gitDir, 'HEAD.lock'), join(commonDir, `${ref}.lock`)];
  const locks = all.filter(isTaken);
  if (locks.length > 0 && !gitIsRunning([top])) for (const lock of locks) release(lock);
}

/** Those that a commit and a fetch take: the index, HEAD, the branch, and where history ends. */
function locksOf({ gitDir, commonDir }: Pick<Repository, 'gitDir' | 'commonDir'>): readonly string[] {
  const refs = join(commonDir, 'refs');
  const below = existsSync(refs) ? readdirSync(refs, { recursive: true, encoding: 'utf8' }) : [];
  const locks = [
    join(gitDir, 'index.lock'),
    join(gitDir, 'HEAD.lock'),
    join(commonDir, 'packed-refs.lock'),
    join(commonDir, 'shallow.lock'),
    ...below.filter(name => name.endsWith('.lock')).map(name => join(refs, name)),
  ];
  return locks.filter(isTaken);
}

/** A link that leads nowhere, or a folder, keeps git out as well. */
const isTaken = (lock: string) => tryTo(() => lstatSync(lock)) !== undefined;

function release(lock: string): void {
  tryTo(() => rmSync(lock, { recursive: true, force: true }));
}

/** Nothing else removes them, and one may be as large as all files together. */
function halfWritten(objects: string): readonly string[] {
  return namesIn(objects).flatMap(folder =>
    namesIn(join(objects, folder))
      .filter(name => /^tmp_(?:pack|idx|obj)_/.test(name))
      .map(name => join(objects, folder, name)),
  );
}

/** Only Linux says where a process is; elsewhere nobody is taken to be there. */
function gitIsRunning(folders: readonly string[]): boolean {
  if (process.platform !== 'linux') return false;
  return readdirSync('/proc').some(pid => {
    try {
      if (!/^git/.test(readFileSync(`/proc/${Number(pid)}/comm`, 'utf8'))) return false;
      const cwd = readlinkSync(`/proc/${pid}/cwd`);
      return folders.some(folder => isReallyBelow(cwd, folder));
    } catch {
      return false; // no process, gone, or somebody else's
    }
  });
}
