/** Commits some paths and nothing else: what the user has staged beside them stays as it is. */
import { relative } from 'node:path';
import { complaint } from '../platform/git.ts';
import { findRepository, type Place } from './repository.ts';

/** What came of it, in words for the user; `done` when there is a commit. */
export async function commitPaths(
  place: Place,
  paths: readonly string[],
  message: string,
): Promise<{ readonly done: boolean; readonly why: string }> {
  const repository = await findRepository(place);
  if ('what' in repository) return { done: false, why: repository.what };
  const { git } = repository;
  const names = paths.map(path => relative(place.cwd, path) || '.');
  const added = await git.run(['add', '--all', '--', ...names]);
  if (added.code !== 0) return { done: false, why: complaint(added.output, added.code) };
  const commit = await git.run(['commit', '--quiet', '--message', message, '--', ...names]);
  return commit.code === 0
    ? { done: true, why: '' }
    : { done: false, why: complaint(commit.output, commit.code) };
}
