/**
 * The folder of Ralph's own git directory for a work tree: outside of the project, with a configuration that Ralph wrote. Nothing in the
 * repository decides what runs when Ralph looks at the files: filters, hooks, fsmonitor, includes, attributes and submodules of the
 * repository are not known here. What its settings mean for the content of files is taken over when a run begins.
 */
import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { defined } from '../domain/text/fields.ts';
import type { Problem } from '../domain/text/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder, isBelow, namesIn, readIfThere, tryTo, writeWhole } from '../platform/files.ts';
import { bareGit, complaint, type Env, type Git } from '../platform/git.ts';
import { isAlive } from '../platform/process-table.ts';
import { findProgram } from '../platform/programs.ts';
import { joinWords } from '../platform/shell.ts';
import { statePaths } from '../store/state.ts';
import { withLock } from './lock.ts';
import { placeIn, type Repository } from './repository.ts';

export interface OwnFolder {
  /** The git directory. */
  readonly path: string;
  /** What is kept of this one work tree: its index, and how it began. The same folder, but for worktrees that Ralph has made. */
  readonly place: string;
  /** git on the folder alone: objects, no files. */
  readonly git: Git;
  /** The root of the project below the top of the work tree: empty, or ends with a slash. */
  readonly root: string;
}

/** What is known of the repository since the last run began: not asked again, because the agent can write the answer. */
export interface Pinned {
  readonly version: typeof VERSION;
  readonly top: string;
  readonly gitDir: string;
  readonly commonDir: string;
  /** Where its objects are kept, links resolved. */
  readonly objects: string;
  /** Its remotes and what branches follow, as key and value. */
  readonly remotes: readonly (readonly [string, string])[];
  /** The filters of the user's, by name: they change what is committed of a file, and Ralph does not run them, but for LFS. */
  readonly filters: readonly string[];
  /** Those of them that also change what is checked out; absent: kept by an older Ralph. */
  readonly smudging?: readonly string[];
  /** Where LFS keeps its files. */
  readonly lfs?: string;
  /** What commits are signed with, as lines of a git configuration; absent: they are not. */
  readonly signing?: readonly (readonly [string, string])[];
  /** The rules of a sparse checkout. */
  readonly sparse?: string;
  /** The settings of the repository that matter for what is in a file, as lines of a git configuration. */
  readonly settings: readonly (readonly [string, string])[];
  readonly format: string;
  /** Not every file of a commit is meant to be there. */
  readonly isSparse: boolean;
}

const VERSION = 1;

/** `prefix`: the root of the project below `top`, where it is no worktree of Ralph's. */
export function folderOf(top: string, env: Env, prefix = ''): OwnFolder {
  const place = statePaths(env).git(top);
  const project = projectOf(top);
  const path = existsSync(join(place, 'objects')) ? place : (lenderOf(project, env) ?? place);
  const git = bareGit(top, env, ownEnv(env, path)).at(path);
  return { path, place, git, root: project?.prefix ?? prefix };
}

/** The project that a worktree of Ralph's is in, by where that is: what its `.git` says is the agent's to write. */
function projectOf(top: string) {
  const [project, below] = top.split(`${sep}.ralph${sep}worktrees${sep}`);
  return below === undefined || !project ? undefined : placeIn(project);
}

/** Its git directory has the objects already. */
function lenderOf(project: ReturnType<typeof projectOf>, env: Env): string | undefined {
  const path = project && statePaths(env).git(project.top);
  return path !== undefined && readPinned({ path, place: path }) ? path : undefined;
}

/** Everything of git's in the environment could lead it elsewhere. */
function ownEnv(env: Env, path: string): Env {
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_'))),
    GIT_DIR: path,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_GRAFT_FILE: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'true',
    LC_ALL: 'C',
    ...KEPT_MEMORY,
  };
}

/**
 * For glibc: what an object needed to be packed or unpacked is not given back to the system before the next one asks for the same again. Of
 * 10,000 files that are taken in, that is more than half of the time. Both, since naming one ends what glibc does about it by itself.
 */
const KEPT_MEMORY = { MALLOC_TRIM_THRESHOLD_: '100000000', MALLOC_MMAP_THRESHOLD_: '33000000' };

export function readPinned({ path, place }: Pick<OwnFolder, 'path' | 'place'>): Pinned | undefined {
  const kept = tryTo(() => JSON.parse(readIfThere(join(place, PINNED)) ?? 'null'));
  return kept?.version === VERSION && existsSync(join(path, 'objects')) ? kept : undefined;
}

