/** What is in a work tree and git never lists: folders without a file in them or that cannot be read, and what is neither a file nor a link. */
import { type Dirent, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCode } from '../platform/error-words.ts';
import { listOthers } from './hidden-files.ts';
import type { OwnGit } from './own-git.ts';
import { isRalphs } from './repository.ts';

export interface Unlisted {
  /** From the top; of folders in each other the outer one. */
  readonly empty: readonly string[];
  /** Named pipes, sockets and devices, and folders that cannot be read: git passes over them. */
  readonly odd: readonly string[];
}

/** Without what is ignored. `others`: what `listOthers` gave, where somebody has asked. */
export async function findUnlisted(
  tree: Pick<OwnGit, 'git' | 'top' | 'root'>,
  others?: readonly string[],
): Promise<Unlisted> {
  const isMeant = (path: string) => path.endsWith('/') && !isRalphs(path, tree.root);
  const folders = (others ?? (await listOthers(tree))).filter(isMeant);
  const found = { empty: [] as string[], odd: [] as string[] };
  look({ top: tree.top, root: tree.root, passedBy: await ignoredIn(tree, folders, NO_INDEX), ...found }, '');
  const ignored = await ignoredIn(tree, [...found.empty.map(path => `${path}/`), ...found.odd], NO_INDEX);
  return {
    empty: found.empty.filter(path => !ignored.has(`${path}/`)),
    odd: found.odd.filter(path => !ignored.has(path)),
  };
}

const NO_INDEX = ['--no-index'];

/** Those of them that git ignores; what its index has is not, unless that is not asked. */
export async function ignoredIn(
  { git, top }: Pick<OwnGit, 'git' | 'top'>,
  paths: readonly string[],
  how: readonly string[] = [],
): Promise<ReadonlySet<string>> {
  if (paths.length === 0) return new Set();
  const flags = ['check-ignore', ...how, '-z', '--stdin'];
  // No name is taken for one of git's patterns.
  const { records } = await git.at(top).list(
    flags,
    paths.map(path => `./${path}`),
  );
  return new Set(records.map(path => path.slice(2)));
}

interface Look extends Unlisted {
  readonly top: string;
  readonly root: string;
  readonly passedBy: ReadonlySet<string>;
  readonly empty: string[];
  readonly odd: string[];
}

/** Returns whether there is something below it that git lists or ignores. `folder`: '', or ends with a slash. */
function look(into: Look, folder: string): boolean {
  const entries = entriesIn(join(into.top, folder));
  if (!entries) {
    const closed = reachable(folder.slice(0, -1));
    if (folder !== '' && !into.odd.includes(closed)) into.odd.push(closed);
    return true;
  }
  const empty: string[] = [];
  let isFull = false;
  for (const entry of entries) {
    const path = `${folder}${entry.name}`;
    // These names stand for nothing: git passes over them whether there is a repository or not.
    if (entry.name === '.git' || isRalphs(path, into.root)) continue;
    if (!entry.isDirectory()) {
      if (isOdd(entry)) into.odd.push(path);
      else isFull = true;
    } else if (into.passedBy.has(`${path}/`) || look(into, `${path}/`)) isFull = true;
    else empty.push(path);
  }
  if (isFull || folder === '') into.empty.push(...empty);
  return isFull;
}

/** undefined: nobody can say, for who may not read it or because its path is too long. */
function entriesIn(path: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? [] : undefined; // it has gone meanwhile
  }
}

/** Bytes. What lies deeper can be seen, but neither moved nor named. */
const DEEPEST = 2_048;

function reachable(path: string): string {
  let at = path;
  while (Buffer.byteLength(at) > DEEPEST) at = dirname(at);
  return at;
}

function isOdd(entry: Dirent): boolean {
  return !entry.isFile() && !entry.isSymbolicLink();
}
