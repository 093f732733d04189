/**
 * Ralph's look at the files of a work tree, through a git directory of its own. It runs nothing that the repository or the agent brings,
 * and it believes no flag of the user's index: `assume-unchanged`, `skip-worktree` and `.git/info/exclude` hide nothing from it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { asSnapshot, bringWhole, listTree, type Source, writeTree } from './own-fetch.ts';
import { folderOf, type OwnFolder, type Pinned, readPinned, topIn } from './own-folder.ts';
import { checkout, createOwnIndex, type Snapshot } from './own-index.ts';
import {
  type ChangedPath,
  compareTrees,
  makeCommit,
  type NewCommit,
  patch,
  type TreeEntry,
  writeObject,
} from './own-objects.ts';
import {
  createStart,
  elsewhere,
  readBase,
  readStand,
  rememberTree,
  type Stand,
  type StartParts,
  writeStand,
} from './own-start.ts';
import type { Head } from './refs.ts';
import {
  findRepository,
  isRalphs,
  isUnderGit,
  noRepository,
  type Place,
  placeIn,
  type Repository,
} from './repository.ts';
import { changedSubmodule, fillSubmodules, moveSubmodules, type SubmodulesIn } from './submodules.ts';

export type OwnGit = Opened['own'];

export type { Start } from './own-start.ts';
export type { Head } from './refs.ts';

export interface OwnStatus extends Head, Snapshot {
  readonly entries: readonly ChangedPath[];
}

const opened = new Map<string, Promise<OwnGit | Problem>>();

/** One for each folder and process: a private index has one user at a time. `found`: the repository there, where it was just asked. */
export async function openOwnGit(place: Place, found?: Repository): Promise<OwnGit | Problem> {
  const { cwd, env } = place;
  const key = `${cwd}\0${env.XDG_STATE_HOME}\0${env.HOME}\0${env.PATH}`;
  const before = opened.get(key);
  if (before) {
    const known = await before;
    if (!('what' in known) && known.isThere()) return known;
  }
  if (opened.get(key) === before) opened.set(key, open(place, found));
  return opened.get(key) ?? open(place, found);
}

async function open(place: Place, repository: Repository | undefined): Promise<OwnGit | Problem> {
  const found = placeIn(place.cwd);
  if (!found) return notFound(place);
  const own = folderOf(found.top, place.env, found.prefix);
  const pinned = readPinned(own);
  const made = createOwnGit(place, { own, ...found, pinned });
  if (pinned) return made.own;
  const problem = await made.prepare(repository);
  return problem ?? made.own;
}

async function notFound(place: Place): Promise<Problem> {
  const { cwd } = place;
  // Only a bare repository is found without a `.git`; to ask would cost a process for every look.
  if (existsSync(cwd) && !existsSync(join(cwd, 'HEAD')) && !isUnderGit(cwd))
    return noRepository(cwd, place.env);
  const repository = await findRepository(place);
  return 'what' in repository ? repository : elsewhere(cwd, repository.top);
}

type Opened = ReturnType<typeof createOwnGit>;

