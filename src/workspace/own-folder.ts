/**
 * The folder of Ralph's own git directory for a work tree: outside of the project, with a configuration that Ralph wrote. Nothing in the
 * repository decides what runs when Ralph looks at the files: filters, hooks, fsmonitor, includes, attributes and submodules of the
 * repository are not known here. What its settings mean for the content of files is taken over when a run begins.
 */
import { existsSync, realpathSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder, namesIn, readIfThere, tryTo, writeWhole } from '../platform/files.ts';
import { bareGit, complaint, type Env, type Git } from '../platform/git.ts';
import { isAlive } from '../platform/process-table.ts';
import { findProgram } from '../platform/programs.ts';
import { joinWords } from '../platform/shell.ts';
import { statePaths } from '../store/state.ts';
import { withLock } from './lock.ts';
import type { Repository } from './repository.ts';

export interface OwnFolder {
  readonly path: string;
  /** git on the folder alone: objects, no files. */
  readonly git: Git;
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
  /** The filters that it has, by name. */
  readonly filters: readonly string[];
  /** The settings of the repository that matter for what is in a file, as lines of a git configuration. */
  readonly settings: readonly (readonly [string, string])[];
  readonly format: string;
  /** Not every file of a commit is meant to be there. */
  readonly isSparse: boolean;
}

const VERSION = 1;

export function folderOf(top: string, env: Env): OwnFolder {
  const path = statePaths(env).git(top);
  return { path, git: bareGit(top, env, ownEnv(env, path)).at(path) };
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
  };
}

export function readPinned({ path }: OwnFolder): Pinned | undefined {
  const kept = tryTo(() => JSON.parse(readIfThere(join(path, PINNED)) ?? 'null'));
  return kept?.version === VERSION && existsSync(join(path, 'objects')) ? kept : undefined;
}

const PINNED = 'ralph.json';
const ABSENT = 'absent.json';

export function writeAbsent({ path }: OwnFolder, paths: readonly string[]): void {
  writeWhole(join(path, ABSENT), JSON.stringify(paths));
}

export function readAbsent({ path }: OwnFolder): ReadonlySet<string> {
  return new Set(tryTo(() => JSON.parse(readIfThere(join(path, ABSENT)) ?? '[]')) ?? []);
}

/** Makes the folder, or takes over the settings as they are now. What is damaged is made anew. */
export async function prepareFolder(
  own: OwnFolder,
  repository: Repository,
  env: Env,
): Promise<Pinned | Problem> {
  const pinned = await pinnedNow(repository);
  try {
    ensureFolder(dirname(own.path));
  } catch (error) {
    return notMade(own, errorWords(error));
  }
  // Two runs may begin in one work tree.
  return withLock(`${own.path}.lock`, () => fillFolder(own, repository, env, pinned));
}

async function fillFolder(
  own: OwnFolder,
  repository: Repository,
  env: Env,
  pinned: Pinned,
): Promise<Pinned | Problem> {
  try {
    if (readPinned(own)?.format !== pinned.format) rmSync(own.path, { recursive: true, force: true });
    ensureFolder(own.path);
    if (!existsSync(join(own.path, 'HEAD'))) {
      const flags = ['--bare', '--quiet', '--template=', `--object-format=${pinned.format}`];
      const { code, output } = await own.git.run(['init', ...flags, own.path]);
      if (code !== 0) return notMade(own, complaint(output, code));
    }
    for (const name of LEFT_BY_OTHERS) rmSync(join(own.path, name), { recursive: true, force: true });
    ensureFolder(join(own.path, 'info'));
    writeWhole(join(own.path, 'config'), configOf(pinned, env));
    writeWhole(join(own.path, 'info/attributes'), '* !diff !merge\n');
    writeWhole(join(own.path, 'info/exclude'), excludesOf(own, repository));
    writeWhole(join(own.path, 'excludes'), await usersExcludes(repository, env));
    writeWhole(join(own.path, PINNED), JSON.stringify(pinned));
    removeStale(own);
    return pinned;
  } catch (error) {
    return notMade(own, errorWords(error));
  }
}

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
const FILTER = /^filter\.(.*)\.(?:clean|process)\n/;

async function pinnedNow({ git, top, gitDir, commonDir }: Repository): Promise<Pinned> {
  const [listed, format] = await Promise.all([
    git.list(['config', '--list', '-z']),
    git.run(['rev-parse', '--show-object-format']),
  ]);
  const settings = listed.records.flatMap(record => {
    const [key = '', ...value] = record.split('\n');
    return MEANINGFUL.has(key) ? [[key, value.join('\n')] as const] : [];
  });
  const sparse = listed.records.findLast(record => record.startsWith('core.sparsecheckout\n'));
  return {
    version: VERSION,
    isSparse: sparse?.endsWith('\ntrue') ?? false,
    top,
    gitDir,
    commonDir,
    objects: tryTo(() => realpathSync(join(commonDir, 'objects'))) ?? join(commonDir, 'objects'),
    remotes: listed.records.flatMap(record => {
      const [key = '', value] = record.split(/\n(.*)/s);
      return REMOTE.test(key) && value !== undefined ? [[key, value] as const] : [];
    }),
    filters: [...new Set(listed.records.flatMap(record => FILTER.exec(record)?.[1] ?? []))],
    settings: [...new Map(settings)],
    format: format.stdout.trim() === 'sha256' ? 'sha256' : 'sha1',
  };
}

function configOf({ settings, format, top }: Pinned, env: Env): string {
  return toConfig([
    ...settings,
    ['core.repositoryformatversion', format === 'sha256' ? '1' : '0'],
    ...(format === 'sha256' ? [['extensions.objectformat', 'sha256'] as const] : []),
    ['core.bare', 'false'],
    ['core.hookspath', '/dev/null'],
    ['core.fsmonitor', 'false'],
    ['core.safecrlf', 'false'],
    ['core.quotepath', 'false'],
    ['core.attributesfile', '/dev/null'],
    ['core.excludesfile', join(statePaths(env).git(top), 'excludes')],
    ['core.splitindex', 'false'],
    ['core.sparsecheckout', 'false'],
    ['core.compression', '1'],
    ['core.fsync', 'none'],
    ['index.sparse', 'false'],
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
    ['checkout.workers', '0'],
    ...lfsConfig(env, top),
  ]);
}

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

/** The rules of the repository that are in no file of the work tree, as they are now; and what is Ralph's. */
function excludesOf({ path }: OwnFolder, { commonDir, top }: Repository): string {
  const rules = readIfThere(join(commonDir, 'info/exclude')) ?? '';
  const below = relative(top, path);
  return `${rules}\n.ralph/\n${below.startsWith('..') ? '' : `/${below}/\n`}`;
}

/** Only from the settings of the user and the machine: those of the repository are the agent's to write. */
async function usersExcludes({ git }: Repository, env: Env): Promise<string> {
  const ask = async (scope: string) =>
    (await git.run(['config', scope, '--includes', '--type=path', '--get', 'core.excludesFile'])).stdout;
  const named = (await ask('--global')) || (await ask('--system'));
  const usual = join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'git/ignore');
  return tryTo(() => readIfThere(named.replace(/\n$/, '') || usual)) ?? '';
}

/** Indexes of processes that are dead. */
function removeStale({ path }: OwnFolder): void {
  for (const name of namesIn(path)) {
    const pid = /^(?:index|other)\.(\d+)\b/.exec(name)?.[1];
    if (pid !== undefined && !isAlive({ pid: Number(pid), started: '' }))
      rmSync(join(path, name), { force: true });
  }
}