const PINNED = 'ralph.json';

/** The work tree that it is for; undefined: it is no such directory, or it is being made. */
export function topIn(place: string): string | undefined {
  const top = tryTo(() => JSON.parse(readIfThere(join(place, PINNED)) ?? 'null'))?.top;
  return typeof top === 'string' ? top : undefined;
}

/** Makes the folder, or takes over the settings as they are now. What is damaged is made anew. */
export async function prepareFolder(
  own: OwnFolder,
  repository: Configured,
  env: Env,
): Promise<Pinned | Problem> {
  try {
    ensureFolder(dirname(own.path));
  } catch (error) {
    return notMade(own, errorWords(error));
  }
  // Two runs may begin in one work tree.
  const fill = own.path === own.place ? fillFolder : shareFolder;
  return withLock(`${own.path}.lock`, () => fill(own, repository, env));
}

/** The settings are those of the project when its run began: an agent beside this one may have changed them since. */
async function shareFolder(
  own: OwnFolder,
  { top, gitDir, commonDir }: Repository,
): Promise<Pinned | Problem> {
  const lent = readPinned({ path: own.path, place: own.path });
  if (!lent || realpathSync(lent.commonDir) !== realpathSync(commonDir))
    return { where: top, what: 'it is no worktree of the repository that it is in' };
  const pinned: Pinned = { ...lent, top, gitDir };
  ensureFolder(own.place);
  writeWhole(join(own.place, PINNED), JSON.stringify(pinned));
  removeStale(own);
  return pinned;
}

async function fillFolder(own: OwnFolder, repository: Configured, env: Env): Promise<Pinned | Problem> {
  try {
    const pinned = pinnedOf(repository);
    if (readPinned(own)?.format !== pinned.format) rmSync(own.path, { recursive: true, force: true });
    ensureFolder(own.path);
    if (!existsSync(join(own.path, 'HEAD'))) {
      const flags = ['--bare', '--quiet', '--template=', `--object-format=${pinned.format}`];
      const { code, output } = await own.git.run(['init', ...flags, own.path]);
      if (code !== 0) return notMade(own, complaint(output, code));
    }
    for (const name of LEFT_BY_OTHERS) rmSync(join(own.path, name), { recursive: true, force: true });
    ensureFolder(join(own.path, 'info'));
    writeWhole(join(own.path, 'config'), configOf(own, pinned, env));
    writeWhole(join(own.path, 'info/attributes'), `${infoOf(repository, 'attributes')}\n${NO_DIFF_RULES}`);
    writeWhole(join(own.path, 'attributes'), await usersFile(repository, env, ATTRIBUTES));
    writeWhole(join(own.path, 'info/exclude'), excludesOf(own, repository));
    writeWhole(join(own.path, 'excludes'), await usersFile(repository, env, EXCLUDES));
    writeWhole(join(own.place, PINNED), JSON.stringify(pinned));
    removeStale(own);
    return pinned;
  } catch (error) {
    return notMade(own, errorWords(error));
  }
}

/** No file is compared by a program of somebody's. */
export const NO_DIFF_RULES = '* !diff\n';

/** Nothing of ours has these; whoever wrote one wanted to be obeyed. */
const LEFT_BY_OTHERS = ['hooks', 'commondir', 'config.worktree', 'objects/info/alternates', 'refs/replace'];

function notMade({ path }: OwnFolder, why: string): Problem {
  return {
    where: path,
    what: `Ralph's own git directory cannot be made: ${why}`,
    fix: 'make the folder writable, or set XDG_STATE_HOME to one that is',
  };
}

/** What these say is about files, and starts nothing. */
const MEANINGFUL = new Set([
  'core.autocrlf',
  'core.eol',
  'core.filemode',
  'core.symlinks',
  'core.ignorecase',
  'core.precomposeunicode',
  'user.name',
  'user.email',
]);

const REMOTE = /^(remote\..*\.(url|pushurl)|remote\.pushdefault|branch\..*\.(remote|merge|pushremote))$/;
const FILTER = /^filter\.(.*)\.(?:clean|process)$/s;
const SMUDGE = /^filter\.(.*)\.(?:smudge|process)$/s;

interface Setting {
  readonly scope: string;
  readonly key: string;
  readonly value: string;
}

/** A repository, and what its settings are. */
export interface Configured extends Repository {
  readonly settings: readonly Setting[];
}

