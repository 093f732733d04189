/** Which files are protected, as they are at the start of a run: looked up and kept, or taken from what was kept then. */
import { lstatSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { readIfThere } from '../platform/files.ts';
import { complaint, type Env, type Git } from '../platform/git.ts';
import { blockedAt } from './move-aside.ts';
import type { ProtectionOptions } from './protect.ts';
import { isRalphs, type Repository, shownPath } from './repository.ts';
import {
  createFileStore,
  type FileStore,
  loadSnapshot,
  type SavedFile,
  saveSnapshot,
  temporaryName,
} from './snapshot.ts';

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
  repository: Repository,
  options: ProtectionOptions,
): Promise<FilesAtStart | Problem> {
  const { keepIn, recall } = options;
  if (keepIn !== undefined && recall !== undefined) return recalled(repository, options.env, keepIn, recall);
  return lookedUp(repository, options);
}

async function lookedUp(
  repository: Repository,
  { globs, newFiles: allowed, env, keepIn, except }: ProtectionOptions,
): Promise<FilesAtStart | Problem> {
  const found = await findFiles(repository, globs);
  if ('what' in found) return found;
  const { notes } = found;
  const paths = found.paths.filter(path => !isExcepted(path, except));
  const store = createFileStore(undefined, keepIn);
  const kept = new Map<string, SavedFile>();
  const known = new Map<string, string | undefined>();
  for (const path of paths) {
    const file =
      blockedAt(repository.top, path, known) === undefined && store.keep(join(repository.top, path));
    if (file) kept.set(path, file);
  }
  if (allowed === 'allow') {
    const name = keepIn === undefined ? undefined : saveSnapshot(keepIn, { kept });
    return { store, kept, notes, ...(name !== undefined && { name }) };
  }
  const rules = await readIgnoreRules(repository, env);
  const ignored = await matching(repository, globs, IGNORED);
  const there = paths.filter(path => isThere(repository, path));
  const before = [...there, ...('what' in ignored ? [] : ignored)];
  const name = keepIn === undefined ? undefined : saveSnapshot(keepIn, { kept, before, rules: rules.saved });
  return { store, kept, notes, before: new Set(before), rules, ...(name !== undefined && { name }) };
}

async function recalled(
  repository: Repository,
  env: ProtectionOptions['env'],
  keepIn: string,
  name: string,
): Promise<FilesAtStart | Problem> {
  const saved = loadSnapshot(keepIn, name);
  if ('what' in saved) return saved;
  const { kept, before, rules, process } = saved;
  for (const path of kept.keys()) {
    if (blockedAt(repository.top, path) === undefined)
      rmSync(temporaryName(join(repository.top, path), process), { force: true });
  }
  const watch = before &&
    rules && { before: new Set(before), rules: await readIgnoreRules(repository, env, rules) };
  return { store: createFileStore(undefined, keepIn), kept, notes: [], name, ...watch };
}

interface Found {
  readonly paths: readonly string[];
  readonly notes: readonly string[];
}

async function findFiles(repository: Repository, globs: readonly string[]): Promise<Found | Problem> {
  const paths = new Set<string>();
  const notes: string[] = [];
  for (const glob of globs) {
    const matches = await matching(repository, [glob]);
    if ('what' in matches) return matches;
    if (matches.length === 0) notes.push(`protect ${glob}: no file fits it now`);
    for (const path of matches) paths.add(path);
  }
  for (const path of paths) {
    const note = unprotectable(repository, path);
    if (note) notes.push(note);
  }
  return { paths: [...paths].sort(), notes };
}

/** What git knows or would add, or else what it ignores: paths from the top. */
async function matching(
  { git }: Repository,
  globs: readonly string[],
  which: readonly string[] = ['--cached', '--others'],
): Promise<readonly string[] | Problem> {
  const specs = globs.map(glob => `:(glob)${glob}`);
  const flags = [...which, '--exclude-standard', '--full-name', '-z'];
  const { code, records, errors } = await git.list(['ls-files', ...flags, '--', ...specs]);
  if (code !== 0) return { where: `protect ${globs.join(' ')}`, what: complaint(errors, code) };
  return [...new Set(records)].filter(path => !isRalphs(path));
}

function unprotectable({ top }: Repository, path: string): string | undefined {
  if (path.includes('\ufffd')) return `${shownPath(path)} is not protected: its name is not UTF-8`;
  const isFolder = blockedAt(top, path) === undefined && lstatSync(join(top, path), QUIET)?.isDirectory();
  return isFolder ? `${shownPath(path)} is not protected: it is a repository of its own` : undefined;
}

const QUIET = { throwIfNoEntry: false } as const;
const IGNORED = ['--others', '--ignored'];

function isExcepted(path: string, except: readonly string[] = []): boolean {
  return except.some(each => path === each || path.startsWith(`${each}/`));
}

/** What fits the globs and was not there at the start, also behind a rule that tells git to ignore it. */
export async function newFiles(
  repository: Repository,
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

export function isThere({ top }: Repository, path: string): boolean {
  return blockedAt(top, path) === undefined && lstatSync(join(top, path), QUIET) !== undefined;
}

/** The lines of each file of rules. */
export type SavedRules = readonly (readonly [source: string, lines: readonly string[]])[];

export type IgnoreRules = Awaited<ReturnType<typeof readIgnoreRules>>;

/** As they are now, or as they were `saved`. */
export async function readIgnoreRules(repository: Repository, env: Env, saved?: SavedRules) {
  const { git, top } = repository;
  const atTop = git.at(top);
  const rules = new Map(
    saved?.map(([source, lines]) => [source, new Set(lines)]) ?? (await current(repository, env)),
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

async function current({ git, top, commonDir }: Repository, env: Env): Promise<[string, Set<string>][]> {
  const atTop = git.at(top);
  const files = await atTop.list([
    'ls-files',
    '-co',
    '--exclude-standard',
    '-z',
    '--',
    ':(glob)**/.gitignore',
  ]);
  const sources = [...files.records.map(file => join(top, file)), join(commonDir, 'info/exclude')];
  return [...sources, await usersOwn(atTop, env)].map(source => [source, linesOf(source)]);
}

/** So that no name is taken for one of git's patterns. */
const literal = (path: string) => `./${path}`;

/** The file of rules that a user has for all repositories. */
async function usersOwn(git: Git, env: Env): Promise<string> {
  const set = await git.run(['config', '--type=path', '--get', 'core.excludesFile']);
  if (set.code === 0) return set.stdout.replace(/\n$/, '');
  return join(env.XDG_CONFIG_HOME || join(env.HOME ?? '/', '.config'), 'git/ignore');
}

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
