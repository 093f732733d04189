/** git's own lock on the index, when the process that held it was killed before it could take it away. */
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findRepository, type Place } from './repository.ts';

export interface Span {
  /** Milliseconds since 1970: when the dead run lived. */
  readonly from: number;
  readonly to: number;
}

/** A step of a run that was cut off may have gone on for a moment after its last word. */
const AFTER = 5_000;

/**
 * Removes the lock when it is from the time of the dead run and no git is at work here, and says so.
 * git writes nothing into it that would tell whose it is.
 */
export async function clearGitLock(place: Place, { from, to }: Span): Promise<string | undefined> {
  const repository = await findRepository(place);
  if ('what' in repository) return undefined;
  const lock = join(repository.gitDir, 'index.lock');
  const made = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (made === undefined) return undefined;
  if (made < from - 1000 || made > to + AFTER || gitIsAtWork(repository.top)) {
    return `${lock} is there, and it is not known to be this run's: remove it yourself if no git is running`;
  }
  rmSync(lock, { force: true });
  return `${lock} was left behind by a git that was killed: removed`;
}

/** Only Linux tells where a process is; elsewhere nobody is taken to be there. */
function gitIsAtWork(top: string): boolean {
  if (process.platform !== 'linux') return false;
  return readdirSync('/proc').some(pid => {
    try {
      if (!/^git/.test(readFileSync(`/proc/${Number(pid)}/comm`, 'utf8'))) return false;
      const cwd = readlinkSync(`/proc/${pid}/cwd`);
      return cwd === top || cwd.startsWith(`${top}/`);
    } catch {
      return false; // no process, gone, or somebody else's
    }
  });
}