function createOwnGit(place: Place, parts: StartParts) {
  const { own, top, prefix } = parts;
  const index = createOwnIndex(own, top, prefix);
  const { source, pinned, prepare, ...start } = createStart(place, parts, index);
  const changedPaths = createComparison(own, prefix);
  return {
    /** Makes the directory; the first `begin` asks the repository for nothing again. */
    prepare,
    own: {
      ...start,
      /** Nobody has removed what is kept of this work tree. */
      isThere: () => topIn(own.place) !== undefined && existsSync(join(own.path, 'objects')),
      /** The top of the work tree, symbolic links resolved. */
      top,
      /** `cwd` and the root of the project below `top`: each empty, or ends with a slash. */
      ...{ prefix, root: own.root },
      env: place.env,
      changedPaths,
      /** The repository as it was when the last run began, to be read only: no command that looks at files is safe with it. */
      get repository(): Source {
        return source();
      },
      /** git on Ralph's own directory, with the work tree and the private index, in `cwd`. */
      git: index.git.at(join(top, prefix)),
      /** git on the objects alone. */
      objects: own.git,
      seen: index.seen,
      /** What differs from the commit that HEAD stands on now. */
      status: () => statusOf(start, changedPaths, own.root),
      /** The patch from one tree to another. */
      diff: (from: string, to: string) => patch(own.git, from, to),
      /** What Ralph has put the work tree on; undefined: it did not, or in another place. */
      stand: (): Stand | undefined => readStand(own),
      setStand: (stand: Stand): void => writeStand(own, stand),
      /** Files of a sparse checkout that were not there when the run began. */
      absent: (): ReadonlySet<string> => new Set(readBase(own)?.absent),
      /** Every file of a tree or commit, or those whose lines are wanted. */
      listTree: (tree: string, isWanted?: (line: string) => boolean) => listTree(own.git, tree, isWanted),
      /** The tree `base`, or none, with these entries. */
      treeWith: (base: string | undefined, entries: readonly TreeEntry[]) => writeTree(own, base, entries),
      writeBlob: (content: Buffer) => writeObject(own, 'blob', content),
      /** The tree without what no snapshot holds: Ralph's own folder, and submodules. */
      asSnapshot: (tree: string, root = own.root) => asSnapshot({ ...own, root }, tree),
      /** Writes the files of a tree into a folder without any. */
      checkout: (tree: string, folder: string) => checkout(own, tree, folder),
      /** The same as the user would have it: sparse where the repository is, with the submodules that `links` names. */
      checkoutAll: (tree: string, folder: string, links = tree) =>
        checkoutAll({ own, tree: links, folder, env: place.env }, tree, source()),
      ...submodulesOf(tree => ({ own, tree, folder: top, env: place.env, gitDir: source().gitDir })),
      /** Makes a commit of the repository known with what it is built on, back to where the run began, or with all its history. */
      bring: (commit: string, isWhole?: boolean) => bringWhole(own, source(), commit, isWhole),
      /** Makes the files of the work tree those of another tree; refused where they are not those of `from`. */
      moveFiles: (from: string, to: string) => index.move({ from, to, absent: readBase(own)?.absent }),
      /** A commit in Ralph's own directory; nobody else sees it. */
      commit: (made: NewCommit) => commit(own, made, pinned(), place),
    },
  };
}

function submodulesOf(at: (tree: string) => Required<SubmodulesIn>) {
  return {
    changedSubmodule: (tree: string) => changedSubmodule(at(tree)),
    /** Those that stand on the commit that one tree names are put on the one that another names. */
    moveSubmodules: (from: string, to: string) => moveSubmodules(at(to), from),
  };
}

/** Paths that differ between two trees, given by their ids, each from the top. `exclude`: globs from `cwd`. */
function createComparison({ git }: StartParts['own'], prefix: string) {
  let last: { readonly key: string; readonly found: readonly ChangedPath[] | Problem } | undefined;
  return async (from: string, to: string, exclude: readonly string[] = []) => {
    const scope = exclude.map(glob => `:(exclude,top,glob)${prefix}${glob}`);
    const key = [from, to, ...scope].join('\0');
    // The end of a run asks the same twice. What an id stands for never changes; a problem may be over.
    if (last?.key !== key || 'what' in last.found) {
      const found = await compareTrees(git, from, to, scope.length === 0 ? [] : ['--', ':/', ...scope]);
      last = { key, found };
    }
    return last.found;
  };
}

async function commit(
  own: OwnFolder,
  made: NewCommit,
  pinned: Pinned | undefined,
  { env }: Place,
): Promise<string | Problem> {
  const name = await makeCommit(own.git, made, pinned, env);
  if (typeof name === 'string') rememberTree(own, name, made.tree);
  return name;
}

async function checkoutAll(
  where: SubmodulesIn,
  tree: string,
  { sparse }: Source,
): Promise<Problem | undefined> {
  return (await checkout(where.own, tree, where.folder, { sparse })) ?? fillSubmodules(where);
}

async function statusOf(
  { head, treeOf, snapshot }: Pick<ReturnType<typeof createStart>, 'head' | 'treeOf' | 'snapshot'>,
  changedPaths: (from: string, to: string) => ReturnType<typeof compareTrees>,
  root: string,
): Promise<OwnStatus | Problem> {
  const now = await head();
  const [tree, taken] = [await treeOf(now.commit), await snapshot()];
  if (typeof tree !== 'string') return tree;
  if ('what' in taken) return taken;
  const entries = await changedPaths(tree, taken.tree);
  if ('what' in entries) return entries;
  // What the commit has of Ralph's own folder is in no snapshot, and so it is not gone.
  return { ...now, ...taken, entries: entries.filter(({ path }) => !isRalphs(path, root)) };
}
