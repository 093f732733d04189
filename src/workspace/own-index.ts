/** The private index of Ralph's own git directory: what the files of the work tree are, by content. One user at a time. */
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { timesTell } from '../platform/disk.ts';
import { ensureFolder, readIfThere, tryTo, writeWhole } from '../platform/files.ts';
import { complaint, type Git, type Listed } from '../platform/git.ts';
import { createTurns } from '../platform/in-turn.ts';
import { asSnapshot } from './own-fetch.ts';
import type { OwnFolder } from './own-folder.ts';
import { createRecentFiles, type RecentFiles } from './recent-files.ts';
import { isRalphsBytes } from './repository.ts';
import { blockedAt } from './set-aside.ts';

export interface Snapshot {
  /** The name of a git tree in Ralph's own directory. */
  readonly tree: string;
  /** Repositories inside of this one, each with a slash at its end. They are not entered and not part of the tree. */
  readonly nested: readonly string[];
  /** Files that cannot be read, are too large to be kept, or have a name that git refuses: not part of the tree as they are now. */
  readonly skipped: readonly Skipped[];
}

export interface Skipped {
  readonly path: string;
  readonly isNew: boolean;
}

/** A larger file is not copied into the state folder. */
const MOST_BYTES = 100 * 1024 * 1024;

export type OwnIndex = ReturnType<typeof createOwnIndex>;

export function createOwnIndex(own: OwnFolder, top: string, prefix: string) {
  const file = join(own.place, `index.${process.pid}.${++count}`);
  const git = own.git.at(top).with({ GIT_WORK_TREE: top, GIT_INDEX_FILE: file });
  const recent = createRecentFiles(top);
  const index: Index = { git, top, root: own.root, file, shared: join(own.place, 'index'), recent };
  let last: { readonly tree: string; readonly scope: string } | undefined;
  let looked: Snapshot | undefined;
  const inTurn = createTurns();
  return {
    git,
    /** Whether anybody has filled it yet. */
    isThere: () => existsSync(file) || existsSync(index.shared),
    /** The files are compared with this tree from now on. `isSame`: the last run was begun with it, too. */
    reset: (tree: string, isSame: boolean) =>
      inTurn(async () => {
        last = undefined;
        copyIn(index);
        const problem = treeOf(index) === tree ? undefined : await reset(index, tree, isSame);
        // As long as no file differs from it, there is nothing to write.
        if (!problem) last = { tree, scope: '' };
        return problem;
      }),
    /** Of the tree that it was set to, those that are not there. */
    missing: () =>
      inTurn(async () => {
        const missing = await git.list(['ls-files', '-d', '-z']);
        return missing.code === 0 ? missing.records : failed(index, missing);
      }),
    /** Takes over an index that was written together with the files of this tree. */
    adopt(from: string, tree: string): void {
      for (const name of [file, index.shared]) rmSync(name, { force: true });
      copyFileSync(from, index.shared);
      noteTree(index, index.shared, tree);
    },
    /** `exclude`: globs from where the agent works. */
    snapshot: (exclude: readonly string[] = []) =>
      inTurn(async (): Promise<Snapshot | Problem> => {
        const globs = exclude.map(glob => `:(exclude,top,glob)${prefix}${glob}`);
        const scope = globs.length === 0 ? [] : ['--', ':/', ...globs];
        const found = await takeIn(index, scope);
        if ('what' in found) return found;
        const { changed, ...snapshot } = found;
        const isSame = !changed && last?.scope === scope.join('\0');
        const tree = isSame && last ? last.tree : await writeTree(index);
        if (typeof tree !== 'string') return tree;
        last = { tree, scope: scope.join('\0') };
        looked = { tree, ...snapshot };
        return looked;
      }),
    /** Makes the files of the work tree those of another tree; refused where they are not those of `from`. */
    move: (asked: Move) =>
      inTurn(() => moveFiles(own, top, asked, looked?.tree === asked.from ? file : undefined)),
    /** The last look, if it gave this tree. */
    seen: (tree: string): Snapshot | undefined => (looked?.tree === tree ? looked : undefined),
  };
}

interface Index {
  readonly git: Git;
  readonly top: string;
  readonly root: string;
  /** Of this process alone. */
  readonly file: string;
  /** What the next process begins with. */
  readonly shared: string;
  readonly recent: RecentFiles;
}

/** By another name for the same file: git never changes an index in place, it puts a new one there. */
function copyIn({ file, shared }: Index): void {
  if (!existsSync(file) && existsSync(shared)) linkSync(shared, file);
}

function copyOut(index: Index, tree: string): void {
  const { file, shared } = index;
  tryTo(() => {
    linkSync(file, `${file}.new`);
    renameSync(`${file}.new`, shared);
    noteTree(index, file, tree);
  });
  rmSync(`${file}.new`, { force: true }); // where both are the same file, it is not renamed
}

/** Which tree is in an index that others begin with: one that has it already need not be written again. */
function noteTree({ shared }: Index, file: string, tree: string): void {
  writeWhole(`${shared}-tree`, `${tree} ${markOf(file)}`);
}

