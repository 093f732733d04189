/**
 * A worktree of its own for a run: `.ralph/worktrees/<name>` on the branch `ralph/<name>`. It is created or reused,
 * and if neither can be, that is a problem: Ralph never falls back to the user's own work tree. Nothing in one is
 * ever deleted or reset, but by `removeWorktree`, and by that only what is safe elsewhere.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import type { Captured } from '../platform/capture.ts';
import { errorWords } from '../platform/error-words.ts';
import { ensureFolder, namesIn, readIfThere, writeAtomic } from '../platform/files.ts';
import { complaint, type Env } from '../platform/git.ts';
import { projectPaths } from '../store/paths.ts';
import { uncommittedPaths } from './changes.ts';
import { unfitFilter } from './filters.ts';
import { ownerOf, releaseOwner, takeOver, withLock } from './lock.ts';
import { openOwnGit } from './own-git.ts';
import { findRepository, type Repository } from './repository.ts';
import { readStatus } from './tree-status.ts';
import {
  branchExists,
  command,
  findSite,
  isFree,
  isIncomplete,
  isListedIncomplete,
  isSparse,
  lockOf,
  notesOn,
  type Site,
  type SiteOptions,
  whyNotOurs,
  worktreeAt,
} from './worktree-facts.ts';

export interface WorktreeOptions extends Pick<SiteOptions, 'root' | 'env'> {
  /** Without one the run's id is taken, or a name is generated. */
  readonly name?: string;
  readonly runId?: string;
  /** The commit that a new one starts from; absent: that of HEAD. */
  readonly from?: string;
}

export interface Worktree {
  readonly name: string;
  readonly root: string;
  readonly path: string;
  /** The folder in it that is to the worktree what `root` is to the repository. */
  readonly cwd: string;
  readonly branch: string;
  /** false: it was there and is continued. */
  readonly created: boolean;
  /** It was created now, or what should have made it ready did not end well. */
  readonly isUnready: boolean;
  /** Whoever opens it again need not make it ready. */
  madeReady(): void;
  /** The user's own work tree has changes that are not in this one. */
  readonly dirtyMain: boolean;
  /** What the user should know. */
  readonly notes: readonly string[];
  /** Lets another run of this process continue it. When the process ends, that happens by itself. */
  release(): void;
}

export async function openWorktree({
  root,
  env,
  name,
  runId,
  from = 'HEAD',
}: WorktreeOptions): Promise<Worktree | Problem> {
  const site = await findSite({ root, env, name: name ?? runId ?? newName() });
  if ('what' in site) return site;
  if (site.repository.head.commit === undefined) {
    const fix = '`git commit --allow-empty -m start` makes one';
    return { where: root, what: 'a worktree needs a commit to start from, and there is none yet', fix };
  }
  const opened = await withLock(lockOf(site), () => open(site, from));
  if ('what' in opened) return opened;
  return await described(site, opened.created, from);
}

/** As the ids of runs are: readable, and in the order of time. */
function newName(): string {
  const stamp = new Date().toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  return `${stamp}-${randomBytes(2).toString('hex')}`;
}

async function open(site: Site, from: string): Promise<{ readonly created: boolean } | Problem> {
  const { name, project, path } = site;
  const owner = ownerOf(project.worktreeOwner(name));
  if (owner) {
    const fix = 'wait until it has ended, or take another name with --worktree=NAME';
    return { where: path, what: `is in use by another run (process ${owner.pid})`, fix };
  }
  try {
    ensureFolder(dirname(path));
    ensureFolder(dirname(project.worktreeOwner(name)));
    // A worktree is nobody's change in the repository around it.
    writeAtomic(join(project.worktrees, '.gitignore'), '*\n', 0o644);
    await setIncompleteAside(site);
    const created = isFree(site);
    const problem = created ? ((await unfit(site)) ?? (await add(site, from))) : await whyNotOurs(site);
    if (problem) return problem;
    takeOver(project.worktreeOwner(name));
    if (created) writeAtomic(project.worktreeUnready(name), '');
    return { created };
  } catch (error) {
    return { where: path, what: `the worktree cannot be created: ${errorWords(error)}` };
  }
}

