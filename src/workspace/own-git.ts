/**
 * Ralph's look at the files of a work tree, through a git directory of its own. It runs nothing that the repository or the agent brings,
 * and it believes no flag of the user's index: `assume-unchanged`, `skip-worktree` and `.git/info/exclude` hide nothing from it.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { type Env, type Git, git as gitAt } from '../platform/git.ts';
import {
  asSnapshot,
  bringCommit,
  bringWhole,
  isKnown,
  type Source,
  type Without,
  writeTree,
} from './own-fetch.ts';
import {
  folderOf,
  type OwnFolder,
  type Pinned,
  prepareFolder,
  readAbsent,
  readPinned,
  writeAbsent,
} from './own-folder.ts';
import { checkout, createOwnIndex, type Filled, moveFiles, type Snapshot } from './own-index.ts';
import { type ChangedPath, commitTree, compareTrees, type NewCommit, patch } from './own-objects.ts';
import { findRepository, isRalphs, isUnderGit, NO_REPOSITORY, nearestGit, type Place } from './repository.ts';

export interface OwnGit {
  /** The top of the work tree, symbolic links resolved. */
  readonly top: string;
  /** `cwd` below `top`: empty, or ends with a slash. */
  readonly prefix: string;
  /** The repository as it was when the last run began, to be read only: no command that looks at files is safe with it. */
  readonly repository: Source;
  /** git on Ralph's own directory, with the work tree and the private index, in `cwd`. */
  readonly git: Git;
  /** git on the objects alone. */
  readonly objects: Git;
  /** A run begins: the settings and the commit of the repository count as they are now. Answers where it stands. */
  begin(): Promise<Start | Problem>;
  /** A name for the content of the whole work tree as it is now: the same content has the same name. */
  snapshot(options?: { readonly exclude?: readonly string[] }): Promise<Snapshot | Problem>;
  /** What differs from the commit that HEAD stands on now. */
  status(): Promise<OwnStatus | Problem>;
  /** The patch from one tree to another, or to the files as they are now. */
  diff(from: string, to?: string): Promise<string | Problem>;
  /** Paths that differ between two trees, each from the top. `exclude`: globs from `cwd`. */
  changedPaths(
    from: string,
    to: string,
    exclude?: readonly string[],
  ): Promise<readonly ChangedPath[] | Problem>;
  /** Files of a sparse checkout that were not there when the run began. */
  absent(): ReadonlySet<string>;
  /** The tree with these entries, as git's `--index-info` takes them, with one character for each byte. */
  writeTree(entries: readonly string[]): Promise<string | Problem>;
  /** The tree of a commit of the repository, fetched where it is not known yet; without one, of no commit at all. */
  treeOf(commit: string | undefined): Promise<string | Problem>;
  /** The tree without what no snapshot holds: Ralph's own folder, and submodules. */
  asSnapshot(tree: string): Promise<Without | Problem>;
  /** Makes a commit of the repository known with what it is built on, back to where the run began. */
  bring(commit: string): Promise<Problem | undefined>;
  /** The commit that HEAD of the repository stands on now, and its branch; undefined where there is none. */
  head(): Promise<Head>;
  /** Writes the files of a tree into a folder without any. */
  checkout(tree: string, folder: string, options?: Filled): Promise<Problem | undefined>;
  /** Makes the files of the work tree those of another tree; refused where they are not those of `from`. */
  moveFiles(from: string, to: string): Promise<Problem | undefined>;
  /** A commit in Ralph's own directory; nobody else sees it. */
  commitTree(commit: NewCommit): Promise<string | Problem>;
}

export interface Head {
  readonly commit?: string;
  readonly branch?: string;
}

export interface Start extends Head {
  readonly tree: string;
}

export interface OwnStatus extends Head, Snapshot {
  readonly entries: readonly ChangedPath[];
}

const opened = new Map<string, Promise<OwnGit | Problem>>();

/** One for each folder and process: a private index has one user at a time. */
export async function openOwnGit(place: Place): Promise<OwnGit | Problem> {
  const { cwd, env } = place;
  const key = `${cwd}\0${env.XDG_STATE_HOME}\0${env.HOME}\0${env.PATH}`;
  const before = opened.get(key);
  if (before) {
    const known = await before;
    if (!('what' in known) && existsSync(join(known.objects.cwd, 'objects'))) return known;
  }
  if (opened.get(key) === before) opened.set(key, open(place));
  return opened.get(key) ?? open(place);
}

async function open(place: Place): Promise<OwnGit | Problem> {
  const found = placeOf(place.cwd);
  if (!found) return notFound(place);
  const own = folderOf(found.top, place.env);
  const pinned = readPinned(own);
  const made = createOwnGit(place, { own, ...found, pinned });
  if (pinned) return made;
  const begun = await made.begin();
  return 'what' in begun ? begun : made;
}

/** By the nearest `.git`: git's own answer can be changed with `core.worktree`. */
function placeOf(cwd: string): { readonly top: string; readonly prefix: string } | undefined {
  const link = nearestGit(cwd);
  if (link === undefined) return undefined;
  const top = dirname(link);
  const below = relative(top, realpathSync(cwd));
  if (below.split(sep)[0] === '.git') return undefined;
  return { top, prefix: below === '' ? '' : `${below.split(sep).join('/')}/` };
}

