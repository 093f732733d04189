/** The repository that a folder belongs to, or why there is none to work with. */

import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import type { Captured } from '../platform/capture.ts';
import { tryTo } from '../platform/files.ts';
import { complaint, type Env, type Git, git, withConfig } from '../platform/git.ts';

export interface Repository {
  /** The top of the work tree that `cwd` is in, symbolic links resolved. */
  readonly top: string;
  /** What is shared by all worktrees of the repository. */
  readonly commonDir: string;
  /** What belongs to this worktree alone. */
  readonly gitDir: string;
  /** `cwd` below `top`: empty, or ends with a slash. */
  readonly prefix: string;
  /** git in `cwd`. */
  readonly git: Git;
}

export const findRepository = remembering<Repository | Problem>(async ({ cwd, env }) => {
  const here = git(cwd, env);
  const wanted = ['--show-toplevel', '--git-common-dir', '--absolute-git-dir', '--show-prefix'] as const;
  const answer = await here.run(['rev-parse', ...wanted]);
  if (answer.code !== 0) return { value: await whyNot(here, answer), ...(existsSync(cwd) && { files: [] }) };
  let lines = answer.stdout.split('\n').slice(0, -1);
  // A path may hold a line break: then ask for one at a time.
  if (lines.length !== wanted.length) lines = await Promise.all(wanted.map(flag => alone(here, flag)));
  const [top = '', common = '', gitDir = '', prefix = ''] = lines;
  const commonDir = isAbsolute(common) ? common : resolve(cwd, common);
  const files = [commonDir, gitDir].flatMap(folder => [
    join(folder, 'config'),
    join(folder, 'config.worktree'),
  ]);
  return { value: { top, commonDir, gitDir, prefix, git: here }, files };
});

async function alone(here: Git, flag: string): Promise<string> {
  return (await here.run(['rev-parse', flag])).stdout.replace(/\n$/, '');
}

async function whyNot(here: Git, { code, output }: Captured): Promise<Problem> {
  const where = here.cwd;
  if (!existsSync(where)) return { where, what: 'there is no such folder' };
  if (code === 127) return { where, what: 'git cannot be started', fix: 'install git' };
  const bare = (await here.run(['rev-parse', '--is-bare-repository'])).stdout.trim();
  if (bare === 'true') {
    return { where, what: 'this is a bare repository: there are no files to work on', fix: 'clone it' };
  }
  if (bare === 'false') return { where, what: 'this is inside of the .git folder, not of a work tree' };
  if (/not a git repository/.test(output)) {
    return { where, what: 'this is not in a git repository', fix: '`git init` creates one' };
  }
  return { where, what: `git refuses: ${complaint(output, code)}` };
}

/** The commit that HEAD stands on; undefined before the first commit. */
export async function headCommit(here: Git): Promise<string | undefined> {
  const { code, stdout } = await here.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  return code === 0 ? stdout.trim() : undefined;
}

/**
 * git that only looks: it runs no clean or smudge filter. Those are commands out of the repository's settings,
 * which an agent can write, and comparing files would start them.
 */
export async function lookOnly(place: Place): Promise<Git> {
  const off = (await filtersOf(place)).flatMap(name => [
    [`filter.${name}.clean`, ''],
    [`filter.${name}.process`, ''],
    [`filter.${name}.required`, 'false'],
  ]);
  return git(place.cwd, withConfig(place.env, { ...Object.fromEntries(off), ...SMALL_INDEX }));
}

const filtersOf = remembering(async ({ cwd, env }): Promise<Answer<readonly string[]>> => {
  const { records } = await git(cwd, env).list(['config', '--list', '--show-origin', '--name-only', '-z']);
  const origins = records.filter((_, at) => at % 2 === 0);
  const keys = records.filter((_, at) => at % 2 === 1);
  const names = keys.filter(key => key.startsWith('filter.')).map(key => key.slice(7, key.lastIndexOf('.')));
  const value = [...new Set(names)];
  // These lead to files that are not there yet, or to others on another branch.
  if (keys.some(key => /^include|^extensions\.worktreeconfig$/.test(key))) return { value };
  const files = new Set(origins.filter(each => each.startsWith('file:')).map(each => each.slice(5)));
  return { value, files: [...files].map(file => resolve(cwd, file)) };
});

