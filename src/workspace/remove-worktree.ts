/** Takes worktrees of Ralph's own away: one whose work is safe elsewhere, and no other. */
import { existsSync, lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { readIfThere, tryTo } from '../platform/files.ts';
import { complaint, type Git } from '../platform/git.ts';
import { hashOfFile } from '../platform/hash.ts';
import { statePaths } from '../store/state.ts';
import { forgetPlace } from './collect.ts';
import { ownerOf, withLock } from './lock.ts';
import { openOwnGit } from './own-git.ts';
import { commitOf, type GitFolders } from './refs.ts';
import { shownPath } from './repository.ts';
import { checkedOutAt } from './take-over.ts';
import { isDirty } from './worktree.ts';
import {
  command,
  findSite,
  isFree,
  lockOf,
  recordOf,
  type Site,
  type SiteOptions,
  whyNotOurs,
} from './worktree-facts.ts';

/** Removes the worktree and its branch, unless something in them is nowhere else: then it says what to do. */
export async function removeWorktree({
  force = false,
  isDry = false,
  ...options
}: SiteOptions & {
  /** Also with files in it that git ignores. */
  readonly force?: boolean;
  /** Only says what is in the way. */
  readonly isDry?: boolean;
}): Promise<Problem | undefined> {
  const site = await findSite(options);
  if ('what' in site) return site;
  return await withLock(lockOf(site), () => remove(site, { force, isDry }));
}

async function remove(
  site: Site,
  { force, isDry }: { readonly force: boolean; readonly isDry: boolean },
): Promise<Problem | undefined> {
  const { path, branch, repository } = site;
  const hasFolder = !isFree(site);
  const tip = await tipOf(site);
  if (!hasFolder && tip === undefined && recordOf(site) === undefined)
    return { where: path, what: 'there is no such worktree' };
  const problem =
    (hasFolder ? await whyKeepFolder(site) : undefined) ??
    (hasFolder ? await whyKeepSubmodules(site) : undefined) ??
    (hasFolder && !force ? await whyKeepIgnored(site) : undefined) ??
    (tip === undefined ? undefined : await whyKeepCommits(site, tip));
  if (problem || isDry) return problem;
  // Forced, because git would look at the files itself, and run what the repository says. We have looked.
  const left = await takeAway(site, ['--force'], placeOf(site));
  return left || tip === undefined ? left : deleteBranch(repository, branch, tip);
}

/** Not by `git branch`: whoever asks has seen that all of it is safe at `tip`, and git must not delete what is there by now. */
export async function deleteBranch(
  { git, commonDir }: GitFolders,
  branch: string,
  tip: string,
): Promise<Problem | undefined> {
  const ref = `refs/heads/${branch}`;
  const elsewhere = await checkedOutAt(git, ref);
  if (elsewhere !== undefined) {
    const fix = `${command('-C', elsewhere, 'switch', '--detach')} leaves it there; ${command('-C', elsewhere, 'branch', '-d', branch)} deletes it then`;
    return { where: branch, what: `it is checked out in ${elsewhere}`, fix };
  }
  const left = await git.order(
    ['update-ref', '--no-deref', '-d', ref, tip],
    branch,
    'git does not delete it',
  );
  if (!left && readIfThere(join(commonDir, 'config'))?.includes(`[branch "${branch}"]`))
    await git.run(['config', '--local', '--remove-section', `branch.${branch}`]);
  return left;
}

/** Takes away a worktree whose work is safe elsewhere, with all that git ignores in it, and its branch. */
export async function discardWorktree({
  keepIgnored = false,
  heldBy,
  ...options
}: SiteOptions & {
  /** A name in the repository of what holds every commit of its branch. */
  readonly heldBy: string;
  /** Not where it holds ignored files that are nowhere else. */
  readonly keepIgnored?: boolean;
}): Promise<Problem | undefined> {
  const site = await findSite(options);
  if ('what' in site) return site;
  const { path, branch, repository } = site;
  return withLock(lockOf(site), async () => {
    const tip = await tipOf(site);
    const isHeld = tip === undefined || (await isIn(repository.git, tip, heldBy));
    if (!isHeld) {
      const fix = `${command('-C', site.root, 'log', `${heldBy}..${branch}`)} shows what it holds; merge it, or delete the branch yourself`;
      return { where: branch, what: `it is at ${tip}, which is nowhere else`, fix };
    }
    if (!isFree(site)) {
      const kept = (await whyKeepSubmodules(site)) ?? (keepIgnored ? await whyKeepIgnored(site) : undefined);
      if (kept) return kept;
    }
    const [record, place] = [recordOf(site), placeOf(site)];
    // It has none when its removal was cut off: git takes the folder away first, in no order, and then its record.
    if (record !== undefined && !existsSync(join(path, '.git')))
      rmSync(path, { recursive: true, force: true });
    const left = await takeAway(site, ['--force', '--force'], place);
    return left || tip === undefined ? left : deleteBranch(repository, branch, tip);
  });
}

function tipOf({ repository, branch }: Site): Promise<string | undefined> {
  return commitOf(repository, `refs/heads/${branch}`);
}

async function isIn(git: Git, commit: string, name: string): Promise<boolean> {
  return (await git.run(['merge-base', '--is-ancestor', commit, name])).code === 0;
}

/** Ralph's own git directory for it; asked for as long as the folder is there, by its real name. */
const placeOf = ({ env, path }: Site) => statePaths(env).git(path);

/** The folder, what git has on record of it, and what Ralph has: the one may be gone without the other. */
async function takeAway(site: Site, force: readonly string[], place: string): Promise<Problem | undefined> {
  const { name, path, repository, project } = site;
  const isThere = !isFree(site) || recordOf(site) !== undefined;
  const remove = ['worktree', 'remove', ...force, '--', path];
  const left = isThere && (await repository.git.order(remove, path, 'git does not remove it'));
  if (left) return left;
  forgetPlace(place);
  for (const file of [project.worktreeOwner(name), project.worktreeUnready(name)])
    rmSync(file, { force: true });
  return undefined;
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

/** Work in a submodule is in no commit of the worktree, whoever says that all of it is safe. */
async function whyKeepSubmodules({ path, env }: Site): Promise<Problem | undefined> {
  const own = await openOwnGit({ cwd: path, env });
  const tree = isProblem(own) ? own : await own.treeOf((await own.head()).commit);
  const name = isProblem(own) || isProblem(tree) ? undefined : await own.changedSubmodule(tree);
  if (name === undefined) return undefined;
  const fix = `${command('-C', join(path, name), 'status')} shows it; push it, or copy it, before you remove the worktree`;
  return { where: join(path, name), what: 'the submodule holds work that is nowhere else', fix };
}

/** How many commits of this one no branch has. `but`: a branch that does not count, or a glob of them. */
export async function unmerged(git: Git, tip: string, but?: string): Promise<number | Problem> {
  const except = but === undefined ? [] : [`--exclude=${but}`];
  const words = ['rev-list', '--count', tip, '--not', 'HEAD', ...except, '--branches', '--remotes', '--'];
  const { code, stdout, output } = await git.run(words);
  return code === 0 ? Number(stdout) : { where: tip, what: complaint(output, code) };
}

async function whyKeepCommits({ branch, root, repository }: Site, tip: string): Promise<Problem | undefined> {
  const count = await unmerged(repository.git, tip, branch);
  if (isProblem(count) || count === 0) return count || undefined;
  const fix = `${command('-C', root, 'log', '--oneline', `HEAD..${branch}`)} shows them; ${command('-C', root, 'merge', branch)} takes them over`;
  return {
    where: branch,
    what: `holds ${count} ${count === 1 ? 'commit' : 'commits'} that no other branch has`,
    fix,
  };
}

/** What tools create again by themselves. */
const CREATED_AGAIN =
  /(^|\/)(node_modules|\.venv|venv|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|target|dist|build|out|coverage|\.next|\.nuxt|\.turbo|\.parcel-cache|\.cache|\.gradle|\.ralph|\.ralph-active|[^/]*\.(pyc|o|class|tsbuildinfo))(\/|$)/;

const SHOWN = 5;

/** Why the worktree must be kept: files in it that are nowhere else. Copies of what the project holds are no loss. */
async function whyKeepIgnored({ path, repository }: Site): Promise<Problem | undefined> {
  const listed = await repository.git
    .at(path)
    .list(['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']);
  if (listed.code !== 0) return { where: path, what: complaint(listed.errors, listed.code) };
  const alone = listed.records.filter(
    name => !CREATED_AGAIN.test(name) && !isSame(join(path, name), join(repository.top, name)),
  );
  if (alone.length === 0) return undefined;
  const more = alone.length > SHOWN ? ` and ${alone.length - SHOWN} more` : '';
  return {
    where: path,
    what: `holds files that git ignores and that are nowhere else: ${alone.slice(0, SHOWN).map(shownPath).join(', ')}${more}`,
    fix: 'copy what you need; --force deletes them with the worktree',
  };
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map(path => tryTo(() => lstatSync(path, { throwIfNoEntry: false })));
  if (!a?.isFile() || !b?.isFile() || a.size !== b.size) return false;
  return tryTo(() => hashOfFile(one) === hashOfFile(other)) ?? false;
}
