/** The repository that a folder belongs to, or why there is none to work with. */

import { existsSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import type { Captured } from '../platform/capture.ts';
import { tryTo } from '../platform/files.ts';
import { complaint, type Env, type Git, git } from '../platform/git.ts';
import { findProgram } from '../platform/programs.ts';
import { isSessionFile } from '../store/session-file.ts';

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

export async function findRepository({ cwd, env }: Place): Promise<Repository | Problem> {
  const here = git(cwd, env);
  const program = findProgram('git', env, cwd);
  if (typeof program !== 'string') return program;
  const wanted = ['--show-toplevel', '--git-common-dir', '--absolute-git-dir', '--show-prefix'] as const;
  const answer = await here.run(['rev-parse', ...wanted]);
  if (answer.code !== 0) return whyNot(here, answer);
  let lines = answer.stdout.split('\n').slice(0, -1);
  // A path may hold a line break: then ask for one at a time.
  if (lines.length !== wanted.length) lines = await Promise.all(wanted.map(flag => alone(here, flag)));
  const [top = '', common = '', gitDir = '', prefix = ''] = lines;
  const commonDir = isAbsolute(common) ? common : resolve(cwd, common);
  return { top, commonDir, gitDir, prefix, git: here };
}

async function alone(here: Git, flag: string): Promise<string> {
  return (await here.run(['rev-parse', flag])).stdout.replace(/\n$/, '');
}

async function whyNot(here: Git, { code, output }: Captured): Promise<Problem> {
  const where = here.cwd;
  if (!existsSync(where)) return { where, what: 'there is no such folder' };
  const bare = (await here.run(['rev-parse', '--is-bare-repository'])).stdout.trim();
  if (bare === 'true') {
    return { where, what: 'this is a bare repository: there are no files to work on', fix: 'clone it' };
  }
  if (bare === 'false') return { where, what: 'this is inside of the .git folder, not of a work tree' };
  if (/not a git repository/.test(output)) return NO_REPOSITORY(where);
  return { where, what: `git refuses: ${complaint(output, code)}` };
}

export const NO_REPOSITORY = (where: string): Problem => ({
  where,
  what: 'this is not in a git repository',
  fix: '`git init` creates one',
});

/** The commit that HEAD stands on; undefined before the first commit. */
export async function headCommit(here: Git): Promise<string | undefined> {
  const { code, stdout } = await here.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  return code === 0 ? stdout.trim() : undefined;
}

/** A file above this many bytes is reported, not shown. */
export const LARGE = 1024 * 1024;

/** In Ralph's own folder, wherever that is, or the file of a loop in a session. Not left to git: patterns make its status a third slower. */
export function isRalphs(path: string): boolean {
  return (path.includes('.ralph') && path.split('/').includes('.ralph')) || isSessionFile(path);
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