/** One that was cut off while it was being made is made anew. It is moved, not deleted: its mark could be a lie. */
async function setIncompleteAside(site: Site): Promise<void> {
  const { path, repository } = site;
  const there = await worktreeAt(site);
  // Also one that was being set aside when that was cut off.
  const isGone = !there && isFree(site) && isListedIncomplete(site);
  if (!isGone && (!there || !isIncomplete(there))) return;
  if (!isGone) renameSync(path, `${path}.incomplete-${Date.now()}`);
  await repository.git.run(['worktree', 'unlock', path]);
  await repository.git.run(['worktree', 'prune', '--expire', 'now']);
}

async function unfit({ root, env, repository }: Site): Promise<Problem | undefined> {
  const own = await openOwnGit({ cwd: root, env });
  if ('what' in own) return own;
  return unfitFilter(own, repository.head.commit, 'a worktree would not have it: leave out --worktree');
}

async function add(site: Site, from: string): Promise<Problem | undefined> {
  const { path, branch, repository } = site;
  const what = (await branchExists(site)) ? [path, branch] : ['-b', branch, '--no-track', path, from];
  const order = ['worktree', 'add', '--quiet', '--no-checkout', '--lock', ...what];
  const { code, output } = await patiently(() => repository.git.run(order));
  if (code === 0) return fill(site);
  const gone = /missing but (already registered|locked)/.test(output);
  return {
    where: path,
    what: gone
      ? 'was a worktree whose folder has been deleted'
      : `git cannot make the worktree: ${complaint(output, code)}`,
    ...(gone && {
      fix: `${command('-C', site.root, 'worktree', 'prune')} makes git forget it; the branch stays`,
    }),
  };
}

/** One that cannot be filled is taken away again; the branch stays. */
async function fill(site: Site): Promise<Problem | undefined> {
  const { path, env, repository } = site;
  const there = await findRepository({ cwd: path, env });
  const problem = 'what' in there ? there : await writeFiles(there, env, await isSparse(repository));
  if (problem) await repository.git.run(['worktree', 'remove', '--force', '--force', '--', path]);
  return problem;
}

/**
 * Through Ralph's own git directory: a checkout by the repository's own settings would run its filters, and an agent of an earlier run may
 * have written those. It was added with `--lock`, so that one that was cut off is known for it.
 */
async function writeFiles(there: Repository, env: Env, isSparse: boolean): Promise<Problem | undefined> {
  const { top, gitDir, head } = there;
  const own = await openOwnGit({ cwd: top, env }, there);
  if ('what' in own) return own;
  const sparse = isSparse ? readIfThere(join(gitDir, 'info/sparse-checkout')) : undefined;
  const problem = await own.fill(head.commit, { index: join(gitDir, 'index'), sparse });
  if (!problem) rmSync(join(gitDir, 'locked'), { force: true });
  return problem;
}

/** Milliseconds: a git that was killed a moment ago takes its locks away, another one that runs releases them. */
const LOCK_PATIENCE = 3_000;
const LOOK = 50;

