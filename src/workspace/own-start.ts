/** Where a run begins in a repository: what is believed of it from then on, and the private index that begins with its commit. */
import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { readIfThere, tryTo, writeWhole } from '../platform/files.ts';
import { type Env, git as gitAt } from '../platform/git.ts';
import { asSnapshot, type Brought, bringCommit, listTree, type Source } from './own-fetch.ts';
import {
  type Configured,
  type OwnFolder,
  type Pinned,
  prepareFolder,
  readSettings,
  tidy,
} from './own-folder.ts';
import { checkout, type Filled, type OwnIndex, type Snapshot } from './own-index.ts';
import { type Head, headOf } from './refs.ts';
import { findRepository, type Place, type Repository, TRUE_OBJECTS } from './repository.ts';
import { fillSubmodules } from './submodules.ts';

export interface Start extends Head {
  readonly tree: string;
}

/** What the private index began with. */
interface Base extends Brought {
  /** undefined: before the first commit. */
  readonly commit?: string | undefined;
  /** Its tree as the index has it: without what no snapshot holds; empty where the objects of the commit are not here. */
  readonly files: string;
  /** Files of a sparse checkout that were not there. */
  readonly absent: readonly string[];
  /** The root of the project that it was made for; absent: the top. */
  readonly root?: string;
}

const BASE = 'base.json';

function writeBase({ place }: OwnFolder, base: Base): void {
  writeWhole(join(place, BASE), JSON.stringify(base));
}

export function readBase({ place }: OwnFolder): Base | undefined {
  return tryTo(() => JSON.parse(readIfThere(join(place, BASE)) ?? 'null')) ?? undefined;
}

/** What Ralph itself put a worktree of a lane on: the agent can move every ref of the repository, and not this. */
export interface Stand {
  readonly commit: string;
  /** What is in it of what has landed. */
  readonly landed: string;
}

const STAND = 'stand.json';

export function writeStand({ place }: OwnFolder, stand: Stand): void {
  writeWhole(join(place, STAND), JSON.stringify(stand));
}

export function readStand({ place }: OwnFolder): Stand | undefined {
  return tryTo(() => JSON.parse(readIfThere(join(place, STAND)) ?? 'null')) ?? undefined;
}

export interface StartParts {
  readonly own: OwnFolder;
  readonly top: string;
  readonly prefix: string;
  readonly pinned: Pinned | undefined;
}

export function elsewhere(where: string, top: string): Problem {
  const fix = '`git config --unset core.worktree` makes it the work tree again';
  return { where, what: `git takes ${top} for its work tree`, fix };
}

/** What the repository was when the run began, and the private index, which begins with that. */
export function createStart(place: Place, { own, top, pinned: known }: StartParts, index: OwnIndex) {
  // A directory that is made anew has nothing.
  if (!known && own.path === own.place) TREES.delete(own.path);
  let pinned = known;
  let asked: Configured | undefined;
  const sourceFor = rememberSource(top, place.env);
  const source = (): Source => {
    if (!pinned) throw new Error(`${own.path} is not prepared`);
    return sourceFor(pinned);
  };
  const head = (): Promise<Head> => headOf(source());
  const bring = rememberTrees(own, known && readBase(own), commit => bringCommit(own, source(), commit));
  const prepare = async (found?: Repository): Promise<Configured | Problem> => {
    const repository = asked ?? (await configuredAt(place, { own, top }, found));
    if ('what' in repository) return repository;
    const now = await prepareFolder(own, repository, place.env);
    if ('what' in now) return now;
    pinned = now;
    return repository;
  };
  const start = async (now: Head): Promise<Start | Problem> => {
    const base = await setIndex({ own, index, bring, pinned }, now.commit);
    return 'what' in base ? base : { ...now, tree: base.tree };
  };
  return {
    pinned: () => pinned,
    source,
    /** The commit that HEAD of the repository stands on now, and its branch; undefined where there is none. */
    head,
    /** The tree of a commit of the repository, fetched where it is not known yet; without one, of no commit at all. */
    async treeOf(commit: string | undefined): Promise<string | Problem> {
      const brought = await bring(commit);
      return 'what' in brought ? brought : brought.tree;
    },
    async prepare(given: Repository | undefined): Promise<Problem | undefined> {
      const found = await prepare(given);
      if ('what' in found) return found;
      asked = found;
      return undefined;
    },
    /** A run begins: the settings and the commit of the repository count as they are now. Returns where it stands. */
    async begin(): Promise<Start | Problem> {
      const found = await prepare();
      if ('what' in found) return found;
      asked = undefined;
      await tidy(own);
      return start(await head());
    },
    /** A name for the content of the whole work tree as it is now: the same content has the same name. */
    async snapshot(options?: { readonly exclude?: readonly string[] }): Promise<Snapshot | Problem> {
      const begun = index.isThere() ? undefined : await start(await head());
      return begun && 'what' in begun ? begun : index.snapshot(options?.exclude);
    },
    /** Writes the files of the commit of a work tree that is still empty; `index`: where the repository wants its own. */
    fill: (
      commit: string | undefined,
      options: Filled & { readonly index: string },
    ): Promise<Problem | undefined> => fill(commit, options, { own, top, index, bring, env: place.env }),
  };
}

