/** Filters of the user's: they change what is committed of a file, or what is checked out. Ralph runs none of them, but for LFS. */
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { OwnGit } from './own-git.ts';
import { shownPath } from './repository.ts';

interface Filtered {
  readonly path: string;
  readonly filter: string;
}

/** Of these paths those that one of the filters changes, by the attributes in the work tree, as git reads them. */
export async function filteredBy(
  own: OwnGit,
  filters: readonly string[],
  paths: readonly string[],
): Promise<readonly Filtered[]> {
  if (filters.length === 0 || paths.length === 0) return [];
  const { records } = await own.git.at(own.top).list(['check-attr', '-z', '--stdin', 'filter'], paths);
  return records.flatMap((path, at) => {
    const filter = records[at + 2] ?? '';
    return at % 3 === 0 && filters.includes(filter) ? [{ path, filter }] : [];
  });
}

/**
 * Why this commit cannot be worked on elsewhere than where the user has it. In a checkout of Ralph's a file is as it was committed, so one
 * that a filter makes readable is not; and what is committed there goes through none. `commits`: Ralph commits there by itself.
 */
export async function unfitFilter(
  own: OwnGit,
  commit: string | undefined,
  fix: string,
  { commits = false }: { readonly commits?: boolean } = {},
): Promise<Problem | undefined> {
  const { filters, smudging = [] } = own.repository;
  const counted = (commits ? [...filters, ...smudging] : smudging).filter(name => name !== 'lfs');
  if (commit === undefined || counted.length === 0) return undefined;
  const tree = await own.treeOf(commit);
  const listed = isProblem(tree) ? tree : await own.listTree(tree);
  if (isProblem(listed)) return listed;
  const paths = listed.map(({ bytes }) => Buffer.from(bytes, 'latin1').toString('utf8'));
  const [first] = await filteredBy(own, counted, paths);
  if (!first) return undefined;
  const what = `${shownPath(first.path)} goes through the filter ${first.filter}, which Ralph does not run`;
  return { where: own.top, what, fix };
}
