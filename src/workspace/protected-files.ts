/** Which files are protected, as they are at the start of a run: looked up and kept, or taken from what was kept then. */
import { lstatSync, mkdirSync, readlinkSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { pathPattern } from '../domain/text/glob.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import { tryTo } from '../platform/files.ts';
import { complaint } from '../platform/git.ts';
import { openPack, type Pack } from '../store/kept.ts';
import { ignoredBy } from './hidden-files.ts';
import {
  createFileKeeper,
  type FileKeeper,
  type KeptFile,
  keepList,
  readList,
  temporaryName,
} from './keep-files.ts';
import { ignoreRule } from './own-folder.ts';
import type { OwnGit } from './own-git.ts';
import { type ChangedPath, readEntries, SUBMODULE } from './own-objects.ts';
import type { ProtectionOptions } from './protect.ts';
import { commitOf } from './refs.ts';
import { isRalphs, shownPath } from './repository.ts';
import { blockedAt } from './set-aside.ts';
import { findUnlisted, ignoredIn, type Unlisted } from './unlisted.ts';
import { readStaged } from './user-index.ts';

/** Looked at through Ralph's own git directory: what the agent says to git hides nothing. Globs count from `prefix`. */
export interface WorkTree
  extends Pick<
    OwnGit,
    | ('top' | 'prefix' | 'root' | 'git' | 'objects' | 'head' | 'treeOf')
    | ('changedPaths' | 'snapshot' | 'repository')
  > {
  /** `Test` and `test` are the same folder here: asked of the disk, since settings can be changed. */
  readonly ignoresCase: boolean;
  /** Globs of what may change although `**` is protected. */
  readonly allow: readonly string[];
}

export interface FilesAtStart {
  readonly keeper: FileKeeper;
  /** By path from the top. */
  readonly kept: ReadonlyMap<string, KeptFile>;
  /** What the user should know. */
  readonly notes: readonly string[];
  /** Under which they can be asked for again. */
  readonly name: string;
  readonly watched: Watched | undefined;
  /** The commit that the work was on; undefined: there was none. */
  readonly base: string | undefined;
  /** The branch that it was on; undefined: none, or nobody knows. */
  readonly branch?: string | undefined;
  /** What was staged, as the index has it; undefined: nobody knows. */
  readonly staged?: readonly string[] | undefined;
}

/** Only where new files are forbidden. */
interface Watched {
  /** What fitted the globs, ignored or not. */
  readonly before: readonly string[];
  /** The files that said what git ignores. */
  readonly rules: readonly (readonly [string, KeptFile])[];
  /** What git does not list, whatever it fitted. */
  readonly unlisted: Unlisted;
}

export async function filesAtStart(
  repository: WorkTree,
  options: ProtectionOptions,
): Promise<FilesAtStart | Problem> {
  const { keepIn, recall } = options;
  return recall === undefined ? lookedUp(repository, options) : recalled(repository, keepIn, recall);
}

async function lookedUp(
  repository: WorkTree,
  { globs, newFiles: allowed, keepIn, except }: ProtectionOptions,
): Promise<FilesAtStart | Problem> {
  const found = await findFiles(repository, globs);
  if ('what' in found) return found;
  // git looks at the rest while the files are read here.
  const beside = allowed === 'allow' ? undefined : lookBeside(repository, globs, found.paths);
  const keeper = createFileKeeper(keepIn);
  const pack = found.paths.length > MANY ? openPack(keepIn) : undefined;
  const keep = (paths: readonly string[]) =>
    keepAll(
      repository,
      keeper,
      paths.filter(path => !isExcepted(path, except)),
      pack,
    );
  const first = await keep(found.paths);
  const odd = oddOnes(repository, found.paths, first.kept);
  const behind = await behindLinks(repository, odd.links);
  const all = new Set([...found.paths, ...behind.paths]);
  const second = await keep([...all].slice(found.paths.length));
  try {
    pack?.close();
  } catch (error) {
    return { where: keepIn, what: errorWords(error) };
  }
  const kept = new Map([...first.kept, ...second.kept]);
  const notes = [...found.notes, ...odd.notes, ...behind.notes, ...first.unread, ...second.unread];
  const paths = [...all].filter(path => !isExcepted(path, except));
  const watched = beside && (await watchNew(repository, keeper, { ...(await beside), paths, kept }));
  const { commit: base, branch } = await repository.head();
  const staged = base === undefined ? undefined : await readStaged(repository, base);
  const known = staged && !isProblem(staged) ? staged.entries : undefined;
  const start = { kept, watched, base, branch, staged: known };
  return { ...start, keeper, notes, name: keepList(keepIn, start) };
}

/** Of what was found: the links, and what is said of the rest that cannot be protected. `kept`: what is known to be a file or a link. */
function oddOnes(repository: WorkTree, paths: readonly string[], kept: ReadonlyMap<string, KeptFile>) {
  const links: string[] = [];
  const notes: string[] = [];
  const known = new Map<string, string | undefined>();
  for (const path of paths) {
    const file = kept.get(path);
    const stat = file ? undefined : statAt(repository, path);
    if (file?.kind === 'link' || stat?.isSymbolicLink()) links.push(path);
    const isFolder = stat?.isDirectory() && blockedAt(repository.top, path, known) === undefined;
    const note = unprotectable(path, isFolder);
    if (note) notes.push(note);
  }
  return { links, notes };
}

/** As many files take a while to be made. */
const MANY = 256;

type Beside = Awaited<ReturnType<typeof lookBeside>>;

async function lookBeside(repository: WorkTree, globs: readonly string[], all: readonly string[]) {
  const [ignored, rules, unlisted] = await Promise.all([
    matching(repository, globs, IGNORED),
    ruleFiles(repository, globs, all),
    findUnlisted(repository),
  ]);
  return { ignored, rules, unlisted };
}

async function watchNew(
  repository: WorkTree,
  keeper: FileKeeper,
  {
    ignored,
    rules,
    unlisted,
    paths,
    kept,
  }: Beside & Pick<FilesAtStart, 'kept'> & { readonly paths: readonly string[] },
): Promise<Watched> {
  const known = new Map<string, string | undefined>();
  const there = paths.filter(path => kept.has(path) || isThere(repository, path, known));
  return {
    before: [...there, ...('what' in ignored ? [] : ignored)],
    rules: [...(await keepAll(repository, keeper, rules)).kept],
    unlisted,
  };
}

/** `all`: what fits the globs: where that is everything, git is not asked again. */
async function ruleFiles(
  { git, top, prefix, allow }: WorkTree,
  globs: readonly string[],
  all: readonly string[],
): Promise<readonly string[]> {
  if (globs.includes(EVERYTHING) && prefix === '' && allow.length === 0)
    return all.filter(path => /(^|\/)\.gitignore$/.test(path));
  const flags = ['-co', '--exclude-standard', '-z', '--', ':(glob)**/.gitignore'];
  return (await git.at(top).list(['ls-files', ...flags])).records;
}

/** As many are read in a millisecond. */
const A_FEW = 32;

/** Now and then whatever else is being done gets its turn. */
async function keepAll({ top }: WorkTree, keeper: FileKeeper, paths: readonly string[], pack?: Pack) {
  const kept = new Map<string, KeptFile>();
  const unread: string[] = [];
  const known = new Map<string, string | undefined>();
  for (const [at, path] of paths.entries()) {
    if (at % A_FEW === A_FEW - 1) await new Promise(resolve => setImmediate(resolve));
    if (blockedAt(top, path, known) !== undefined) continue;
    try {
      const file = keeper.keep(`${top}/${path}`, pack);
      if (file) kept.set(path, file);
    } catch (error) {
      unread.push(`${shownPath(path)} is not protected: ${errorWords(error)}`);
    }
  }
  return { kept, unread };
}

function recalled(repository: WorkTree, keepIn: string, name: string): FilesAtStart | Problem {
  const saved = readList<Pick<FilesAtStart, 'watched' | 'base' | 'branch' | 'staged'>>(keepIn, name);
  if ('what' in saved) return saved;
  const { kept, process, ...start } = saved;
  const known = new Map<string, string | undefined>();
  for (const path of kept.keys()) {
    if (blockedAt(repository.top, path, known) === undefined)
      rmSync(temporaryName(join(repository.top, path), process), { force: true });
  }
  return { keeper: createFileKeeper(keepIn), kept, notes: [], name, ...start };
}

interface Found {
  readonly paths: readonly string[];
  readonly notes: readonly string[];
}

async function findFiles(repository: WorkTree, globs: readonly string[]): Promise<Found | Problem> {
  const paths = new Set<string>();
  const notes: string[] = [];
  for (const glob of globs) {
    const matches = await matching(repository, [glob]);
    if ('what' in matches) return matches;
    const ignored = await ignoredFiles(repository, glob, matches.length > 0);
    if ('what' in ignored) return ignored;
    notes.push(...ignored.notes);
    if (matches.length + ignored.paths.length + ignored.notes.length === 0)
      notes.push(`protect ${glob}: no file fits it now`);
    for (const path of [...matches, ...ignored.paths]) paths.add(path);
  }
  return { paths: [...paths], notes };
}

/** More than anybody names: the folder of all dependencies, as a rule. */
const MOST_IGNORED = 5_000;

/**
 * What git ignores is protected where the glob can mean nothing else: it fits nothing else, or what it begins with is ignored. With
 * `test/**` nobody means the caches that tests write there.
 */
async function ignoredFiles(
  repository: WorkTree,
  glob: string,
  fitsOthers: boolean,
): Promise<Found | Problem> {
  const [fixed = ''] = /^[^*?[\\]*(?=\/|$)/.exec(glob) ?? [];
  const isMeant = !fitsOthers || (fixed !== '' && (await isIgnored(repository, fixed)));
  // To look through everything that is ignored takes long, and with two stars it is never news.
  if (!isMeant && glob.includes('**')) return { paths: [], notes: [] };
  const files = await matching(repository, [glob], IGNORED);
  if ('what' in files) return files;
  if (isMeant && files.length <= MOST_IGNORED) return { paths: files, notes: [] };
  const text = `protect ${glob}: files that git ignores fit it (${files.length}) and are not protected: name them to protect them`;
  return { paths: [], notes: files.length === 0 ? [] : [text] };
}

async function isIgnored({ git }: WorkTree, path: string): Promise<boolean> {
  return (await git.run(['check-ignore', '--quiet', '--no-index', '--', path])).code === 0;
}

/** Who protects a link means what it leads to. */
async function behindLinks(repository: WorkTree, links: readonly string[]): Promise<Found> {
  const found: string[] = [];
  const notes: string[] = [];
  for (const path of links) {
    const { paths: more, folder, note } = followLink(repository, path);
    if (note !== undefined) notes.push(`${shownPath(path)} ${note}: what is there is not protected`);
    const within = folder === undefined ? [] : await filesBelow(repository, folder);
    found.push(...more, ...within);
  }
  return { paths: found, notes };
}

interface Followed {
  /** From the top: the links on the way, and the file at its end. */
  readonly paths: readonly string[];
  /** The folder at its end, from the top. */
  readonly folder?: string;
  /** Why what is behind it cannot be protected. */
  readonly note?: string;
}

const MOST_LINKS = 40;

/** Step by step, as the system would: each part of a path may be a link of its own. */
function followLink(repository: WorkTree, path: string): Followed {
  const { top } = repository;
  const paths: string[] = [];
  let left = path.split('/');
  let at: string[] = [];
  for (let links = 0; left.length > 0; ) {
    const [part = '', ...rest] = left;
    left = rest;
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (at.pop() === undefined) return { paths, note: 'leads out of the repository' };
      continue;
    }
    const here = [...at, part].join('/');
    const target = tryTo(() => readlinkSync(join(top, here)));
    if (target === undefined) {
      at.push(part);
      continue;
    }
    paths.push(here);
    if (++links > MOST_LINKS) return { paths, note: 'leads to itself' };
    const inside = isAbsolute(target) ? relative(top, target) : target;
    if (isAbsolute(target)) at = [];
    left = [...inside.split('/'), ...left];
  }
  return endOf(repository, at.join('/'), paths);
}

function endOf({ top, root }: WorkTree, end: string, paths: readonly string[]): Followed {
  if (end === '' || isRalphs(end, root) || end.split('/').includes('.git'))
    return { paths, note: 'leads to what is not part of the project' };
  const stat = lstatSync(join(top, end), { throwIfNoEntry: false });
  if (!stat) return { paths, note: 'leads to nothing' };
  return stat.isDirectory() ? { paths, folder: end } : { paths: [...paths, end] };
}

async function filesBelow(repository: WorkTree, folder: string): Promise<readonly string[]> {
  const spec = [`:(top,literal)${folder}`];
  const visible = await listed(repository, spec, VISIBLE);
  const files =
    visible.code === 0 && visible.records.length > 0 ? visible : await listed(repository, spec, IGNORED);
  return files.records.filter(path => !isRalphs(path, repository.root)).slice(0, MOST_IGNORED);
}

/** What git knows or would add, or else what it ignores: paths from the top. */
async function matching(
  repository: WorkTree,
  globs: readonly string[],
  which: readonly string[] = VISIBLE,
): Promise<readonly string[] | Problem> {
  const { allow } = repository;
  const all = allow.length > 0 && globs.includes(EVERYTHING) ? await allBut(repository, allow, which) : [];
  if ('what' in all) return all;
  const others = allow.length > 0 ? globs.filter(glob => glob !== EVERYTHING) : globs;
  if (others.length === 0) return all;
  const specs = others.map(glob => `${magicOf(repository)}${glob}`);
  const { code, records, errors } = await listed(repository, specs, which);
  if (code !== 0) return { where: `protect ${globs.join(' ')}`, what: complaint(errors, code) };
  return [...new Set([...all, ...records])].filter(path => !isRalphs(path, repository.root));
}

/** What stands for every file, with `allow` for the exceptions. */
export const EVERYTHING = '**';

/** From the top of the work tree, not from where the agent works: what is above may not change either. */
async function allBut(
  repository: WorkTree,
  allow: readonly string[],
  which: readonly string[],
): Promise<readonly string[] | Problem> {
  const but = allow.map(glob => `${magicOf(repository).replace('(', '(exclude,')}${glob}`);
  const { code, records, errors } = await listed(repository, [':/', ...but], which);
  if (code !== 0) return { where: `only ${allow.join(' ')}`, what: complaint(errors, code) };
  return records.filter(path => !isRalphs(path, repository.root));
}

function magicOf({ ignoresCase }: WorkTree): string {
  return ignoresCase ? ':(glob,icase)' : ':(glob)';
}

function listed({ git }: WorkTree, specs: readonly string[], which: readonly string[]) {
  return git.list(['ls-files', ...which, '--full-name', '-z', '--', ...specs]);
}

function unprotectable(path: string, isFolder = false): string | undefined {
  if (path.includes('\ufffd')) return `${shownPath(path)} is not protected: its name is not UTF-8`;
  return isFolder
    ? `${shownPath(path.replace(/\/$/, ''))} is not protected: it is a repository of its own`
    : undefined;
}

const statAt = ({ top }: WorkTree, path: string) => lstatSync(`${top}/${path}`, { throwIfNoEntry: false });

const ALL = ['--cached', '--others'];
const VISIBLE = [...ALL, '--exclude-standard'];
const IGNORED = ['--others', '--ignored', '--exclude-standard'];

function isExcepted(path: string, except: readonly string[] = []): boolean {
  return except.some(each => path === each || path.startsWith(`${each}/`));
}

/** What fits the globs and was not there at the start, also behind a rule that tells git to ignore it. */
export async function newFiles(
  repository: WorkTree,
  { globs, except }: Pick<ProtectionOptions, 'globs' | 'except'>,
  { keeper, watched }: FilesAtStart,
): Promise<readonly string[] | Problem> {
  if (!watched) return [];
  // In one walk: what is ignored is asked of the few that are new.
  const all = await matching(repository, globs, [
    ...ALL,
    `--exclude=${ignoreRule(`${repository.root}.ralph`)}`,
  ]);
  if ('what' in all) return all;
  const before = new Set(watched.before);
  const fresh = all.filter(path => !before.has(path) && !isExcepted(path, except));
  const hidden = await ignoredIn(repository, fresh);
  const writeRule =
    (folder: string) =>
    ([path, file]: readonly [string, KeptFile]) =>
      tryTo(() => {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        keeper.restore(file, join(folder, path));
        return true;
      }) ?? false;
  const writeRules = (folder: string) => watched.rules.every(writeRule(folder));
  const ignored = hidden.size === 0 ? [] : await ignoredBy(repository.objects, writeRules, [...hidden]);
  const isIgnored = new Set(ignored);
  return fresh.filter(path => !isIgnored.has(path));
}

/** What fits the globs, was not there at the start, and is listed by git neither now nor ever. */
export async function newUnlisted(
  repository: WorkTree,
  options: Pick<ProtectionOptions, 'globs' | 'except'>,
  { watched }: FilesAtStart,
): Promise<Unlisted> {
  if (!watched) return { empty: [], odd: [] };
  const now = await findUnlisted(repository);
  const { allow } = repository;
  const isProtected = fits(repository, options);
  const leadsTo = (path: string) => allow.some(glob => `${repository.prefix}${glob}`.startsWith(`${path}/`));
  const fresh = (paths: readonly string[], before: readonly string[]) =>
    paths.filter(path => !before.includes(path) && isProtected(path));
  const { empty, odd } = watched.unlisted;
  return { empty: fresh(now.empty, empty).filter(path => !leadsTo(path)), odd: fresh(now.odd, odd) };
}

/** Whether a path is protected, file or not. */
function fits(repository: WorkTree, { globs, except }: Pick<ProtectionOptions, 'globs' | 'except'>) {
  const { allow } = repository;
  const [all, may] = [patternsOf(repository, globs), patternsOf(repository, allow)];
  const isEverything = allow.length > 0 && globs.includes(EVERYTHING);
  return (path: string) =>
    (isEverything || all.some(glob => glob.test(path))) &&
    !isExcepted(path, except) &&
    !may.some(glob => glob.test(path));
}

/** What of the protected paths the commits since the start have otherwise: no look at the files shows it. */
export interface Committed {
  /** Submodules on another commit, or new ones. No snapshot names them. */
  readonly moved: readonly string[];
  /** Files that are in a commit otherwise than here, where they are as they were. */
  readonly others: readonly string[];
  /** The commits that were looked at. */
  readonly commits: readonly string[];
}

export function watchCommits(
  repository: WorkTree,
  options: Pick<ProtectionOptions, 'globs' | 'except' | 'newFiles'>,
) {
  const isProtected = fits(repository, options);
  const changes = rememberChanges(repository);
  return async (start: FilesAtStart): Promise<Committed | Problem> => {
    const found = { moved: new Set<string>(), others: new Set<string>() };
    const commits = await standsNow(repository, start);
    for (const commit of commits) {
      const changed = await changes(start.base, commit);
      if (isProblem(changed)) return changed;
      for (const { path, before, after } of changed) {
        const isModule = [before, after].some(blob => blob?.mode === SUBMODULE);
        if (isModule && (isProtected(path) || isProtected(`${path}/a`))) found.moved.add(path);
      }
      const files = changed.map(({ path }) => path).filter(path => !found.moved.has(path));
      const isMeant = (path: string) => start.kept.has(path) || (!!start.watched && isProtected(path));
      const others = await unlikeFiles(repository, commit, files.filter(isMeant));
      if (isProblem(others)) return others;
      for (const path of others) found.others.add(path);
    }
    return { moved: [...found.moved], others: [...found.others], commits };
  };
}

/** Where HEAD stands, and the branch that it was on, if that is not where they were. */
async function standsNow(
  { head, repository }: WorkTree,
  { base, branch }: FilesAtStart,
): Promise<readonly string[]> {
  const { commit } = await head();
  const there = branch === undefined ? commit : await commitOf(repository, `refs/heads/${branch}`);
  return [...new Set([commit, there])].filter(each => each !== undefined && each !== base) as string[];
}

/** What a commit is never changes. */
function rememberChanges({ treeOf, changedPaths }: WorkTree) {
  const known = new Map<string, readonly ChangedPath[]>();
  return async (base: string | undefined, commit: string): Promise<readonly ChangedPath[] | Problem> => {
    const before = known.get(`${base} ${commit}`);
    if (before) return before;
    const [from, to] = [await treeOf(base), await treeOf(commit)];
    if (isProblem(from)) return from;
    if (isProblem(to)) return to;
    const changed = await changedPaths(from, to);
    if (!isProblem(changed)) known.set(`${base} ${commit}`, changed);
    return changed;
  };
}

/** Of these paths those that the commit does not have as the files are. */
async function unlikeFiles(
  { snapshot, treeOf, changedPaths, root }: WorkTree,
  commit: string,
  paths: readonly string[],
): Promise<readonly string[] | Problem> {
  const asked = new Set(paths.filter(path => !isRalphs(path, root)));
  if (asked.size === 0) return [];
  const [now, tree] = [await snapshot(), await treeOf(commit)];
  if (isProblem(now)) return now;
  if (isProblem(tree)) return tree;
  const changed = await changedPaths(now.tree, tree);
  return isProblem(changed) ? changed : changed.map(({ path }) => path).filter(path => asked.has(path));
}

/** Files that are staged otherwise than here, where they are as they were, and were not when the run began. */
export async function stagedOtherwise(
  repository: WorkTree,
  options: Pick<ProtectionOptions, 'globs' | 'except'>,
  start: FilesAtStart,
): Promise<readonly string[] | Problem> {
  const { commit } = await repository.head();
  if (commit === undefined || start.staged === undefined) return [];
  const staged = await readStaged(repository, commit);
  if (isProblem(staged)) return staged;
  const isProtected = fits(repository, options);
  const known = new Set(start.staged);
  const entries = staged.entries.filter(entry => !known.has(entry));
  const named = readEntries(entries).map(({ bytes, after }) => ({ after, path: decoded(bytes) }));
  const meant = named.filter(({ path }) => start.kept.has(path) || (!!start.watched && isProtected(path)));
  if (meant.length === 0) return [];
  const [tree, now] = [await repository.treeOf(commit), await repository.snapshot()];
  if (isProblem(tree)) return tree;
  if (isProblem(now)) return now;
  const changed = await repository.changedPaths(tree, now.tree);
  if (isProblem(changed)) return changed;
  const files = new Map(changed.map(({ path, after }) => [path, after]));
  return meant.filter(({ path, after }) => files.get(path)?.oid !== after.oid).map(({ path }) => path);
}

const decoded = (bytes: string) => Buffer.from(bytes, 'latin1').toString('utf8');

function patternsOf({ prefix, ignoresCase }: WorkTree, globs: readonly string[]): readonly RegExp[] {
  const patterns = globs.map(glob => pathPattern(`${prefix}${glob.replace(/\/+$/, '')}`, { orBelow: true }));
  return ignoresCase ? patterns.map(({ source }) => new RegExp(source, 'i')) : patterns;
}

/** `known`: what `blockedAt` has found out. */
export function isThere(
  repository: WorkTree,
  path: string,
  known?: Map<string, string | undefined>,
): boolean {
  return blockedAt(repository.top, path, known) === undefined && statAt(repository, path) !== undefined;
}
