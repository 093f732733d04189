/** Takes worktrees of Ralph's own away: one whose work is safe elsewhere, and no other. */
import { rmSync } from 'node:fs';
import type { Problem } from '../domain/problem.ts';
import { complaint } from '../platform/git.ts';
import { ownerOf, withLock } from './lock.ts';
import { isDirty } from './worktree.ts';
import {
  branchExists,
  command,
  findSite,
  isFree,
  lockOf,
  type Site,
  type SiteOptions,
  whyNotOurs,
} from './worktree-facts.ts';
import { whyKeepIgnored } from './worktree-ignored.ts';

/** Removes the worktree and its branch, unless something in them is nowhere else: then it says what to do. */
export async function removeWorktree({
  force = false,
  ...options
}: SiteOptions & {
  /** Also with files in it that git ignores. */
  readonly force?: boolean;
}): Promise<Problem | undefined> {
  const site = await findSite(options);
  if ('what' in site) return site;
  return await withLock(lockOf(site), () => remove(site, force));
}

async function remove(site: Site, force: boolean): Promise<Problem | undefined> {
  const { name, path, root, branch, repository, project } = site;
  const { git } = repository;
  const hasFolder = !isFree(site);
  const hasBranch = await branchExists(site);
  if (!hasFolder && !hasBranch) return { where: path, what: 'there is no such worktree' };
  const problem =
    (hasFolder ? await whyKeepFolder(site) : undefined) ??
    (hasFolder && !force ? await whyKeepIgnored(site) : undefined) ??
    (hasBranch ? await whyKeepCommits(site) : undefined);
  if (problem) return problem;
  if (hasFolder) {
    // Forced, because git would look at the files itself, and run what the repository says. We have looked.
    const removed = await git.run(['worktree', 'remove', '--force', '--', path]);
    if (removed.code !== 0)
      return { where: path, what: `git does not remove it: ${complaint(removed.output, removed.code)}` };
  }
  rmSync(project.worktreeOwner(name), { force: true });
  if (!hasBranch) return undefined;
  // Not `-d`: that only looks at HEAD, and we have seen that all of it is on some branch.
  const deleted = await git.run(['branch', '--quiet', '-D', '--', branch]);
  if (deleted.code === 0) return undefined;
  const fix = `${command('-C', root, 'branch', '-d', branch)} tries again`;
  return { where: branch, what: `git does not delete it: ${complaint(deleted.output, deleted.code)}`, fix };
}

/** Takes away a worktree whose work is safe elsewhere, with all that git ignores in it, and its branch. The caller knows that it is. */
export async function discardWorktree(options: SiteOptions): Promise<Problem | undefined> {
  const site = await findSite(options);
  if ('what' in site) return site;
  const { path, branch, repository, project, name } = site;
  return withLock(lockOf(site), async () => {
    const { git } = repository;
    if (!isFree(site)) {
      const removed = await git.run(['worktree', 'remove', '--force', '--force', '--', path]);
      if (removed.code !== 0) return { where: path, what: complaint(removed.output, removed.code) };
    }
    rmSync(project.worktreeOwner(name), { force: true });
    if (await branchExists(site)) await git.run(['branch', '--quiet', '-D', '--', branch]);
    return undefined;
  });
}

async function whyKeepFolder(site: Site): Promise<Problem | undefined> {
  const { path, project, name } = site;
  const owner = ownerOf(project.worktreeOwner(name));
  // A run of this very process has asked for it.
  if (owner && owner.pid !== process.pid)
    return { where: path, what: `is in use by another run (process ${owner.pid})` };
  const wrong = await whyNotOurs(site);
  if (wrong) return wrong;
  if (!(await isDirty(site))) return undefined;
  const fix = `${command('-C', path, 'status')} shows them; ${command('-C', path, 'add', '--all')} and ${command('-C', path, 'commit')} keep them`;
  return { where: path, what: 'holds changes that are not committed', fix };
}

async function whyKeepCommits({ branch, root, repository }: Site): Promise<Problem | undefined> {
  const others = ['--not', 'HEAD', `--exclude=${branch}`, '--branches', '--remotes'];
  const alone = await repository.git.run(['rev-list', '--count', `refs/heads/${branch}`, ...others, '--']);
  if (alone.code !== 0) return { where: branch, what: complaint(alone.output, alone.code) };
  const count = Number(alone.stdout);
  if (count === 0) return undefined;
  const fix = `${command('-C', root, 'log', '--oneline', `HEAD..${branch}`)} shows them; ${command('-C', root, 'merge', branch)} takes them over`;
  return {
    where: branch,
    what: `holds ${count} ${count === 1 ? 'commit' : 'commits'} that no other branch has`,
    fix,
  };
}
