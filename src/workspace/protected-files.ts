/** Which files are protected, as they are at the start of a run: looked up and kept, or taken from what was kept then. */
import { lstatSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import { readIfThere } from '../platform/files.ts';
import { complaint, type Git } from '../platform/git.ts';
import { blockedAt } from './move-aside.ts';
import type { ProtectionOptions } from './protect.ts';
import { followLink } from './protected-links.ts';
import { isRalphs, shownPath } from './repository.ts';
import {
  createFileStore,
  type FileStore,
  loadSnapshot,
  type SavedFile,
  saveSnapshot,
  temporaryName,
} from './snapshot.ts';

/** Looked at through Ralph's own git directory: what the agent says to git hides nothing. */
export interface WorkTree {
  readonly top: string;
  /** Where globs count from, below `top`. */
  readonly prefix: string;
  readonly git: Git;
  /** The folder with the rules that are in no file of the work tree. */
  readonly rules: string;
  /** `Test` and `test` are the same folder here: asked of the disk, since settings can be changed. */
  readonly ignoresCase: boolean;
}

export interface FilesAtStart {
  readonly store: FileStore;
  /** By path from the top. */
  readonly kept: ReadonlyMap<string, SavedFile>;
  /** What the user should know. */
  readonly notes: readonly string[];
  /** Under which they can be asked for again. */
  readonly name?: string;
  /** What fitted the globs, ignored or not; only where new files are forbidden. */
  readonly before?: ReadonlySet<string>;
  readonly rules?: IgnoreRules;
}

export function filesAtStart(
  repository: WorkTree,
  options: ProtectionOptions,
): Promise<FilesAtStart | Problem> {
  const { keepIn, recall } = options;
  if (keepIn !== undefined && recall !== undefined) return recalled(repository, keepIn, recall);
  return lookedUp(repository, options);
}

async function lookedUp(
  repository: WorkTree,
  { globs, newFiles: allowed, keepIn, except }: ProtectionOptions,
): Promise<FilesAtStart | Problem> {
  const found = await findFiles(repository, globs);
  if ('what' in found) return found;
  const paths = found.paths.filter(path => !isExcepted(path, except));
  const store = createFileStore(undefined, keepIn);
  const { kept, unread } = keepAll(repository, store, paths);
  const notes = [...found.notes, ...unread];
  if (allowed === 'allow') {
    const name = keepIn === undefined ? undefined : saveSnapshot(keepIn, { kept });
    return { store, kept, notes, ...(name !== undefined && { name }) };
  }
  const rules = await readIgnoreRules(repository);
  const ignored = await matching(repository, globs, IGNORED);
  const there = paths.filter(path => isThere(repository, path));
  const before = [...there, ...('what' in ignored ? [] : ignored)];
  const name = keepIn === undefined ? undefined : saveSnapshot(keepIn, { kept, before, rules: rules.saved });
  return { store, kept, notes, before: new Set(before), rules, ...(name !== undefined && { name }) };
}

function keepAll({ top }: WorkTree, store: FileStore, paths: readonly string[]) {
  const kept = new Map<string, SavedFile>();
  const unread: string[] = [];
  const known = new Map<string, string | undefined>();
  for (const path of paths) {
    if (blockedAt(top, path, known) !== undefined) continue;
    try {
      const file = store.keep(join(top, path));
      if (file) kept.set(path, file);
    } catch (error) {
      unread.push(`${shownPath(path)} is not protected: ${errorWords(error)}`);
    }
  }
  return { kept, unread };
}

async function recalled(repository: WorkTree, keepIn: string, name: string): Promise<FilesAtStart | Problem> {
  const saved = loadSnapshot(keepIn, name);
  if ('what' in saved) return saved;
  const { kept, before, rules, process } = saved;
  for (const path of kept.keys()) {
    if (blockedAt(repository.top, path) === undefined)
      rmSync(temporaryName(join(repository.top, path), process), { force: true });
  }
  const watch = before &&
    rules && { before: new Set(before), rules: await readIgnoreRules(repository, rules) };
  return { store: createFileStore(undefined, keepIn), kept, notes: [], name, ...watch };
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
  for (const path of paths) {
    const note = unprotectable(repository, path);
    if (note) notes.push(note);
  }
  const behind = await behindLinks(repository, [...paths]);
  return { paths: [...new Set([...paths, ...behind.paths])].sort(), notes: [...notes, ...behind.notes] };
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
async function behindLinks(repository: WorkTree, paths: readonly string[]): Promise<Found> {
  const found: string[] = [];
  const notes: string[] = [];
  for (const path of paths) {
    if (!lstatSync(join(repository.top, path), QUIET)?.isSymbolicLink()) continue;
    const { paths: more, folder, note } = followLink(repository.top, path);
    if (note !== undefined) notes.push(`${shownPath(path)} ${note}: what is there is not protected`);
    const within = folder === undefined ? [] : await filesBelow(repository, folder);
    found.push(...more, ...within);
  }
  return { paths: found, notes };
}

async function filesBelow(repository: WorkTree, folder: string): Promise<readonly string[]> {
  const spec = [`:(top,literal)${folder}`];
  const visible = await listed(repository, spec, VISIBLE);
  const files =
    visible.code === 0 && visible.records.length > 0 ? visible : await listed(repository, spec, IGNORED);
  return files.records.filter(path => !isRalphs(path)).slice(0, MOST_IGNORED);
}

/** What git knows or would add, or else what it ignores: paths from the top. */
async function matching(
  repository: WorkTree,
  globs: readonly string[],
  which: readonly string[] = VISIBLE,
): Promise<readonly string[] | Problem> {
  const magic = repository.ignoresCase ? ':(glob,icase)' : ':(glob)';
  const specs = globs.map(glob => `${magic}${glob}`);
  const { code, records, errors } = await listed(repository, specs, which);
  if (code !== 0) return { where: `protect ${globs.join(' ')}`, what: complaint(errors, code) };
  return [...new Set(records)].filter(path => !isRalphs(path));
}

function listed({ git }: WorkTree, specs: readonly string[], which: readonly string[]) {
  return git.list(['ls-files', ...which, '--exclude-standard', '--full-name', '-z', '--', ...specs]);
}

function unprotectable({ top }: WorkTree, path: string): string | undefined {
  if (path.includes('\ufffd')) return `${shownPath(path)} is not protected: its name is not UTF-8`;
  const isFolder = blockedAt(top, path) === undefined && lstatSync(join(top, path), QUIET)?.isDirectory();
  return isFolder
    ? `${shownPath(path.replace(/\/$/, ''))} is not protected: it is a repository of its own`
    : undefined;
}

const QUIET = { throwIfNoEntry: false } as const;
const VISIBLE = ['--cached', '--others'];
const IGNORED = ['--others', '--ignored'];

function isExcepted(path: string, except: readonly string[] = []): boolean {
  return except.some(each => path === each || path.startsWith(`${each}/`));
}

/** What fits the globs and was not there at the start, also behind a rule that tells git to ignore it. */
export async function newFiles(
  repository: WorkTree,
  { globs, except }: Pick<ProtectionOptions, 'globs' | 'except'>,
  { before, rules }: FilesAtStart,
): Promise<readonly string[] | Problem> {
  if (!before || !rules) return [];
  const visible = await matching(repository, globs);
  if ('what' in visible) return visible;
  const hidden = await matching(repository, globs, IGNORED);
  if ('what' in hidden) return hidden;
  const isNew = (path: string) => !before.has(path) && !isExcepted(path, except);
  return [...visible.filter(isNew), ...(await rules.hiddenSince(hidden.filter(isNew)))];
}

export function isThere({ top }: WorkTree, path: string): boolean {
  return blockedAt(top, path) === undefined && lstatSync(join(top, path), QUIET) !== undefined;
}

/** The lines of each file of rules. */
export type SavedRules = readonly (readonly [source: string, lines: readonly string[]])[];

export type IgnoreRules = Awaited<ReturnType<typeof readIgnoreRules>>;

/** As they are now, or as they were `saved`. */
export async function readIgnoreRules(repository: WorkTree, saved?: SavedRules) {
  const { git, top } = repository;
  const atTop = git.at(top);
  const rules = new Map(
    saved?.map(([source, lines]) => [source, new Set(lines)]) ?? (await current(repository)),
  );
  return {
    saved: [...rules].map(([source, lines]): SavedRules[number] => [source, [...lines]]),
    /** Of paths that git ignores now, from the top: those that it would not have ignored then. */
    async hiddenSince(paths: readonly string[]): Promise<readonly string[]> {
      if (paths.length === 0) return [];
      const { code, records } = await atTop.list(
        ['check-ignore', '--verbose', '-z', '--stdin'],
        paths.map(literal),
      );
      if (code !== 0) return paths;
      return quadruples(records)
        .filter(([source, , pattern]) => !rules.get(resolve(top, source))?.has(pattern))
        .map(([, , , path]) => path.slice(literal('').length));
    },
  };
}

async function current({ git, top, rules }: WorkTree): Promise<[string, Set<string>][]> {
  const flags = ['-co', '--exclude-standard', '-z', '--', ':(glob)**/.gitignore'];
  const files = await git.at(top).list(['ls-files', ...flags]);
  const sources = files.records.map(file => join(top, file));
  return [...sources, join(rules, 'info/exclude'), join(rules, 'excludes')].map(source => [
    source,
    linesOf(source),
  ]);
}

/** So that no name is taken for one of git's patterns. */
const literal = (path: string) => `./${path}`;

/** git leaves out the spaces at the end of a rule. */
function linesOf(source: string): Set<string> {
  const lines = (readIfThere(source) ?? '').split(/\r?\n/);
  return new Set(lines.flatMap(line => [line, line.trimEnd()]));
}

type Match = readonly [source: string, line: string, pattern: string, path: string];

function quadruples(records: readonly string[]): readonly Match[] {
  const matches: Match[] = [];
  for (let index = 0; index + 3 < records.length; index += 4) {
    const [source = '', line = '', pattern = '', path = ''] = records.slice(index, index + 4);
    matches.push([source, line, pattern, path]);
  }
  return matches;
}