export async function readSettings({ git }: Pick<Repository, 'git'>): Promise<readonly Setting[]> {
  const { records } = await git.list(['config', '--list', '-z', '--show-scope']);
  return records.flatMap((scope, at) => {
    // What is only named is switched on.
    const [key = '', value = 'true'] = records[at + 1]?.split(/\n(.*)/s) ?? [];
    return at % 2 === 0 ? [{ scope, key, value }] : [];
  });
}

function pinnedOf({ top, gitDir, commonDir, format, settings }: Configured): Pinned {
  const valued = settings.map(({ key, value }) => [key, value] as const);
  const isSparse = valued.findLast(([key]) => key === 'core.sparsecheckout')?.[1] === 'true';
  const smudging = valued.filter(([, value]) => value !== '' && value !== 'cat');
  return {
    version: VERSION,
    isSparse,
    ...defined({
      sparse: isSparse ? readIfThere(join(gitDir, 'info/sparse-checkout')) : undefined,
      signing: signingOf(settings),
    }),
    lfs: usersAlone(settings).findLast(([key]) => key === 'lfs.storage')?.[1] ?? join(commonDir, 'lfs'),
    smudging: [...new Set(smudging.flatMap(([key]) => SMUDGE.exec(key)?.[1] ?? []))],
    top,
    gitDir,
    commonDir,
    objects: tryTo(() => realpathSync(join(commonDir, 'objects'))) ?? join(commonDir, 'objects'),
    remotes: valued.filter(([key]) => REMOTE.test(key)),
    filters: [...new Set(valued.flatMap(([key]) => FILTER.exec(key)?.[1] ?? []))],
    settings: [...new Map(valued.filter(([key]) => MEANINGFUL.has(key)))],
    format: format === 'sha256' ? 'sha256' : 'sha1',
  };
}

/** What the repository cannot say: an agent may have written its settings. */
function usersAlone(settings: readonly Setting[]): readonly (readonly [string, string])[] {
  return settings
    .filter(({ scope }) => scope !== 'local' && scope !== 'worktree')
    .map(({ key, value }) => [key, value] as const);
}

/** Names a program that would be run: only the user and the machine may. */
const SIGNER = /^gpg\.((openpgp|x509|ssh)\.)?(program|defaultkeycommand)$/;
const SIGNED_WITH = /^(user\.signingkey|gpg\.format)$/;

function signingOf(settings: readonly Setting[]): Pinned['signing'] {
  const isAsked = settings.findLast(({ key }) => key === 'commit.gpgsign')?.value ?? '';
  if (!/^(true|yes|on|1)$/i.test(isAsked)) return undefined;
  const named = settings.filter(({ key }) => SIGNED_WITH.test(key));
  const programs = usersAlone(settings).filter(([key]) => SIGNER.test(key));
  return [...new Map([...named.map(({ key, value }) => [key, value] as const), ...programs])];
}

function configOf({ path }: OwnFolder, { settings, format, top, lfs }: Pinned, env: Env): string {
  const filter = lfsConfig(env, top);
  return toConfig([
    ...settings,
    ['core.repositoryformatversion', format === 'sha256' ? '1' : '0'],
    ...(format === 'sha256' ? [['extensions.objectformat', 'sha256'] as const] : []),
    ['core.bare', 'false'],
    ['core.hookspath', '/dev/null'],
    ['core.fsmonitor', 'false'],
    ['core.safecrlf', 'false'],
    ['core.quotepath', 'false'],
    ['core.attributesfile', join(path, 'attributes')],
    ['core.excludesfile', join(path, 'excludes')],
    ['core.splitindex', 'false'],
    ['core.sparsecheckout', 'false'],
    ['core.compression', '1'],
    ['core.fsync', 'none'],
    ['index.sparse', 'false'],
    // Its hash says which index it is.
    ['index.skiphash', 'false'],
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
    ...filter,
    // What is there is used where it is. Nothing is fetched, whatever the work tree says: what is not there stays a pointer.
    ...(filter.length > 0 && lfs ? Object.entries({ ...NO_LFS_NETWORK, 'lfs.storage': lfs }) : []),
  ]);
}

const NO_LFS_NETWORK = { 'lfs.url': '', 'lfs.skipdownloaderrors': 'true' };

