/**
 * Files that git ignores now and would not have ignored when the run began: a rule that was added since hides them. They are in no diff
 * and in no commit, and checks in the work tree see them all the same.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProblem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import type { Git } from '../platform/git.ts';
import type { OwnGit } from './own-git.ts';
import { isRalphs } from './repository.ts';

export type HiddenWatch = ReturnType<typeof watchHidden>;

/** Gives them, from the top; a folder ends with a slash. `before`: those that were hidden when the run began. What git cannot say is none. */
export function watchHidden() {
  /** Ignored from the start: not asked for again. */
  const known = new Set<string>();
  return async (
    own: OwnGit,
    { tree: start, hidden: before = [] }: { readonly tree: string; readonly hidden?: readonly string[] },
    others: readonly string[],
  ): Promise<readonly string[]> => {
    const wasHidden = (path: string) =>
      before.some(each => each === path || (each.endsWith('/') && path.startsWith(each)));
    const isFresh = (path: string) =>
      !known.has(path) && !isRalphs(path, own.root) && !GENERATED.test(path) && !wasHidden(path);
    if (!others.some(path => isFresh(path) && !isEmptyFolder(own.top, path))) return [];
    const flags = ['-z', '-o', '-i', '--exclude-standard', '--directory'];
    const fresh = (await own.git.at(own.top).list(['ls-files', ...flags])).records.filter(isFresh);
    if (fresh.length === 0) return [];
    const ignored = new Set(
      (await ignoredBy(own.objects, folder => writeRules(own, start, folder), fresh)) ?? fresh,
    );
    for (const path of fresh) if (ignored.has(path)) known.add(path);
    const hidden = fresh.filter(path => !ignored.has(path));
    return hidden.filter(
      path => !hidden.some(other => other.endsWith('/') && path !== other && path.startsWith(other)),
    );
  };
}

/**
 * What the index does not have: since it was made what the files are, that is what git ignores, in one list with the folders that have
 * no file. One walk for both questions.
 */
export async function listOthers({ git, top }: Pick<OwnGit, 'git' | 'top'>): Promise<readonly string[]> {
  return (await git.at(top).list(['ls-files', '-z', '-o', '--directory'])).records;
}

export function isEmptyFolder(top: string, path: string): boolean {
  const isEmpty = (folder: string): boolean =>
    tryTo(() => readdirSync(folder, { withFileTypes: true }))?.every(
      entry => entry.isDirectory() && isEmpty(join(folder, entry.name)),
    ) === true;
  return path.endsWith('/') && isEmpty(join(top, path));
}

async function writeRules(own: OwnGit, tree: string, folder: string): Promise<boolean> {
  const files = await own.listTree(tree, line => /[\t/]\.gitignore$/.test(line));
  if (isProblem(files)) return false;
  const rules = await own.treeWith(undefined, files);
  return !isProblem(rules) && !(await own.checkout(rules, folder));
}

/**
 * Of these paths those that other rules would ignore than those of the work tree: `write` writes their files into a folder, if it
 * can, and git is asked there. undefined: it cannot say.
 */
export async function ignoredBy(
  git: Git,
  write: (folder: string) => boolean | Promise<boolean>,
  paths: readonly string[],
): Promise<readonly string[] | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-rules-'));
  try {
    if (!(await write(folder))) return undefined;
    // No name is taken for one of git's patterns. A folder that is not there is known for one by what is in it.
    const asked = new Map(paths.map(path => [`./${path}${path.endsWith('/') ? PROBE : ''}`, path]));
    const flags = ['--no-index', '-z', '--stdin'];
    const there = git.at(folder).with({ GIT_WORK_TREE: folder });
    const { code, records } = await there.list(['check-ignore', ...flags], [...asked.keys()]);
    return code > 1 ? undefined : records.flatMap(path => asked.get(path) ?? []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whoever sets a project up ignores these, and should. */
export const GENERATED =
  /(^|\/)(node_modules|bower_components|dist|build|out|target|coverage|venv|\.venv|__pycache__|\.(pytest|mypy|ruff)_cache|\.tox|\.gradle|\.next|\.nuxt|\.nyc_output|\.cache|\.eggs|[^/]+\.egg-info)\//;

const PROBE = 'ralph-asks';
