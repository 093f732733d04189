/** Brings commits of the repository into Ralph's own directory. What arrives is hashed anew: a forged object is not taken for another. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { readIfThere } from '../platform/files.ts';
import { complaint, type Git } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import type { OwnFolder } from './own-folder.ts';
import { isRalphs } from './repository.ts';

export interface Source {
  readonly git: Git;
  readonly gitDir: string;
  readonly commonDir: string;
  /** Where objects are kept, links resolved, when the run began. */
  readonly objects: string;
  /** Its remotes and what branches follow, when the run began. */
  readonly remotes: readonly (readonly [string, string])[];
  /** Filters of the user's, by name, that Ralph does not run: they change what is committed of a file. */
  readonly filters: readonly string[];
}

/** The tree of the commit, known in Ralph's own directory from now on; of no commit: the empty tree. */
export async function bringCommit(
  own: OwnFolder,
  source: Source,
  commit: string | undefined,
): Promise<string | Problem> {
  if (commit === undefined) return writeTree(own, []);
  const known = await treeIn(own.git, commit);
  if (known !== undefined) return known;
  await fetchCommit(own, source, commit, await depthOf(own, source, commit));
  return (await treeIn(own.git, commit)) ?? nameTree(own, source, commit);
}

/** Of all that came before only the first commit has no history here: what is built on it is brought as far back as that. */
async function depthOf(own: OwnFolder, source: Source, commit: string): Promise<readonly string[]> {
  const { stdout } = await own.git.run(['for-each-ref', '--count=1', 'refs/ralph']);
  const ends = endsOf(own);
  if (stdout === '') return ['--depth=1'];
  if (ends.length === 0) return [];
  for (const end of ends.slice(0, MOST_ENDS))
    if ((await source.git.run(['merge-base', '--is-ancestor', end, commit])).code === 0) return [];
  return ['--depth=1'];
}

const MOST_ENDS = 20;

/** Commits whose history is not here. */
function endsOf({ path }: OwnFolder): readonly string[] {
  return (readIfThere(join(path, 'shallow')) ?? '').split('\n').filter(Boolean);
}

/** Whether the commit is here with all that belongs to it. */
export async function isKnown(git: Git, commit: string | undefined): Promise<boolean> {
  return commit !== undefined && (await treeIn(git, commit)) !== undefined;
}

/** The same, and what it is built on, back to a commit that was fetched without its history. */
async function isWhole({ git }: OwnFolder, commit: string): Promise<boolean> {
  if (!(await isKnown(git, commit))) return false;
  return (await git.run(['rev-list', '--quiet', commit, '--'])).code === 0;
}

/** A commit with what it is built on. */
export async function bringWhole(
  own: OwnFolder,
  source: Source,
  commit: string,
): Promise<Problem | undefined> {
  const ends = endsOf(own);
  // That of the first commit is where it came from; another one that ends the history here stands beside it.
  const isCut = ends.length > 1 && ends.includes(commit);
  if (!isCut && (await isWhole(own, commit))) return undefined;
  const why = await fetchCommit(own, source, commit, isCut ? ['--depth=2147483647'] : []);
  return why === undefined ? undefined : { where: commit, what: `it cannot be read: ${why}` };
}

async function treeIn(git: Git, commit: string): Promise<string | undefined> {
  const { code, stdout } = await git.run(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`]);
  return code === 0 ? stdout.trim() : undefined;
}

/** Undefined when it has arrived; else why not. */
export async function fetchCommit(
  own: OwnFolder,
  { git, commonDir }: Source,
  commit: string,
  depth: readonly string[],
): Promise<string | undefined> {
  // What serves the objects reads the settings of the repository: it may start nothing to get at more of them.
  const serve = `GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL=none ${joinWords([git.program, '-c', 'safe.directory=*', 'upload-pack'])}`;
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
  const { code, records, errors } = await git.bytes(['ls-tree', '-r', '-z', '--full-tree', commit]);
  if (code !== 0) return { where: commit, what: `it cannot be read: ${complaint(errors, code)}` };
  return writeTree(own, records);
}

export interface Without {
  readonly tree: string;
  /** In Ralph's own folder. */
  readonly ours: readonly string[];
  readonly submodules: readonly string[];
}

/** Ralph's own folder and submodules are in no snapshot: a tree without what a commit has of them, and what that is. */
export async function asSnapshot(own: OwnFolder, tree: string): Promise<Without | Problem> {
  const { code, records, errors } = await own.git.bytes(['ls-tree', '-r', '-z', '--full-tree', tree]);
  if (code !== 0) return { where: tree, what: `it cannot be read: ${complaint(errors, code)}` };
  const pathOf = (record: string) => record.slice(record.indexOf('\t') + 1);
  const ours = records.map(pathOf).filter(isRalphs);
  const submodules = records.filter(record => record.startsWith('160000 ')).map(pathOf);
  const left = new Set([...ours, ...submodules]);
  if (left.size === 0) return { tree, ours, submodules };
  const others = await writeTree(
    own,
    records.filter(record => !left.has(pathOf(record))),
  );
  return typeof others === 'string' ? { tree: others, ours, submodules } : others;
}

/** The tree with these entries, as `ls-tree` lists them. Objects that are not here need not be. */
export async function writeTree(own: OwnFolder, entries: readonly string[]): Promise<string | Problem> {
  const index = `${own.path}/other.${process.pid}.${++count}`;
  const git = own.git.with({ GIT_INDEX_FILE: index });
  const failed = ({ code, errors }: { code: number; errors: string }): Problem => ({
    where: own.path,
    what: `git cannot write a tree: ${complaint(errors, code)}`,
  });
  try {
    const emptied = await git.list(['read-tree', '--empty']);
    if (emptied.code !== 0) return failed(emptied);
    const filled =
      entries.length > 0 ? await git.bytes(['update-index', '-z', '--index-info'], entries) : emptied;
    if (filled.code !== 0) return failed(filled);
    const { code, stdout, output } = await git.run(['write-tree', '--missing-ok']);
    return code === 0 ? stdout.trim() : failed({ code, errors: output });
  } finally {
    rmSync(index, { force: true });
  }
}

let count = 0;