async function fill(
  commit: string | undefined,
  options: Filled & { readonly index: string },
  { bring, env, ...parts }: FillParts & { readonly bring: Bring; readonly env: Env },
): Promise<Problem | undefined> {
  const { own, top } = parts;
  const base = await baseOf(own, bring, commit);
  if ('what' in base) return base;
  const problem = await fillFrom(base, parts, options);
  if (problem || base.tree === base.files) return problem;
  return fillSubmodules({ own, tree: base.tree, folder: top, env, gitDir: dirname(options.index) });
}

type FillParts = Pick<StartParts, 'own' | 'top'> & { readonly index: OwnIndex };

async function fillFrom(
  base: Base,
  { own, top, index }: FillParts,
  options: Filled & { readonly index: string },
): Promise<Problem | undefined> {
  const problem = await checkout(own, base.tree, top, options);
  if (problem || base.files !== base.tree || options.sparse !== undefined) return problem;
  index.adopt(options.index, base.files);
  writeBase(own, base);
  return undefined;
}

type Known = Brought & Partial<Pick<Base, 'files' | 'root'>>;
type Bring = (commit: string | undefined) => Promise<Known | Problem>;

/** A commit never gets another tree, and nobody takes objects out of Ralph's own directory. By directory: lanes share one. */
const TREES = new Map<string, Map<string | undefined, Known>>();

function rememberTrees({ path }: OwnFolder, base: Base | undefined, bring: Bring): Bring {
  const known = TREES.get(path) ?? new Map();
  TREES.set(path, known);
  if (base) known.set(base.commit, base);
  return async commit => {
    const brought = known.get(commit) ?? (await bring(commit));
    if (!('what' in brought)) known.set(commit, brought);
    return brought;
  };
}

/** One that was made here need not be looked at. */
export function rememberTree({ path }: OwnFolder, commit: string, tree: string): void {
  TREES.get(path)?.set(commit, { tree, isHere: true });
}

async function configuredAt(
  place: Place,
  { own, top }: Pick<StartParts, 'own' | 'top'>,
  found: Repository | undefined,
): Promise<Configured | Problem> {
  const repository = found ?? (await findRepository(place));
  if ('what' in repository) return repository;
  if (realpathSync(repository.top) !== top) return elsewhere(top, repository.top);
  return { ...repository, settings: own.path === own.place ? await readSettings(repository) : [] };
}

interface Beginning {
  readonly own: OwnFolder;
  readonly index: OwnIndex;
  readonly pinned: Pinned | undefined;
  readonly bring: Bring;
}

/** The index begins with the files of this commit. What is known of it since the last run is not asked again. */
async function setIndex(
  { own, index, bring, pinned }: Beginning,
  commit: string | undefined,
): Promise<Base | Problem> {
  const before = readBase(own);
  const isSame = before !== undefined && before.commit === commit && (before.root ?? '') === own.root;
  const base = isSame ? before : await baseOf(own, bring, commit);
  if ('what' in base) return base;
  const problem = await index.reset(base.files, isSame);
  if (problem) return problem;
  const absent = pinned?.isSparse ? await absentOf({ own, index, pinned }, base) : [];
  if ('what' in absent) return absent;
  if (!isSame || absent.length + before.absent.length > 0) writeBase(own, { ...base, absent });
  return base;
}

/** Where the objects are not here, the index began empty: then the names say what should be there. */
async function absentOf(
  { own, index, pinned }: Pick<Beginning, 'own' | 'index'> & { readonly pinned: Pinned },
  base: Base,
): Promise<readonly string[] | Problem> {
  if (base.isHere) return index.missing();
  const listed = await listTree(own.git, base.tree);
  if ('what' in listed) return listed;
  const paths = listed.map(({ bytes }) => Buffer.from(bytes, 'latin1').toString('utf8'));
  return paths.filter(path => !tryTo(() => lstatSync(join(pinned.top, path), { throwIfNoEntry: false })));
}

async function baseOf(own: OwnFolder, bring: Bring, commit: string | undefined): Promise<Base | Problem> {
  const brought = await bring(commit);
  if ('what' in brought) return brought;
  const { tree, isHere } = brought;
  const isKnown = brought.files !== undefined && (brought.root ?? '') === own.root;
  const files = isKnown ? brought.files : await filesOf(own, bring, brought);
  if (typeof files !== 'string') return files;
  const base = { tree, isHere, commit, files, absent: [], root: own.root };
  TREES.get(own.path)?.set(commit, base);
  return base;
}

async function filesOf(own: OwnFolder, bring: Bring, { tree, isHere }: Brought): Promise<string | Problem> {
  // Without its objects everything is hashed anew, so that what a file was is known later.
  const files = await (isHere ? asSnapshot(own, tree) : bring(undefined));
  return 'what' in files ? files : files.tree;
}

/** What is pinned changes when a run begins, and is asked for all the time. */
function rememberSource(top: string, env: Env) {
  let last: { readonly of: Pinned; readonly source: Source } | undefined;
  return (pinned: Pinned): Source => {
    if (last?.of !== pinned) last = { of: pinned, source: sourceOf(top, env, pinned) };
    return last.source;
  };
}

/** The repository by its folders, not by what its files say of each other; no command on it may look at the work tree. */
function sourceOf(top: string, env: Env, pinned: Omit<Source, 'git'>): Source {
  const git = gitAt(top, env).with({
    GIT_DIR: pinned.gitDir,
    GIT_COMMON_DIR: pinned.commonDir,
    GIT_WORK_TREE: top,
    ...TRUE_OBJECTS,
  });
  return { ...pinned, git };
}
