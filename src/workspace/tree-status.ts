/** A name for what the files are now: the commit they stand on, and the content of every one of them. */
import { createHash, type Hash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import { type OwnGit, openOwnGit } from './own-git.ts';
import type { Snapshot } from './own-index.ts';
import { LARGE, type Place } from './repository.ts';

export interface TreeStatus extends Snapshot {
  readonly own: OwnGit;
  /** The commit; undefined before the first one. */
  readonly head: string | undefined;
  readonly branch: string | undefined;
}

export interface StatusOptions extends Place {
  /** What the files are, where that is known. */
  readonly snapshot?: Snapshot;
}

export async function readStatus({ snapshot, ...place }: StatusOptions): Promise<TreeStatus | Problem> {
  const own = await openOwnGit(place);
  if (isProblem(own)) return own;
  const [taken, { commit, branch }] = await Promise.all([snapshot ?? own.snapshot(), own.head()]);
  return isProblem(taken) ? taken : { ...taken, own, head: commit, branch };
}

export interface TreeStateOptions extends Place {
  /** A status that was just read, to save another. */
  readonly status?: TreeStatus;
}

/** The same content written anew is no change. */
export async function treeState({ cwd, env, status }: TreeStateOptions): Promise<string | Problem> {
  const now = status ?? (await readStatus({ cwd, env }));
  if (isProblem(now)) return now;
  const hash = createHash('sha256').update(`${now.head ?? ''} ${now.tree}`);
  const budget = { entries: MOST_ENTRIES, bytes: MOST_READ };
  for (const { path } of now.skipped) addFile(hash, join(now.own.top, path), { entries: 1, bytes: 0 });
  for (const path of now.nested) addFolder(hash, join(now.own.top, path), budget);
  return hash.digest('hex').slice(0, 16);
}

/** How much is looked at in repositories inside of this one; what is beyond does not count. */
const MOST_ENTRIES = 20_000;
const MOST_READ = 64 * LARGE;

interface Budget {
  entries: number;
  bytes: number;
}

/** Read by us: git would run what the settings of that repository say. */
function addFolder(hash: Hash, folder: string, budget: Budget): void {
  for (const name of (tryTo(() => readdirSync(folder)) ?? []).sort()) {
    if (name === '.git' || budget.entries-- <= 0) continue;
    hash.update(`\0${name}\0`);
    if (addFile(hash, join(folder, name), budget)) addFolder(hash, join(folder, name), budget);
  }
}

/** Returns whether it is a folder. */
function addFile(hash: Hash, path: string, budget: Budget): boolean {
  return (
    tryTo(() => {
      const stat = lstatSync(path, { bigint: true });
      hash.update(`${stat.mode}\0`);
      if (stat.isSymbolicLink()) hash.update(readlinkSync(path));
      if (!stat.isFile()) return stat.isDirectory();
      const size = Number(stat.size);
      if (size > Math.min(LARGE, budget.bytes)) hash.update(`${size} ${stat.mtimeNs}`);
      else {
        hash.update(createHash('sha256').update(readFileSync(path)).digest());
        budget.bytes -= size;
      }
      return false;
    }) ?? false
  );
}
