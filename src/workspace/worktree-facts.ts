/** What is known of a worktree: whether its name can be one, what is at its path, what the user should hear of it. */
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { namesIn, readIfThere, tryTo } from '../platform/files.ts';
import type { Env } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import { type ProjectPaths, projectPaths } from '../store/paths.ts';
import { commitOf } from './refs.ts';
import { findRepository, type Repository } from './repository.ts';

/** One worktree of a project, there or not. */
export interface Site {
  readonly name: string;
  readonly root: string;
  readonly env: Env;
  readonly repository: Repository;
  readonly project: ProjectPaths;
  readonly path: string;
  readonly branch: string;
}

export interface SiteOptions {
  /** The project's folder: the top of the repository or one below it. */
  readonly root: string;
  readonly env: Env;
  readonly name: string;
}

export async function findSite({ root, env, name }: SiteOptions): Promise<Site | Problem> {
  const wrong = wrongName(name);
  if (wrong) return wrong;
  const repository = await findRepository({ cwd: root, env });
  if ('what' in repository) return repository;
  const project = projectPaths(root);
  return { name, root, env, repository, project, path: project.worktree(name), branch: `ralph/${name}` };
}

function wrongName(name: string): Problem | undefined {
  // Those of a parallel run are in a folder that is named after it.
  const parts = /^\d{8}-\d{6}-[a-z0-9]+\//.test(name) ? name.split('/') : [name];
  const isName = (part: string) =>
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(part) && !/\.\.|\.$|\.lock$/.test(part);
  if (parts.length <= 2 && parts.every(isName)) return undefined;
  return {
    where: `worktree ${JSON.stringify(name)}`,
    what: 'cannot be the name of a folder and of a branch: at most 64 letters, digits, hyphens, underscores and single dots can',
    fix: 'for example --worktree=fix-login',
  };
}

/** One lock for all worktrees of a repository, since git cannot make two at once. */
export function lockOf({ repository }: Site): string {
  return join(repository.commonDir, 'ralph-worktree.lock');
}

/** Nothing is there that could be lost. */
export function isFree({ path }: Site): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat === undefined || (stat.isDirectory() && readdirSync(path).length === 0);
}

/** Why what is at the path cannot be worked in; undefined when it is the worktree that it should be. */
export async function whyNotOurs(site: Site): Promise<Problem | undefined> {
  const { path, branch } = site;
  const there = await worktreeAt(site);
  if (!there) {
    const isMoved = tryTo(() => lstatSync(join(path, '.git')))?.isFile() === true;
    const repair = command('-C', site.root, 'worktree', 'repair', path);
    const otherwise = 'move it away, or take another name with --worktree=NAME';
    const fix = isMoved ? `if you have moved the project: ${repair}; else ${otherwise}` : otherwise;
    return { where: path, what: 'is in the way: it is no worktree of this repository', fix };
  }
  // The reasons that git gives: its own while it makes one, and that of `--lock`.
  if (isIncomplete(there)) {
    const fix = `if there is nothing in it that you need: ${command('-C', site.root, 'worktree', 'remove', '-f', '-f', path)}`;
    return { where: path, what: 'is incomplete: git was stopped while creating it', fix };
  }
  const current = there.head.branch;
  if (current === branch) return undefined;
  const fix = command('-C', path, 'switch', branch);
  return { where: path, what: `is on ${current ?? 'no branch'} and not on ${branch}`, fix };
}

const UNFINISHED = /^(initializing|added with --lock)/;

/** git was stopped, or Ralph was, before all its files were there. */
export function isIncomplete({ gitDir }: Repository): boolean {
  return UNFINISHED.test(readIfThere(join(gitDir, 'locked')) ?? '');
}

/** The same by what git has on record of a path at which there is nothing. */
export function isListedIncomplete(site: Site): boolean {
  const record = recordOf(site);
  return record !== undefined && UNFINISHED.test(readIfThere(join(record, 'locked')) ?? '');
}

/** Where git has on record that a worktree is at the path, whether there is one or not. */
export function recordOf({ path, root, repository }: Site): string | undefined {
  const wanted = join(realpathSync(root), relative(root, path), '.git');
  const records = join(repository.commonDir, 'worktrees');
  return namesIn(records)
    .map(name => join(records, name))
    .find(record => {
      const at = readIfThere(join(record, 'gitdir'))?.trimEnd();
      return at !== undefined && resolve(record, at) === wanted;
    });
}

/** What is at the path, if that is a worktree of the repository, on whatever branch. */
export async function worktreeAt({ path, env, repository }: Site): Promise<Repository | undefined> {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  const there = await findRepository({ cwd: path, env });
  if ('what' in there || there.top !== realpathSync(path)) return undefined;
  return realpathSync(there.commonDir) === realpathSync(repository.commonDir) ? there : undefined;
}

export async function branchExists({ repository, branch }: Site): Promise<boolean> {
  return (await commitOf(repository, `refs/heads/${branch}`)) !== undefined;
}

/** What is different in the worktree from what one may expect. */
export async function notesOn({ root, env, path, repository }: Site): Promise<readonly string[]> {
  const notes: string[] = [];
  if (existsSync(join(path, '.gitmodules')) && (await hasEmptySubmodule(repository, path))) {
    const fetch = command('-C', path, 'submodule', 'update', '--init', '--recursive');
    notes.push(`Not every submodule is checked out in the worktree: ${fetch} does it.`);
  }
  if (await isSparse(repository)) {
    const there = await findRepository({ cwd: path, env });
    const same = !('what' in there) && (await isSparse(there));
    notes.push(
      same
        ? 'The worktree is a sparse checkout, as the repository is.'
        : `The repository is a sparse checkout, the worktree holds every file: ${root} shows fewer.`,
    );
  }
  return notes;
}

/** One that the repository has no copy of cannot be filled without a network. */
async function hasEmptySubmodule({ git }: Repository, path: string): Promise<boolean> {
  const asked = ['config', '-z', '-f', join(path, '.gitmodules'), '--get-regexp', '^submodule\\..*\\.path$'];
  const { records } = await git.list(asked);
  const paths = records.map(record => record.slice(record.indexOf('\n') + 1));
  return paths.some(name => existsSync(join(path, name)) && !existsSync(join(path, name, '.git')));
}

/** Without a file of rules it is none, whatever the settings say. */
export async function isSparse({ git, gitDir }: Repository): Promise<boolean> {
  if (!existsSync(join(gitDir, 'info/sparse-checkout'))) return false;
  return (await git.run(['config', '--type=bool', '--get', 'core.sparseCheckout'])).stdout.trim() === 'true';
}

/** A git command that works when it is pasted into a shell, in any folder. */
export function command(...words: readonly string[]): string {
  return `\`${joinWords(['git', ...words])}\``;
}