/** A file above this many bytes is reported, not shown. */
export const LARGE = 1024 * 1024;

/** An index of ours is one plain file, and a large object is not read to be compared line by line. */
const SMALL_INDEX = {
  'core.bigFileThreshold': String(LARGE),
  'core.splitIndex': 'false',
  'index.sparse': 'false',
};

/** In Ralph's own folder, wherever that is. Not left to git: patterns make its status a third slower. */
export function isRalphs(path: string): boolean {
  return path.includes('.ralph') && path.split('/').includes('.ralph');
}

/** For a message: as it is, or quoted when something in it could be taken for more than a name. */
export function shownPath(path: string): string {
  return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"\\]|^\s|\s$/u.test(path) ? JSON.stringify(path) : path;
}

/**
 * What git has said about a place, for as long as nothing has changed that it goes by: to ask again would cost a
 * process for every iteration. An agent may change all of it: its marks are compared before every use.
 */

export interface Place {
  readonly cwd: string;
  readonly env: Env;
}

export interface Answer<T> {
  readonly value: T;
  /** The files it rests on, beside those that git always reads; undefined: it is not to be remembered. */
  readonly files?: readonly string[];
}

/** The same question, asked of git only when it must be. */
export function remembering<T>(ask: (place: Place) => Promise<Answer<T>>): (place: Place) => Promise<T> {
  const memory = new Map<string, { readonly marks: string; readonly files: readonly string[]; value: T }>();
  return async place => {
    const key = `${place.cwd}\0${environmentOf(place.env)}`;
    const known = memory.get(key);
    if (known && known.marks === marksOf(place, known.files)) return known.value;
    const before = marksOf(place, []);
    const { value, files } = await ask(place);
    // What changed while git looked may be older than its answer, or newer.
    if (files && before === marksOf(place, []))
      memory.set(key, { marks: marksOf(place, files), files, value });
    else memory.delete(key);
    return value;
  };
}

/** Whether git could find a repository from here: without a `.git` on the way up there is none. */
export function isUnderGit(cwd: string): boolean {
  return nearestGit(cwd) !== undefined;
}

function nearestGit(cwd: string): string | undefined {
  let folder = real(cwd);
  for (;;) {
    const path = join(folder, '.git');
    if (existsSync(path)) return path;
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
}

function real(path: string): string {
  return tryTo(() => realpathSync.native(path)) ?? path; // it is gone; git will say so
}

/** Which repository it is and what its settings are, as far as files tell. */
function marksOf({ cwd, env }: Place, files: readonly string[]): string {
  const nearest = nearestGit(cwd);
  const own =
    nearest === undefined ? [] : [nearest, join(nearest, 'config'), join(nearest, 'config.worktree')];
  return [real(cwd), ...own, ...settingsFiles(env), ...files]
    .map(path => `${path} ${version(path)}`)
    .join('\n');
}

/** Where settings of a user and of the machine are, or would be. */
function settingsFiles(env: Env): readonly string[] {
  const home = env.HOME ?? homedir();
  return [
    env.GIT_CONFIG_GLOBAL ?? join(home, '.gitconfig'),
    join(env.XDG_CONFIG_HOME || join(home, '.config'), 'git/config'),
    env.GIT_CONFIG_SYSTEM ?? '/etc/gitconfig',
  ];
}

/** A folder's times change with every file in it; the time of change of a file cannot be set by whoever writes it. */
function version(path: string): string {
  try {
    const stat = statSync(path, { bigint: true });
    const id = `${stat.dev} ${stat.ino}`;
    return stat.isDirectory() ? id : `${id} ${stat.size} ${stat.ctimeNs}`;
  } catch {
    return 'none';
  }
}

function environmentOf(env: Env): string {
  return Object.entries(env)
    .filter(([name]) => /^(GIT_|HOME$|XDG_CONFIG_HOME$)/.test(name))
    .map(([name, value]) => `${name}=${value}`)
    .join('\0');
}
