/**
 * Files that git ignores now and would not have ignored when the run began: a rule that was added since hides them. They are in no diff
 * and in no commit, and checks in the work tree see them all the same.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProblem } from '../domain/problem.ts';
import type { OwnGit } from './own-git.ts';
import { isRalphs } from './repository.ts';

/** What it gives answers them, from the top; a folder ends with a slash. What git cannot say is none. */
export function watchHidden() {
  /** Ignored from the start: not asked for again. */
  const known = new Set<string>();
  return async (own: OwnGit, start: string): Promise<readonly string[]> => {
    const flags = ['-z', '-o', '-i', '--exclude-standard', '--directory'];
    const { records } = await own.git.at(own.top).list(['ls-files', ...flags]);
    const fresh = records.filter(path => !known.has(path) && !isRalphs(path) && !GENERATED.test(path));
    if (fresh.length === 0) return [];
    const before = new Set(await ignoredThen(own, start, fresh));
    for (const path of fresh) if (before.has(path)) known.add(path);
    const hidden = fresh.filter(path => !before.has(path));
    return hidden.filter(path => !hidden.some(other => other.endsWith('/') && isBelow(path, other)));
  };
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && path.startsWith(folder);
}

/** Of these paths those that the rules in this tree ignore. Its files of rules alone are written to a folder, and git is asked there. */
async function ignoredThen(own: OwnGit, tree: string, paths: readonly string[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-rules-'));
  try {
    const all = await own.objects.bytes(['ls-tree', '-r', '-z', '--full-tree', tree]);
    const rules = await own.writeTree(all.records.filter(record => /[\t/]\.gitignore$/.test(record)));
    if (all.code !== 0 || isProblem(rules) || (await own.checkout(rules, folder))) return paths;
    const git = own.objects.at(folder).with({ GIT_WORK_TREE: folder });
    // A folder that is not there is known for one by what is in it.
    const asked = new Map(paths.map(path => [path.endsWith('/') ? `${path}${PROBE}` : path, path]));
    const { code, records } = await git.list(
      ['check-ignore', '--no-index', '-z', '--stdin'],
      [...asked.keys()],
    );
    return code > 1 ? paths : records.flatMap(path => asked.get(path) ?? []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whoever sets a project up ignores these, and should. */
const GENERATED =
  /(^|\/)(node_modules|bower_components|dist|build|out|target|coverage|venv|\.venv|__pycache__|\.(pytest|mypy|ruff)_cache|\.tox|\.gradle|\.next|\.nuxt|\.nyc_output|\.cache|\.eggs|[^/]+\.egg-info)\//;

const PROBE = 'ralph-asks';
