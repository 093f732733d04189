/**
 * Creates a worktree again that the agent has deleted under its run. Its files come from Ralph's own git directory, so that no filter runs
 * that the agent may have set up.
 */
import { existsSync, lstatSync, realpathSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { ensureFolder } from '../platform/files.ts';
import { projectPaths } from '../store/paths.ts';
import { withLock } from './lock.ts';
import { treeIn } from './own-fetch.ts';
import { openOwnGit } from './own-git.ts';
import { findSite, lockOf, type Site, type SiteOptions } from './worktree-facts.ts';

/** `tree`: the files as they were last checked. undefined: the worktree is there; else what became of it, a sentence. */
export async function worktreeAgain(options: SiteOptions, tree?: string): Promise<string | undefined> {
  // Asked after every turn: nearly always it is there.
  if (existsSync(join(projectPaths(options.root).worktree(options.name), '.git'))) return undefined;
  const site = await findSite(options);
  if ('what' in site) return undefined;
  const from = await withLock(lockOf(site), () => addAgain(site, tree));
  const gone = `The worktree ${site.name} was deleted`;
  if (typeof from === 'string')
    return `${gone}. It was created again ${from}; what was done after that is lost.`;
  return `${gone} and cannot be created again: ${from.what}.`;
}

/** The same before a run is resumed. One that git does not know any more was removed by whoever wanted that. */
export async function sweptWorktreeAgain(options: SiteOptions, tree?: string): Promise<string | undefined> {
  const site = await findSite(options);
  if ('what' in site) return undefined;
  const { stdout } = await site.repository.git.run(['worktree', 'list', '--porcelain']);
  const path = join(realpathSync(site.root), relative(site.root, site.path));
  return stdout.split('\n').includes(`worktree ${path}`) ? worktreeAgain(options, tree) : undefined;
}

async function addAgain(site: Site, tree: string | undefined): Promise<string | Problem> {
  const { path, branch, repository, env } = site;
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(path);
  ensureFolder(dirname(path));
  const add = ['worktree', 'add', '--quiet', '--force', '--force', '--no-checkout', path, branch];
  const notAdded = await repository.git.order(add, path);
  if (notAdded) return notAdded;
  const own = await openOwnGit({ cwd: path, env });
  if ('what' in own) return own;
  const checked = tree === undefined ? undefined : await treeIn(own.objects, tree);
  const files = checked ?? (await own.treeOf((await own.head()).commit));
  if (typeof files !== 'string') return files;
  const problem = await own.checkout(files, path);
  if (problem) return problem;
  await repository.git.at(path).run(['read-tree', 'HEAD']);
  return checked !== undefined ? 'with the files that were checked last' : `from ${branch}`;
}