async function patiently(order: () => Promise<Captured>): Promise<Captured> {
  for (const until = Date.now() + LOCK_PATIENCE; ; ) {
    const answer = await order();
    if (answer.code === 0 || !/\.lock': File exists/.test(answer.output) || Date.now() > until) return answer;
    await new Promise(resolve => setTimeout(resolve, LOOK));
  }
}

async function described(site: Site, created: boolean, from: string): Promise<Worktree | Problem> {
  const { name, root, env, path, branch, repository, project } = site;
  const release = () => releaseOwner(project.worktreeOwner(name));
  const cwd = resolve(path, repository.prefix);
  if (!existsSync(cwd)) {
    release();
    const fix = 'commit it, or start Ralph at the top of the repository';
    return { where: root, what: `this folder is not in the commit that ${branch} stands on`, fix };
  }
  // Who names a commit to start from wants that, whatever the files are.
  const dirtyMain = from === 'HEAD' && (await isDirty({ path: root, env }));
  const notes = [
    ...(created ? [] : [`The worktree ${name} was there already and is continued.`]),
    ...(dirtyMain ? [`What is not committed in ${root} is not in the worktree.`] : []),
    ...(await notesOn(site)),
  ];
  const unready = project.worktreeUnready(name);
  const madeReady = () => rmSync(unready, { force: true });
  const isUnready = existsSync(unready);
  return { name, root, path, cwd, branch, created, isUnready, madeReady, dirtyMain, notes, release };
}

/** Why a run cannot continue in the worktree of this name; undefined: it is there, on whatever branch. A new one would not hold the work. */
export async function whyNoWorktree(options: SiteOptions): Promise<Problem | undefined> {
  const site = await findSite(options);
  if ('what' in site) return site;
  if (await worktreeAt(site)) return undefined;
  if (!isFree(site)) return whyNotOurs(site);
  const { name, root, path, branch, repository } = site;
  const where = `worktree ${name}`;
  const { stdout } = await repository.git.run(['rev-list', '--count', `HEAD..refs/heads/${branch}`, '--']);
  if (!(Number(stdout) > 0))
    return { where, what: 'it is gone, and with it the work of the run', fix: 'start a new run' };
  const what = `its folder is gone, and what was not committed in it; its commits are on ${branch}`;
  return {
    where,
    what,
    fix: `to continue with them: ${command('-C', root, 'worktree', 'add', '-f', path, branch)}`,
  };
}

export interface WorktreeEntry {
  readonly name: string;
  readonly path: string;
  /** null when it is on none. */
  readonly branch: string | null;
  /** What it is at; null: it has no commit. */
  readonly commit: string | null;
  /** It holds changes that are not committed. */
  readonly dirty: boolean;
  /** Commits in it that HEAD of the project does not have. */
  readonly ahead: number;
  /** The process of the run that works in it. */
  readonly usedBy: number | null;
}

/** The worktrees that Ralph made in this project, by name. */
export async function listWorktrees({
  root,
  env,
}: Pick<SiteOptions, 'root' | 'env'>): Promise<readonly WorktreeEntry[]> {
  const { worktrees, worktree } = projectPaths(root);
  const isGroup = (name: string) => name !== '.owners' && !existsSync(join(worktree(name), '.git'));
  const names = namesIn(worktrees).flatMap(name =>
    isGroup(name) ? namesIn(worktree(name)).map(below => `${name}/${below}`) : [name],
  );
  // One may be taken away while it is looked at.
  const entries = await Promise.all(names.map(name => entryOf({ root, env, name }).catch(() => undefined)));
  return entries.filter(entry => entry !== undefined);
}

async function entryOf(options: SiteOptions): Promise<WorktreeEntry | undefined> {
  const site = await findSite(options);
  const there = 'what' in site ? undefined : await worktreeAt(site);
  if ('what' in site || !there) return undefined;
  const { name, path, project, repository } = site;
  const { branch, commit } = there.head;
  const [dirty, ahead] = await Promise.all([
    isDirty(site),
    repository.git.run(['rev-list', '--count', `HEAD..${commit}`, '--']),
  ]);
  const usedBy = ownerOf(project.worktreeOwner(name))?.pid ?? null;
  return {
    name,
    path,
    branch: branch ?? null,
    commit: commit ?? null,
    dirty,
    ahead: Number(ahead.stdout) || 0,
    usedBy,
  };
}

export async function isDirty({ path, env }: Pick<Site, 'path' | 'env'>): Promise<boolean> {
  const status = await readStatus({ cwd: path, env });
  const paths = 'what' in status ? status : await uncommittedPaths(status);
  return 'what' in paths || paths.length > 0;
}
