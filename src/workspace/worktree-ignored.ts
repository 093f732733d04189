/** Files that git ignores are in no commit: with their worktree they are gone. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { tryTo } from '../platform/files.ts';
import { complaint } from '../platform/git.ts';
import { hashOfFile } from '../platform/hash.ts';
import { shownPath } from './repository.ts';
import type { Site } from './worktree-facts.ts';

/** What tools create again by themselves. */
const CREATED_AGAIN =
  /(^|\/)(node_modules|\.venv|venv|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|target|dist|build|out|coverage|\.next|\.nuxt|\.turbo|\.parcel-cache|\.cache|\.gradle|\.ralph|\.ralph-active|[^/]*\.(pyc|o|class|tsbuildinfo))(\/|$)/;

const SHOWN = 5;

/** Why the worktree must be kept: files in it that are nowhere else. Copies of what the project holds are no loss. */
export async function whyKeepIgnored({ path, repository }: Site): Promise<Problem | undefined> {
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
    fix: 'copy what you need, then `ralph cancel --remove NAME --force` deletes them with the worktree',
  };
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map(path => tryTo(() => lstatSync(path, { throwIfNoEntry: false })));
  if (!a?.isFile() || !b?.isFile() || a.size !== b.size) return false;
  return tryTo(() => hashOfFile(one) === hashOfFile(other)) ?? false;
}
