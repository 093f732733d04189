/** Brings commits of the repository into Ralph's own directory. What arrives is hashed anew: a forged object is not taken for another. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { namesIn, readIfThere } from '../platform/files.ts';
import { complaint, type Git } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import type { OwnFolder, Pinned } from './own-folder.ts';
import {
  type Listed,
  objectName,
  readAll,
  readEntries,
  SUBMODULE,
  type TreeEntry,
  writeObject,
} from './own-objects.ts';
import { bringPartial } from './own-partial.ts';
import { type GitFolders, resolved } from './refs.ts';
import { isRalphsBytes } from './repository.ts';
import { treeWith } from './tree-with.ts';

/** The repository as it was when the run began. */
export interface Source
  extends GitFolders,
    Pick<
      Pinned,
      'top' | 'objects' | 'remotes' | 'filters' | 'smudging' | 'settings' | 'signing' | 'sparse'
    > {}

export interface Brought {
  readonly tree: string;
  /** The objects of the tree are here. */
  readonly isHere: boolean;
}

/** The tree of the commit, known in Ralph's own directory from now on; of no commit: the empty tree. */
export async function bringCommit(
  own: OwnFolder,
  source: Source,
  commit: string | undefined,
): Promise<Brought | Problem> {
  if (commit === undefined) return { tree: writeObject(own, 'tree', Buffer.alloc(0)), isHere: true };
  const known = isEmpty(own) ? undefined : await copyCommit(own, source, commit);
  if (known !== undefined) return { tree: known, isHere: true };
  await fetchCommit(own, source, commit, await depthOf(own, source, commit));
  const arrived = await treeIn(own.git, commit);
  if (arrived !== undefined) return { tree: arrived, isHere: true };
  const partial = await bringPartial(own, source, commit);
  if (partial) return partial;
  const named = await nameTree(own, source, commit);
  return typeof named === 'string' ? { tree: named, isHere: false } : named;
}

/** The tree of a commit of another repository, such as a submodule's; undefined: that does not have it. */
export async function bringTree(
  own: OwnFolder,
  source: GitFolders,
  commit: string,
): Promise<string | undefined> {
  const known = await treeIn(own.git, commit);
  if (known !== undefined) return known;
  await fetchCommit(own, source, commit, ['--depth=1']);
  return treeIn(own.git, commit);
}

/** No object is here yet: there is nothing to ask for. */
function isEmpty({ path }: OwnFolder): boolean {
  const below = ['objects', 'objects/pack'].flatMap(name => namesIn(join(path, name)));
  return below.every(name => name === 'info' || name === 'pack');
}

/**
 * A commit whose tree and parents are here is copied by itself. Its name is the hash of its content, and its content names the tree: what
 * hashes to that name is that commit, whoever wrote it.
 */
async function copyCommit(own: OwnFolder, source: Source, commit: string): Promise<string | undefined> {
  const content = await readAll(source.git, ['cat-file', 'commit', commit]);
  // One of Ralph's own may be here alone.
  if (!content || objectName(own, 'commit', content) !== commit) return treeIn(own.git, commit);
  const [header = ''] = content.toString('latin1').split('\n\n', 1);
  const tree = /^tree ([0-9a-f]+)$/m.exec(header)?.[1] ?? '';
  const parents = [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, name = '']) => name);
  const asked = ['cat-file', '--batch-check=%(objecttype)'];
  const answer = await readAll(own.git, asked, `${[commit, tree, ...parents].join('\n')}\n`);
  const [known, ...kinds] = String(answer).split('\n').slice(0, -1);
  if (known === 'commit') return tree;
  // Of a commit without parents nothing need be here.
  const isWhole = parents.length > 0 && kinds.join(' ') === `tree${' commit'.repeat(parents.length)}`;
  if (!isWhole) return undefined;
  writeObject(own, 'commit', content);
  return tree;
}

/** Of all that came before only the first commit has no history here: what is built on it is brought as far back as that. */
async function depthOf(own: OwnFolder, source: Source, commit: string): Promise<readonly string[]> {
  const isFirst =
    isEmpty(own) || (await own.git.run(['for-each-ref', '--count=1', 'refs/ralph'])).stdout === '';
  const ends = endsOf(own);
  if (isFirst || ends.length === 0) return isFirst ? ['--depth=1'] : [];
  // A git that was stopped has not said no.
  for (const end of ends.slice(0, MOST_ENDS))
    if ((await source.git.run(['merge-base', '--is-ancestor', end, commit])).code !== 1) return [];
  return ['--depth=1'];
}

const MOST_ENDS = 20;

/** Commits whose history is not here. */
function endsOf({ path }: OwnFolder): readonly string[] {
  return (readIfThere(join(path, 'shallow')) ?? '').split('\n').filter(Boolean);
}