function treeOf({ file, shared }: Index): string | undefined {
  const [tree, mark] = (readIfThere(`${shared}-tree`) ?? '').split(' ');
  return existsSync(file) && mark === markOf(file) ? tree : undefined;
}

/** With its own hash, which stands at its end, as the hash of an index that holds something else would. */
function markOf(index: string): string {
  return readFileSync(index).subarray(-20).toString('hex');
}

async function reset(index: Index, tree: string, isSame: boolean): Promise<Problem | undefined> {
  const { git, file, recent } = index;
  const again = existsSync(file) ? await git.list(['read-tree', '--reset', tree]) : undefined;
  if (again?.code !== 0) {
    for (const name of [file, `${file}.lock`]) rmSync(name, { force: true });
    const anew = await git.list(['read-tree', tree]);
    if (anew.code !== 0) return failed(index, anew);
  }
  if (again?.code !== 0 || !isSame) {
    // Only the files that differ are left to look at afterwards; that some do is no failure.
    await git.run(['update-index', '-q', '--refresh']);
    recent.noteAll(readFileSync(file), tree.length / 2);
  }
  copyOut(index, tree);
  return undefined;
}

async function remove(index: Index, paths: readonly string[]): Promise<Problem | undefined> {
  if (paths.length === 0) return undefined;
  const removed = await index.git.bytes(['update-index', '-z', '--force-remove', '--stdin'], paths);
  return removed.code === 0 ? undefined : failed(index, removed);
}

function failed({ top }: Index, { code, errors }: Pick<Listed, 'code' | 'errors'>): Problem {
  return { where: top, what: `the files cannot be looked at: ${complaint(errors, code)}` };
}

/** Makes the index what the files are. */
async function takeIn(
  index: Index,
  scope: readonly string[],
): Promise<(Omit<Snapshot, 'tree'> & { readonly changed: boolean }) | Problem> {
  copyIn(index);
  const { git, recent } = index;
  const forgetful = timesTell(index.top) ? undefined : await forgetTimes(index);
  if (forgetful) return forgetful;
  // Taken out, so that git reads them anew.
  const touched = recent.takeTouched();
  const forgotten = await remove(index, touched);
  if (forgotten) return forgotten;
  const flags = ['-t', '-z', '-m', '-d', '-o', '--exclude-standard'];
  const listed = await git.bytes(['ls-files', ...flags, ...scope]);
  if (listed.code !== 0) return failed(index, listed);
  const known = touched.map(path => `C ${path}`);
  const { gone, blocked, changed, large, nested, skipped } = sort(index, [...listed.records, ...known]);
  const removed = await remove(index, blocked);
  if (removed) return removed;
  const many = changed.length > MANY && (await packsMany(git)) ? IN_ONE_PACK : [];
  for (const [how, paths] of [[many, [...gone, ...changed]] as const, [AS_IT_IS, large] as const]) {
    if (paths.length === 0) continue;
    const words = ['-z', '--add', '--remove', '--replace', '--stdin'];
    const added = await git.bytes([...how, 'update-index', ...words], paths);
    if (added.code !== 0) return failed(index, added);
    recent.note(paths);
    skipped.push(...refusedIn(added.errors));
  }
  const isSame = [touched, gone, blocked, changed, large].every(({ length }) => length === 0);
  return { nested, skipped, changed: !isSame };
}

/** git reads each file again that it knows no times of. */
async function forgetTimes(index: Index): Promise<Problem | undefined> {
  const { git, top } = index;
  const { code, stdout, output } = await git.run(['write-tree', '--missing-ok']);
  if (code !== 0) return failed(index, { code, errors: output });
  return git.order(['read-tree', stdout.trim()], top, 'the files cannot be looked at');
}

/** To make a file for each of so many contents takes longer than all else that is done with them. */
const MANY = 500;
const IN_ONE_PACK = ['-c', 'core.bigFileThreshold=1'];

/** Older ones make a pack for each content. */
async function packsMany(git: Git): Promise<boolean> {
  const { stdout } = await git.run(['version']);
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) > 2 || (major === '2' && Number(minor) >= 39);
}

/** Bytes. A larger file is compressed already, as a rule: to try takes four times as long as all else. */
const LARGE = 1024 * 1024;
const AS_IT_IS = ['-c', 'core.looseCompression=0'];

/** Names that git takes for its own on some system (`.GIT`, `git~1`) are left out of an index, and that is no failure to it. */
function refusedIn(errors: string): readonly Skipped[] {
  return [...errors.matchAll(/^Ignoring path (.*)$/gm)].map(([, path = '']) => ({ path, isNew: true }));
}

async function writeTree(index: Index): Promise<string | Problem> {
  const { code, stdout, output } = await index.git.run(['write-tree', '--missing-ok']);
  if (code !== 0) return failed(index, { code, errors: output });
  const tree = stdout.trim();
  copyOut(index, tree);
  return tree;
}

