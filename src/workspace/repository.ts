/** The repository that a folder belongs to, or why there is none to work with. */
import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import type { Captured } from '../platform/capture.ts';
import { complaint, type Env, type Git, git, withConfig } from '../platform/git.ts';

export interface Place {
  readonly cwd: string;
  readonly env: Env;
}

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
  const wanted = ['--show-toplevel', '--git-common-dir', '--absolute-git-dir', '--show-prefix'] as const;
  const answer = await here.run(['rev-parse', ...wanted]);
  if (answer.code !== 0) return await whyNot(here, answer);
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
  if (code === 127) return { where, what: 'git cannot be started', mend: 'install git' };
  const bare = (await here.run(['rev-parse', '--is-bare-repository'])).stdout.trim();
  if (bare === 'true') {
    return { where, what: 'this is a bare repository: there are no files to work on', mend: 'clone it' };
  }
  if (bare === 'false') return { where, what: 'this is inside of the .git folder, not of a work tree' };
  if (/not a git repository/.test(output)) {
    return { where, what: 'this is not in a git repository', mend: '`git init` makes one' };
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
export async function lookOnly({ cwd, env }: Place): Promise<Git> {
  const filters = await git(cwd, env).list(['config', '--name-only', '-z', '--get-regexp', '^filter\\..']);
  const names = new Set(filters.records.map(key => key.slice('filter.'.length, key.lastIndexOf('.'))));
  const off = [...names].flatMap(name => [
    [`filter.${name}.clean`, ''],
    [`filter.${name}.process`, ''],
    [`filter.${name}.required`, 'false'],
  ]);
  return git(cwd, withConfig(env, { ...Object.fromEntries(off), ...SMALL_INDEX }));
}

/** A file above this many bytes is told of, not shown. */
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
