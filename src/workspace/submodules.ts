/**
 * The files of submodules in a checkout of Ralph's own: from the repositories of theirs that the user has already, never over a network. What
 * is read of them is hashed anew, as everything of the repository is. One that the user has not checked out stays an empty folder.
 */
import { existsSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { ensureFolder, namesIn as filesIn, tryTo, writeWhole } from '../platform/files.ts';
import { complaint, git as gitAt } from '../platform/git.ts';
import { bringTree, listTree } from './own-fetch.ts';
import { type OwnFolder, type Pinned, readPinned } from './own-folder.ts';
import { checkout, moveFiles } from './own-index.ts';
import { type Blob, compareTrees, SUBMODULE } from './own-objects.ts';
import { type GitFolders, headOf } from './refs.ts';
import { TRUE_OBJECTS } from './repository.ts';
import { blockedAt } from './set-aside.ts';

export interface SubmodulesIn {
  readonly own: OwnFolder;
  /** The tree that names their commits. */
  readonly tree: string;
  /** Where it is checked out. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Makes each a repository in this git directory, so that an agent can work in it; undefined: only its files are there. */
  readonly gitDir?: string | undefined;
}

/** Returns why one of them cannot be filled. */
export async function fillSubmodules(where: SubmodulesIn): Promise<Problem | undefined> {
  const { own } = where;
  const known = [readPinned(own), readPinned({ path: own.path, place: own.path })];
  const roots = known.flatMap(pinned => (pinned ? rootsOf(pinned) : []));
  return fillFrom(where, [...new Set(roots)]);
}

/** Where git keeps the repositories of submodules. */
function rootsOf({ gitDir, commonDir, top }: Pinned): readonly string[] {
  return [join(gitDir, 'modules'), join(commonDir, 'modules'), top];
}

const submodulesIn = ({ git }: OwnFolder, tree: string) =>
  listTree(git, tree, line => line.startsWith(SUBMODULE));

async function fillFrom(where: SubmodulesIn, roots: readonly string[]): Promise<Problem | undefined> {
  const { own, tree, folder, gitDir } = where;
  const names = await namesIn(own, tree);
  if (names.size === 0) return undefined;
  const listed = await submodulesIn(own, tree);
  if (isProblem(listed)) return listed;
  for (const { bytes, after } of listed) {
    const path = Buffer.from(bytes, 'latin1').toString('utf8');
    const name = names.get(path);
    if (name === undefined || !isRoom(folder, path)) continue;
    const there = join(folder, path);
    // To git an empty one is not checked out, and one that is not there was deleted.
    mkdirSync(there, { recursive: true });
    const from = repositoryOf(roots, name, path);
    const inner = from && (await bringTree(own, sourceAt(from, where), after.oid));
    if (from === undefined || inner === undefined) continue;
    const made = gitDir === undefined ? undefined : join(gitDir, 'modules', name);
    const problem =
      (made && (await makeRepository(where, there, made, { from, commit: after.oid }))) ||
      (await checkout(own, inner, there, made === undefined ? {} : { index: join(made, 'index') })) ||
      (await fillFrom({ ...where, tree: inner, folder: there, gitDir: made }, [
        join(from, 'modules'),
        there,
      ]));
    if (problem) return problem;
  }
  return undefined;
}

/** By their paths. A name that would lead elsewhere is none. */
async function namesIn({ git }: OwnFolder, tree: string): Promise<ReadonlyMap<string, string>> {
  const asked = ['config', '-z', `--blob=${tree}:.gitmodules`, '--get-regexp', '^submodule\\..*\\.path$'];
  const { code, records } = await git.list(asked);
  const found = code === 0 ? records : [];
  return new Map(
    found.flatMap(record => {
      const [, name = '', path = ''] = /^submodule\.([\s\S]*)\.path\n([\s\S]*)$/.exec(record) ?? [];
      return isPlain(name) && isPlain(path) ? [[path, name] as const] : [];
    }),
  );
}

function isPlain(name: string): boolean {
  return name !== '' && name.split('/').every(part => part !== '' && part !== '.' && part !== '..');
}

/** A submodule of old has its repository in its own folder. */
function repositoryOf(roots: readonly string[], name: string, path: string): string | undefined {
  const places = roots.flatMap(root => [join(root, name), join(root, path, '.git')]);
  return places.find(place => existsSync(join(place, 'objects')));
}

/** Nothing leads out of the folder, and nothing is there yet. */
function isRoom(folder: string, path: string): boolean {
  if (blockedAt(folder, path) !== undefined) return false;
  const stat = tryTo(() => lstatSync(join(folder, path), { throwIfNoEntry: false }));
  return (stat === undefined || stat.isDirectory()) && !existsSync(join(folder, path, '.git'));
}

/** Its settings may be an agent's: they start nothing that gets at more objects. */
function sourceAt(gitDir: string, { env }: SubmodulesIn): GitFolders {
  const git = gitAt(gitDir, env).with({ GIT_DIR: gitDir, GIT_ALLOW_PROTOCOL: 'none', ...TRUE_OBJECTS });
  return { git, gitDir, commonDir: gitDir };
}

/** As `git submodule update` makes it, with the objects of the user's repository by reference; nothing of that one is run. */
async function makeRepository(
  { env }: SubmodulesIn,
  folder: string,
  gitDir: string,
  { from, commit }: { readonly from: string; readonly commit: string },
): Promise<Problem | undefined> {
  ensureFolder(join(gitDir, '..'));
  const format = commit.length === 64 ? 'sha256' : 'sha1';
  const git = gitAt(folder, env);
  const flags = ['--quiet', '--template=', `--object-format=${format}`, '--separate-git-dir', gitDir];
  const made = await git.run(['init', ...flags, folder]);
  if (made.code !== 0)
    return {
      where: folder,
      what: `the submodule cannot be made: ${complaint(made.output, made.code)}`,
    };
  ensureFolder(join(gitDir, 'objects/info'));
  writeWhole(join(gitDir, 'objects/info/alternates'), `${join(from, 'objects')}\n`);
  writeWhole(join(gitDir, 'HEAD'), `${commit}\n`);
  return undefined;
}

/**
 * Those that stand where the tree `from` has them are put where `tree` has them: an agent that adds all files would take back what has landed,
 * and would decide a conflict that nobody has looked at.
 */
export async function moveSubmodules(
  where: Required<SubmodulesIn>,
  from: string,
): Promise<Problem | undefined> {
  const { own, tree, folder, gitDir } = where;
  const changes = await compareTrees(own.git, from, tree, []);
  if (isProblem(changes)) return changes;
  const links = changes.filter(({ before, after }) => isLink(before) || isLink(after));
  if (links.length === 0) return undefined;
  const names = await namesIn(own, from);
  for (const { path, before, after } of links) {
    const name = names.get(path);
    if (!before || name === undefined || !existsSync(join(folder, path, '.git'))) continue;
    // A link would lead to a repository that is nobody's submodule.
    const at = gitDir ?? folder;
    if (blockedAt(folder, `${path}/.git`) ?? blockedAt(at, `modules/${name}/HEAD`)) continue;
    const [there, made] = [join(folder, path), join(at, 'modules', name)];
    const source = sourceAt(made, where);
    if ((await headOf(source)).commit !== before.oid) continue;
    if (after && isLink(after)) {
      const problem = await moveTo(own, there, source, [before.oid, after.oid]);
      if (problem) return problem;
    } else if (!holdsObjects(made) && !(await differs(own, before.oid, there)))
      for (const gone of [there, made]) rmSync(gone, { recursive: true, force: true });
  }
  return fillSubmodules(where);
}

function isLink(entry: Blob | undefined): boolean {
  return entry?.mode === SUBMODULE;
}

async function moveTo(
  own: OwnFolder,
  there: string,
  source: GitFolders,
  [before, after]: readonly [string, string],
): Promise<Problem | undefined> {
  const [from, to] = [await bringTree(own, source, before), await bringTree(own, source, after)];
  if (from === undefined || to === undefined)
    return { where: there, what: `the submodule does not have the commit ${after}, which has landed` };
  // Cut off behind its files, they are there already.
  const moved = (await differs(own, after, there)) ? await moveFiles(own, there, { from, to }) : undefined;
  if (moved) return moved;
  // git would follow links that an agent has put there: to the index, and to the log of HEAD.
  writeWhole(join(source.gitDir, 'HEAD'), `${after}\n`);
  rmSync(join(source.gitDir, 'index'), { force: true });
  return source.git.order(['read-tree', after], there);
}

/** The first in a worktree of Ralph's that holds something which is nowhere else: commits, or files that differ from its commit. */
export async function changedSubmodule({
  own,
  tree,
  folder,
  gitDir,
}: Omit<Required<SubmodulesIn>, 'env'>): Promise<string | undefined> {
  const names = await namesIn(own, tree);
  const listed = names.size === 0 ? [] : await submodulesIn(own, tree);
  if (isProblem(listed)) return undefined;
  for (const { bytes, after } of listed) {
    const path = Buffer.from(bytes, 'latin1').toString('utf8');
    const there = join(folder, path);
    if (!existsSync(join(there, '.git'))) continue;
    const made = join(gitDir ?? folder, 'modules', names.get(path) ?? path);
    if (holdsObjects(made) || (await differs(own, after.oid, there))) return path;
  }
  return undefined;
}

/** Those of the user's repository are there by reference. */
function holdsObjects(gitDir: string): boolean {
  const below = ['objects', 'objects/pack'].flatMap(name => filesIn(join(gitDir, name)));
  return below.some(name => name !== 'info' && name !== 'pack');
}

/** By Ralph's own settings: those of the submodule are the agent's to write. */
async function differs(own: OwnFolder, commit: string, folder: string): Promise<boolean> {
  const index = join(own.path, `other.${process.pid}.submodule-${++count}`);
  const git = own.git.at(folder).with({ GIT_WORK_TREE: folder, GIT_INDEX_FILE: index });
  try {
    if ((await git.run(['read-tree', commit])).code !== 0) return true;
    const { code, records } = await git.list(['ls-files', '-z', '-m', '-d', '-o', '--exclude-standard']);
    return code !== 0 || records.length > 0;
  } finally {
    rmSync(index, { force: true });
  }
}

let count = 0;
