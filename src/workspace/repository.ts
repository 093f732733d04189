/** The repository that a folder belongs to, or why there is none to work with. */

import { existsSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import type { Captured } from '../platform/capture.ts';
import { tryTo } from '../platform/files.ts';
import { complaint, type Env, type Git, git } from '../platform/git.ts';
import { findProgram } from '../platform/programs.ts';
import { joinWords } from '../platform/shell.ts';
import { isSessionFile } from '../store/session-file.ts';
import { type GitFolders, type Head, headOf } from './refs.ts';

export interface Repository extends GitFolders {
  /** The top of the work tree that `cwd` is in, symbolic links resolved. */
  readonly top: string;
  /** `cwd` below `top`: empty, or ends with a slash. */
  readonly prefix: string;
  /** How its objects are named. */
  readonly format: string;
  /** Where it stood when it was looked for. */
  readonly head: Head;
}

/** Objects as they are, whatever the repository says that they stand for. */
export const TRUE_OBJECTS = { GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null' };

const WHERE = [
  '--show-toplevel',
  '--git-common-dir',
  '--absolute-git-dir',
  '--show-prefix',
  '--show-object-format',
] as const;

export async function findRepository({ cwd, env }: Place): Promise<Repository | Problem> {
  const here = git(cwd, env);
  const program = findProgram('git', env, cwd);
  if (typeof program !== 'string') return program;
  const answer = await here.run(['rev-parse', ...WHERE]);
  let lines = answer.stdout.split('\n').slice(0, -1);
  if (lines.length < WHERE.length) return whyNot(here, env, answer);
  // A path may hold a line break: then ask for one at a time.
  if (lines.length > WHERE.length) lines = await Promise.all(WHERE.map(flag => alone(here, flag)));
  const [top = '', common = '', gitDir = '', prefix = '', format = ''] = lines;
  const folders = { git: here, gitDir, commonDir: isAbsolute(common) ? common : resolve(cwd, common) };
  return { ...folders, top, prefix, format, head: await headOf(folders) };
}

async function alone(here: Git, flag: string): Promise<string> {
  return (await here.run(['rev-parse', flag])).stdout.replace(/\n$/, '');
}

async function whyNot(here: Git, env: Env, { code, output }: Captured): Promise<Problem> {
  const where = here.cwd;
  if (!existsSync(where)) return { where, what: 'there is no such folder' };
  const bare = (await here.run(['rev-parse', '--is-bare-repository'])).stdout.trim();
  if (bare === 'true') {
    return { where, what: 'this is a bare repository: there are no files to work on', fix: 'clone it' };
  }
  if (bare === 'false') return { where, what: 'this is inside of the .git folder, not of a work tree' };
  if (/not a git repository/.test(output)) return noRepository(where, env);
  return { where, what: `git refuses: ${complaint(output, code)}` };
}

/** A repository is found by its folder alone: in the environment it could be another one for every command. */
export function noRepository(where: string, { GIT_DIR: dir }: Env): Problem {
  if (!dir) return { where, what: 'this is not in a git repository', fix: '`git init` creates one' };
  const path = resolve(where, dir);
  const link = `printf 'gitdir: %s\\n' ${joinWords([path])} > .git`;
  const fix = `\`${joinWords(['git', '--git-dir', path, 'config', 'core.bare', 'false'])} && ${link}\` at the top of its files makes it found by every program`;
  return { where, what: `git finds its repository by GIT_DIR (${dir}), and Ralph by the folder alone`, fix };
}

/** A file above this many bytes is reported, not shown. */
export const LARGE = 1024 * 1024;

/**
 * In Ralph's own folder, which is at the root of the project, or above it where that is a project, too; or the file of a loop in a session.
 * A deeper folder of that name is the user's. `path` and `root` are from the top. Not left to git: patterns make its status a third slower.
 */
export function isRalphs(path: string, root: string): boolean {
  if (!path.includes('ralph')) return false;
  const at = /(?:^|\/)\.ralph(?:\/|$)/.exec(path);
  return (
    (at !== null && root.startsWith(path.slice(0, at.index + Number(at.index > 0)))) || isSessionFile(path)
  );
}

/** The same of a name with one character for each byte. */
export function isRalphsBytes(bytes: string, root: string): boolean {
  return bytes.includes('ralph') && isRalphs(Buffer.from(bytes, 'latin1').toString('utf8'), root);
}

/** For a message: as it is, or quoted when something in it could be taken for more than a name. */
export function shownPath(path: string): string {
  return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"\\]|^\s|\s$/u.test(path) ? JSON.stringify(path) : path;
}

export interface Place {
  readonly cwd: string;
  readonly env: Env;
}

/** Whether git could find a repository from here: without a `.git` on the way up there is none. */
export function isUnderGit(cwd: string): boolean {
  return nearestGit(cwd) !== undefined;
}

/** The nearest `.git` on the way up, whatever it is. */
export function nearestGit(cwd: string): string | undefined {
  let folder = real(cwd);
  for (;;) {
    const path = join(folder, '.git');
    if (existsSync(path)) return path;
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
}

function real(path: string): string {
  return tryTo(() => realpathSync(path)) ?? path; // it is gone; git will say so
}

/** By the nearest `.git`: git's own answer can be changed with `core.worktree`. */
export function placeIn(cwd: string): { readonly top: string; readonly prefix: string } | undefined {
  const link = nearestGit(cwd);
  if (link === undefined) return undefined;
  const top = dirname(link);
  const below = relative(top, real(cwd));
  if (below.split(sep)[0] === '.git') return undefined;
  return { top, prefix: below === '' ? '' : `${below.split(sep).join('/')}/` };
}
