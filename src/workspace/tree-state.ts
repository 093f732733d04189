/** A short name for all that is in a work tree, so that a loop can tell that nothing has changed. */
import { createHash, type Hash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import type { Env } from '../platform/git.ts';
import { LARGE, type Place } from './repository.ts';
import { readStatus, type StatusEntry, type TreeStatus } from './tree-status.ts';

export interface TreeStateOptions extends Place {
  /** A status that was just read, to save another. */
  readonly status?: TreeStatus;
}

/** How much is read of changed files; beyond it their size and time stand for what is in them. */
const MOST_READ = 64 * LARGE;

/** HEAD, the index and the content of every file that differs from them. The same content written anew is no change. */
export async function treeState({ cwd, env, status }: TreeStateOptions): Promise<string | Problem> {
  const tree = status ?? (await readStatus({ cwd, env }));
  if ('what' in tree) return tree;
  const hash = createHash('sha256').update(tree.head);
  let left = MOST_READ;
  for (const entry of tree.entries) {
    hash.update(`\0${entry.words}\0${entry.path}\0`);
    left -= addContent(hash, join(tree.top, entry.path), left);
    if (isRepository(entry)) hash.update(await innerState(join(tree.top, entry.path), env));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Adds what identifies a file and says how much was read for it. */
function addContent(hash: Hash, path: string, left: number): number {
  try {
    const stat = lstatSync(path, { bigint: true });
    hash.update(`${stat.mode}\0`);
    if (stat.isSymbolicLink()) hash.update(readlinkSync(path));
    if (!stat.isFile()) return 0;
    const size = Number(stat.size);
    if (size > Math.min(LARGE, left)) hash.update(`${size} ${stat.mtimeNs}`);
    else hash.update(createHash('sha256').update(readFileSync(path)).digest());
    return size > left ? 0 : Math.min(size, LARGE);
  } catch {
    hash.update('unreadable'); // deleted, as a rule
    return 0;
  }
}

function isRepository(entry: StatusEntry): boolean {
  return entry.submodule || entry.path.endsWith('/');
}

/**
 * git says of a repository inside only that something is different there. A folder that has lost its own `.git`,
 * or a link, belongs to the repository around it, and looking there again would never end.
 */
async function innerState(cwd: string, env: Env): Promise<string> {
  const status = await readStatus({ cwd, env });
  if ('what' in status || status.top !== resolve(cwd)) return '';
  const state = await treeState({ cwd, env, status });
  return typeof state === 'string' ? state : '';
}
