/**
 * `.worktreeinclude`: which of the files that git ignores a fresh checkout needs all the same, such as `.env`. It has the syntax of a
 * `.gitignore`. They are kept as they are when the run begins; what the agent makes of them later is copied nowhere.
 */
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import { complaint } from '../platform/git.ts';
import { createFileKeeper, type KeptFile, type KeptList, keepList, readList } from './keep-files.ts';
import { findRepository, isRalphs, type Place, shownPath } from './repository.ts';
import { clearPath } from './set-aside.ts';

export const INCLUDE_FILE = '.worktreeinclude';

/** More than this is no handful of settings: a command makes it better than a copy. */
const MOST_FILES = 10_000;
const MOST_BYTES = 512 * 1024 * 1024;

export type Included = Exclude<Awaited<ReturnType<typeof includeFiles>>, Problem>;

export interface IncludeOptions extends Place {
  /** Where they are kept, so that a resumed run has them as they were. */
  readonly keepIn: string;
  /** The name of what was kept there when the run began; null: nothing was. */
  readonly recall?: string | null | undefined;
}

export async function includeFiles({ keepIn, recall, ...place }: IncludeOptions) {
  const list = recall === undefined ? await keepNow(place, keepIn) : recalled(keepIn, recall);
  if ('what' in list) return list;
  const { kept } = list;
  const { restore } = createFileKeeper(keepIn);
  return {
    /** Under which they can be asked for again; undefined: there are none. */
    name: kept.size === 0 ? undefined : (recall ?? keepList(keepIn, { kept })),
    files: kept.size,
    /** Puts them into a fresh checkout, whatever is in their place there; `aside` takes that. */
    copyTo(folder: string, aside: string): void {
      for (const [path, file] of kept) {
        clearPath(folder, path, aside);
        restore(file, join(folder, path));
      }
    },
  };
}

function recalled(keepIn: string, name: string | null): KeptList | Problem {
  return name === null ? { kept: new Map() } : readList(keepIn, name);
}

async function keepNow(place: Place, keepIn: string): Promise<KeptList | Problem> {
  const { keep } = createFileKeeper(keepIn);
  const kept = new Map<string, KeptFile>();
  const repository = await findRepository(place);
  if ('what' in repository || !existsSync(join(repository.top, INCLUDE_FILE))) return { kept };
  const { top, prefix, git } = repository;
  const atTop = git.at(top);
  const list = (flag: string) => atTop.list(['ls-files', '--others', '--ignored', flag, '-z']);
  const [named, ignored] = await Promise.all([
    list(`--exclude-from=${INCLUDE_FILE}`),
    list('--exclude-standard'),
  ]);
  const failed = [named, ignored].find(({ code }) => code !== 0);
  if (failed) return { where: INCLUDE_FILE, what: complaint(failed.errors, failed.code) };
  const isIgnored = new Set(ignored.records);
  // What git does not ignore is in the checkout anyway.
  const paths = named.records.filter(path => isIgnored.has(path) && !isRalphs(path, prefix));
  const bytes = paths.reduce((sum, path) => sum + sizeOf(join(top, path)), 0);
  if (paths.length > MOST_FILES || bytes > MOST_BYTES) return tooMuch(paths.length, bytes);
  for (const path of paths) {
    const file = tryTo(() => keep(join(top, path)));
    if (!file) return { where: `${INCLUDE_FILE}: ${shownPath(path)}`, what: 'it cannot be read' };
    kept.set(path, file);
  }
  return { kept };
}

function sizeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function tooMuch(files: number, bytes: number): Problem {
  const what = `it names ${files} files with ${Math.ceil(bytes / 1024 / 1024)} MB: more than ${MOST_FILES} files or ${MOST_BYTES / 1024 / 1024} MB are not copied`;
  return { where: INCLUDE_FILE, what, fix: 'let `setup` make them, such as npm ci' };
}