/** A commit with what it is built on, back to a commit that was fetched without its history; `isWhole`: that history too. */
export async function bringWhole(
  own: OwnFolder,
  source: Source,
  commit: string,
  isWhole = false,
): Promise<Problem | undefined> {
  const ends = endsOf(own);
  if (isWhole) for (const end of ends) await fetchCommit(own, source, end, WHOLE);
  // That of the first commit is where it came from; another one that ends the history here stands beside it.
  const isCut = ends.length > 1 && ends.includes(commit);
  if (!isCut && (await isReadable(own, commit))) return undefined;
  const why = await fetchCommit(own, source, commit, isCut ? WHOLE : []);
  if (why !== undefined) return { where: commit, what: `it cannot be read: ${why}` };
  if (ends.length === 0) await isReadable(own, commit);
  return undefined;
}

/**
 * Whether all that it is built on is here. A fetch that was killed leaves its objects, and not always the list of those whose history ends
 * here: they are added to it.
 */
async function isReadable(own: OwnFolder, commit: string): Promise<boolean> {
  for (let tries = 0; ; tries++) {
    const { code, output } = await own.git.run(['rev-list', '--quiet', commit, '--']);
    const [, end] = /Failed to traverse parents of commit ([0-9a-f]{40,64})/.exec(output) ?? [];
    if (code === 0 || end === undefined || tries === MOST_ENDS) return code === 0;
    appendFileSync(join(own.path, 'shallow'), `${end}\n`);
  }
}

const WHOLE = ['--depth=2147483647'];

export function treeIn(git: Git, commit: string): Promise<string | undefined> {
  return resolved(git, `${commit}^{tree}`);
}

/** To look for what files have in common costs more than it saves on the way from one folder to another. */
const SERVED = ['safe.directory=*', 'pack.window=0', 'pack.compression=1'].flatMap(each => ['-c', each]);

/** Undefined when it has arrived; else why not. */
export async function fetchCommit(
  own: Pick<OwnFolder, 'git'>,
  { git, commonDir }: Pick<Source, 'git' | 'commonDir'>,
  commit: string,
  depth: readonly string[],
): Promise<string | undefined> {
  // What serves the objects reads the settings of the repository: it may start nothing to get at more of them.
  const serve = `GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL=none ${joinWords([git.program, ...SERVED, 'upload-pack'])}`;
  const flags = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', ...depth];
  const { code, output } = await own.git.run([
    // As one pack: written object by object, a fetch that was cut off would leave a commit without its files.
    ...['-c', 'fetch.unpackLimit=1'],
    'fetch',
    ...flags,
    `--upload-pack=${serve}`,
    commonDir,
    `${commit}:refs/ralph/${commit}`,
  ]);
  return code === 0 ? undefined : complaint(output, code);
}

/** A partial clone does not have every object: then the names of all files are enough for the name of the tree. */
async function nameTree(own: OwnFolder, { git }: Source, commit: string): Promise<string | Problem> {
  const listed = await listTree(git, commit);
  return 'what' in listed ? listed : writeTree(own, undefined, listed);
}

/** Every file of a tree or commit, or those whose lines are wanted. */
export async function listTree(
  git: Git,
  tree: string,
  isWanted?: (line: string) => boolean,
): Promise<readonly Listed[] | Problem> {
  const { code, records, errors } = await git.bytes(['ls-tree', '-r', '-z', '--full-tree', tree]);
  return code === 0
    ? readEntries(isWanted ? records.filter(isWanted) : records)
    : { where: tree, what: `it cannot be read: ${complaint(errors, code)}` };
}

export interface Without {
  readonly tree: string;
  /** In Ralph's own folder. */
  readonly ours: readonly string[];
  readonly submodules: readonly string[];
}

/** Ralph's own folder and submodules are in no snapshot: a tree without what a commit has of them, and what that is. */
export async function asSnapshot(
  own: OwnFolder,
  tree: string,
  absent: ReadonlySet<string> = new Set(),
): Promise<Without | Problem> {
  const isOurs = (bytes: string) => isRalphsBytes(bytes, own.root);
  const isAbsent = (bytes: string) =>
    absent.size > 0 && absent.has(Buffer.from(bytes, 'latin1').toString('utf8'));
  const left = await listTree(own.git, tree, line => {
    const bytes = line.slice(line.indexOf('\t') + 1);
    return line.startsWith(SUBMODULE) || isOurs(bytes) || isAbsent(bytes);
  });
  if ('what' in left) return left;
  const without = left.map(({ bytes }) => ({ bytes, after: undefined }));
  const others = await writeTree(own, tree, without);
  if (typeof others !== 'string') return others;
  const named = (some: readonly Listed[]) => some.map(({ bytes }) => bytes);
  const submodules = named(left.filter(({ after }) => after.mode === SUBMODULE));
  return { tree: others, ours: named(left).filter(isOurs), submodules };
}

/** The tree `base`, or none, with these entries. */
export function writeTree(
  own: OwnFolder,
  base: string | undefined,
  entries: readonly TreeEntry[],
): Promise<string | Problem> {
  return treeWith({ git: own.git, write: content => writeObject(own, 'tree', content) }, base, entries);
}