async function notFound(place: Place): Promise<Problem> {
  const { cwd } = place;
  // Only a bare repository is found without a `.git`; to ask would cost a process for every look.
  if (existsSync(cwd) && !existsSync(join(cwd, 'HEAD')) && !isUnderGit(cwd)) return NO_REPOSITORY(cwd);
  const repository = await findRepository(place);
  return 'what' in repository ? repository : elsewhere(cwd, repository.top);
}

function elsewhere(where: string, top: string): Problem {
  const fix = '`git config --unset core.worktree` makes it the work tree again';
  return { where, what: `git takes ${top} for its work tree`, fix };
}

interface Parts {
  readonly own: OwnFolder;
  readonly top: string;
  readonly prefix: string;
  readonly pinned: Pinned | undefined;
}

function createOwnGit(place: Place, { own, top, prefix, pinned: known }: Parts): OwnGit {
  const { env } = place;
  let pinned = known;
  const index = createOwnIndex(own, top, prefix);
  const source = (): Source => sourceOf(top, env, pinned ?? unpinned(join(top, '.git')));
  const head = async (): Promise<Head> => headOf(source().git);
  const treeOf = (commit: string | undefined) => bringCommit(own, source(), commit);
  const pin = (now: Pinned) => {
    pinned = now;
  };
  const begin = () => beginAt(place, { own, top, index, head, treeOf, pin });
  const changedPaths: OwnGit['changedPaths'] = (from, to, exclude = []) => {
    const scope = exclude.map(glob => `:(exclude,top,glob)${prefix}${glob}`);
    return compareTrees(own.git, from, to, scope.length === 0 ? [] : ['--', ':/', ...scope]);
  };
  return {
    top,
    prefix,
    get repository() {
      return source();
    },
    git: index.git.at(join(top, prefix)),
    objects: own.git,
    begin,
    snapshot: options => index.snapshot(options?.exclude),
    async status() {
      const now = await head();
      const [tree, snapshot] = [await treeOf(now.commit), await index.snapshot()];
      if (typeof tree !== 'string') return tree;
      if ('what' in snapshot) return snapshot;
      const entries = await changedPaths(tree, snapshot.tree);
      if ('what' in entries) return entries;
      // What the commit has of Ralph's own folder is in no snapshot, and so it is not gone.
      return { ...now, ...snapshot, entries: entries.filter(({ path }) => !isRalphs(path)) };
    },
    async diff(from, to) {
      const now = to === undefined ? await index.snapshot() : { tree: to };
      return 'what' in now ? now : patch(own.git, from, now.tree);
    },
    changedPaths,
    absent: () => readAbsent(own),
    writeTree: entries => writeTree(own, entries),
    treeOf,
    asSnapshot: tree => asSnapshot(own, tree),
    head,
    checkout: (tree, folder, options) => checkout(own, tree, folder, options),
    bring: commit => bringWhole(own, source(), commit),
    moveFiles: (from, to) => moveFiles(own, top, from, to),
    commitTree: commit => commitTree(own.git, pinned, env, commit),
  };
}

interface Beginning {
  readonly own: OwnFolder;
  readonly top: string;
  readonly index: ReturnType<typeof createOwnIndex>;
  head(): Promise<Head>;
  treeOf(commit: string | undefined): Promise<string | Problem>;
  pin(pinned: Pinned): void;
}

async function beginAt(
  place: Place,
  { own, top, index, head, treeOf, pin }: Beginning,
): Promise<Start | Problem> {
  const repository = await findRepository(place);
  if ('what' in repository) return repository;
  if (realpathSync(repository.top) !== top) return elsewhere(top, repository.top);
  const prepared = await prepareFolder(own, repository, place.env);
  if ('what' in prepared) return prepared;
  pin(prepared);
  const now = await head();
  const tree = await treeOf(now.commit);
  if (typeof tree !== 'string') return tree;
  // Without its objects everything is hashed anew, so that what a file was is known later.
  const base = (await isKnown(own.git, now.commit)) ? tree : await treeOf(undefined);
  const missing = typeof base === 'string' ? await index.reset(base) : base;
  if ('what' in missing) return missing;
  writeAbsent(own, prepared.isSparse ? missing : []);
  return { ...now, tree };
}

function unpinned(gitDir: string) {
  return { gitDir, commonDir: gitDir, objects: join(gitDir, 'objects'), filters: [], remotes: [] };
}

/** The repository by its folders, not by what its files say of each other; no command on it may look at the work tree. */
function sourceOf(top: string, env: Env, pinned: Omit<Source, 'git'>): Source {
  const git = gitAt(top, env).with({
    GIT_DIR: pinned.gitDir,
    GIT_COMMON_DIR: pinned.commonDir,
    GIT_WORK_TREE: top,
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_GRAFT_FILE: '/dev/null',
  });
  return { ...pinned, git };
}

async function headOf(git: Git): Promise<Head> {
  const [commit, branch] = await Promise.all([
    git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']),
    git.run(['symbolic-ref', '--quiet', 'HEAD']),
  ]);
  return {
    ...(commit.code === 0 && { commit: commit.stdout.trim() }),
    ...(branch.code === 0 && { branch: branch.stdout.trim().replace(/^refs\/heads\//, '') }),
  };
}