export interface Filled {
  /** Where the index of what was written goes; without it nobody needs one. */
  readonly index?: string;
  /** Only the files that these rules of a sparse checkout name. */
  readonly sparse?: string | undefined;
}

/** Writes the files of a tree into an empty folder, with an index of its own. */
export async function checkout(
  own: OwnFolder,
  tree: string,
  folder: string,
  { index: keep, sparse }: Filled = {},
): Promise<Problem | undefined> {
  const index = join(own.path, `other.${process.pid}.checkout-${++count}`);
  const rules = `${index}-rules`;
  const there = own.git.at(folder).with({ GIT_WORK_TREE: folder, GIT_INDEX_FILE: index });
  try {
    const fill = ['read-tree', '-u', '--reset', tree];
    const problem = await (sparse === undefined
      ? there.order(fill, folder, UNFILLED)
      : withRules(there, own, rules, sparse).order([...SPARSE, ...fill], folder, UNFILLED));
    if (!problem && keep !== undefined) copyFileSync(index, keep);
    return problem;
  } finally {
    for (const name of [index, rules]) rmSync(name, { recursive: true, force: true });
  }
}

const UNFILLED = 'it cannot be filled';
const SPARSE = ['-c', 'core.sparseCheckout=true'];

/** Rules are kept in the directory of one worktree: so that two checkouts at once have their own, each has such a directory. */
function withRules(git: Git, own: OwnFolder, folder: string, sparse: string): Git {
  ensureFolder(join(folder, 'info'));
  writeWhole(join(folder, 'HEAD'), 'ref: refs/heads/none\n');
  writeWhole(join(folder, 'info/sparse-checkout'), sparse);
  return git.with({ GIT_DIR: folder, GIT_COMMON_DIR: own.path });
}

interface Move {
  readonly from: string;
  readonly to: string;
  /** Files of a sparse checkout that are not there, and stay so. */
  readonly absent?: readonly string[] | undefined;
}

/**
 * Through an index of its own, so that nothing that is there beside the two trees is touched. `seen`: an index that has `from`, with the
 * times of the files, so that none need be read for it.
 */
export async function moveFiles(
  own: OwnFolder,
  top: string,
  { from, to, absent = [] }: Move,
  seen?: string,
): Promise<Problem | undefined> {
  const index = join(own.path, `other.${process.pid}.move-${++count}`);
  const git = own.git.at(top).with({ GIT_WORK_TREE: top, GIT_INDEX_FILE: index });
  try {
    const target = await asSnapshot(own, to, new Set(absent));
    if ('what' in target) return target;
    if (seen !== undefined && existsSync(seen)) linkSync(seen, index);
    else await git.run(['read-tree', from]);
    await git.run(['update-index', '-q', '--refresh']);
    return await git.order(['read-tree', '-m', '-u', from, target.tree], top, 'its files cannot be moved');
  } finally {
    rmSync(index, { force: true });
  }
}

let count = 0;

/** What `ls-files -t` lists, by what is to be done about it. `blocked`: something else is there now, or on the way to it. */
function sort({ top, root }: Index, records: readonly string[]) {
  const gone = new Set<string>();
  const blocked = new Set<string>();
  const changed = new Map<string, 'new' | 'known'>();
  const nested: string[] = [];
  for (const record of records) {
    const [tag, path] = [record[0], record.slice(2)];
    if (isRalphsBytes(path, root)) continue;
    if (path.endsWith('/')) nested.push(decoded(path));
    else if (tag === 'R') gone.add(path);
    else changed.set(path, tag === '?' ? 'new' : 'known');
  }
  const folders = new Map<string, string | undefined>();
  const isBlocked = (path: string) => blockedAt(top, decoded(path), folders) !== undefined;
  for (const path of gone) if (isBlocked(path)) blocked.add(path);
  const skipped: Skipped[] = [];
  const large: string[] = [];
  for (const [path, is] of changed) {
    const stat = statOf(Buffer.from(`${Buffer.from(top).toString('latin1')}/${path}`, 'latin1'));
    // Behind a link that took the place of a folder there is another file.
    if ((is === 'known' && isBlocked(path)) || stat?.isFolder) blocked.add(path);
    if (blocked.has(path) || gone.has(path)) changed.delete(path);
    else if (!stat?.isReadable) {
      changed.delete(path);
      skipped.push({ path: decoded(path), isNew: is === 'new' });
    } else if (stat.size > LARGE && changed.delete(path)) large.push(path);
  }
  const missing = [...gone].filter(path => !blocked.has(path));
  return { gone: missing, blocked: [...blocked], changed: [...changed.keys()], large, nested, skipped };
}

function decoded(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}

/** Undefined when it is gone. A link is read by its name, whatever it leads to. */
function statOf(path: Buffer) {
  const stat = tryTo(() => lstatSync(path));
  if (!stat) return undefined;
  const mayRead = stat.isSymbolicLink() || tryTo(() => accessSync(path, constants.R_OK) ?? true) === true;
  return { isFolder: stat.isDirectory(), isReadable: mayRead && stat.size <= MOST_BYTES, size: stat.size };
}