/** The one filter that is run: without it every file in LFS would look changed. */
export function lfsConfig(env: Env, top: string): readonly (readonly [string, string])[] {
  const program = findProgram('git-lfs', env, top);
  if (typeof program !== 'string') return [];
  const command = joinWords([program]);
  return [
    ['filter.lfs.clean', `${command} clean -- %f`],
    ['filter.lfs.smudge', `${command} smudge -- %f`],
    ['filter.lfs.process', `${command} filter-process`],
    ['filter.lfs.required', 'true'],
  ];
}

export function toConfig(entries: readonly (readonly [string, string])[]): string {
  const quoted = (value: string) =>
    `"${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\0', '')}"`;
  return entries
    .map(([key, value]) => {
      const parts = key.split('.');
      const section = parts.length > 2 ? `${parts[0]} "${parts.slice(1, -1).join('.')}"` : parts[0];
      return `[${section}]\n\t${parts.at(-1)} = ${quoted(value)}\n`;
    })
    .join('');
}

/** The rules of the repository that are in no file of the work tree, as they are now. To read a pipe would wait for ever. */
function infoOf({ commonDir }: Repository, name: 'attributes' | 'exclude'): string {
  const file = join(commonDir, 'info', name);
  const stat = tryTo(() => statSync(file));
  return stat?.isFile() && stat.size <= MOST_RULES ? (tryTo(() => readIfThere(file)) ?? '') : '';
}

/** Bytes. git reads no more of attributes either. */
const MOST_RULES = 100 * 1024 * 1024;

/** With what is Ralph's. */
function excludesOf({ path, root }: OwnFolder, repository: Repository): string {
  const parts = root.split('/');
  const folders = parts.map((_, at) => [...parts.slice(0, at), '.ralph'].join('/'));
  const ours = [...folders, ...(isBelow(path, repository.top) ? [relative(repository.top, path)] : [])];
  return [infoOf(repository, 'exclude'), ...ours.map(ignoreRule), ''].join('\n');
}

/** Has git ignore this folder, from the top, and none deeper. */
export function ignoreRule(folder: string): string {
  return `/${folder.replace(/[\\*?[ ]/g, '\\$&')}/`;
}

/** Rules of the user for every repository: what names their file, and where it is if nothing does. */
const EXCLUDES = { key: 'core.excludesfile', usual: 'git/ignore' } as const;
const ATTRIBUTES = { key: 'core.attributesfile', usual: 'git/attributes' } as const;

/** Only from the settings of the user and the machine: those of the repository are the agent's to write. */
async function usersFile(
  { git, settings }: Configured,
  env: Env,
  { key, usual }: typeof EXCLUDES | typeof ATTRIBUTES,
): Promise<string> {
  const home = env.HOME || homedir();
  const isNamed = (wanted: string) => (each: Setting) =>
    each.scope === wanted && each.key === key && each.value !== '';
  const { scope, value = '' } =
    settings.findLast(isNamed('global')) ?? settings.findLast(isNamed('system')) ?? {};
  // Only git knows where another user lives, and where it is installed itself.
  const named = /^(~[^/]|%\()/.test(value)
    ? (await git.run(['config', `--${scope}`, '--includes', '--type=path', '--get', key])).stdout
    : value.replace(/^~(?=\/)/, home);
  const place = join(env.XDG_CONFIG_HOME || join(home, '.config'), usual);
  return tryTo(() => readIfThere(named.replace(/\n$/, '') || place)) ?? '';
}

/** Indexes of processes that are dead. */
function removeStale({ place }: OwnFolder): void {
  for (const name of namesIn(place)) {
    const pid = /^(?:index|other)\.(\d+)\b/.exec(name)?.[1];
    if (pid !== undefined && !isAlive({ pid: Number(pid), started: '' }))
      rmSync(join(place, name), { recursive: true, force: true });
  }
}

/** So many packs make every look slower. */
const MOST_PACKS = 40;
/** In one of 256 folders, so of about 5,000. */
const MOST_LOOSE = 20;

/** Puts what is in many packs and files into one. Nothing is left out: what no name leads to may be the files of a run. */
export async function tidy(own: Pick<OwnFolder, 'path' | 'git'>): Promise<void> {
  const packs = namesIn(join(own.path, 'objects/pack')).filter(name => name.endsWith('.pack'));
  const loose = namesIn(join(own.path, 'objects/17'));
  if (packs.length <= MOST_PACKS && loose.length <= MOST_LOOSE) return;
  await withLock(`${own.path}.lock`, () => own.git.run(['repack', '-a', '-d', '-k', '-q']));
}
