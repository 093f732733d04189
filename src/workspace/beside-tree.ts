/** What is in the work tree and in no tree that Ralph makes of it: repositories inside, and files that are too large or cannot be read. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import type { Git } from '../platform/git.ts';
import type { OwnGit } from './own-git.ts';
import { isRalphs, shownPath } from './repository.ts';

export interface Beside {
  /** What a checkout of the tree lacks, and why. */
  readonly left: readonly string[];
  /** Submodules that stand on the commit which the tree names, each from the top. */
  readonly submodules: readonly string[];
}

/** `tree`: what is committed; `checked`: the files as they were looked at. */
export async function besideTree(own: OwnGit, tree: string, checked: string): Promise<Beside | Problem> {
  const seen = own.seen(checked) ?? (await own.snapshot());
  if (isProblem(seen)) return seen;
  const skipped = seen.skipped.map(({ path }) => `${shownPath(path)} (it is too large, or cannot be read)`);
  const nested = seen.nested.map(path => path.replace(/\/$/, '')).filter(path => !isRalphs(path));
  if (nested.length === 0) return { left: skipped, submodules: [] };
  const links = await linksIn(own.objects, tree, nested);
  const submodules: string[] = [];
  const left: string[] = [];
  for (const path of nested) {
    const link = links.get(path);
    if (link !== undefined && link === (await headIn(own, path))) submodules.push(path);
    else
      left.push(
        `${shownPath(path)} (${link === undefined ? 'a repository inside' : 'a submodule that has moved'})`,
      );
  }
  return { left: [...skipped, ...left], submodules };
}

/** The commits of submodules, by path. */
async function linksIn(
  git: Git,
  tree: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { records } = await git.list(['ls-tree', '-z', '--full-tree', tree, '--', ...paths]);
  return new Map(
    records.flatMap(record => {
      const [, oid, path] = /^160000 commit (\S+)\t([\s\S]*)$/.exec(record) ?? [];
      return oid === undefined || path === undefined ? [] : [[path, oid] as const];
    }),
  );
}

/** It asks for a name alone, so nothing of that repository is started. */
async function headIn({ top, repository }: OwnGit, path: string): Promise<string> {
  const folder = join(top, path);
  const there = { GIT_DIR: join(folder, '.git'), GIT_COMMON_DIR: undefined, GIT_WORK_TREE: undefined };
  return (await repository.git.at(folder).with(there).run(['rev-parse', 'HEAD'])).stdout.trim();
}

/** Makes a checkout as ready as the work tree is: with what git ignores there, and these submodules. They are links, so they cost nothing. */
export async function lendBeside(own: OwnGit, submodules: readonly string[], folder: string): Promise<void> {
  const flags = ['--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const { records } = await own.git.at(own.top).list(['ls-files', ...flags]);
  const ignored = records.filter(path => !isRalphs(path)).map(path => path.replace(/\/$/, ''));
  for (const path of [...ignored, ...submodules])
    tryTo(() => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      symlinkSync(join(own.top, path), join(folder, path));
    });
}
