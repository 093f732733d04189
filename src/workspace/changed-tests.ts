/** Files with tests among those that differ between two trees, with what is in them: from Ralph's own git directory, so that nothing hides them. */
import { type FileChange, hasMarks, mayHoldTests } from '../domain/checks/test-changes.ts';
import type { OwnGit } from './own-git.ts';
import { type Blob, type ChangedPath, readAll } from './own-objects.ts';
import { isRalphs } from './repository.ts';

/** Whoever changes more has changed all of them: what is in the rest is not looked at. */
const MOST_FILES = 500;
/** No test is longer. */
const MOST_BYTES = 1024 * 1024;

export async function changedTests(
  own: OwnGit,
  listed: readonly ChangedPath[],
): Promise<readonly FileChange[]> {
  const changed = listed
    .filter(({ path }) => mayHoldTests(path) && !isRalphs(path, own.root))
    .slice(0, MOST_FILES);
  const names = changed
    .filter(({ path }) => hasMarks(path))
    .flatMap(({ before, after }) => [before, after].flatMap(fileName));
  const texts = await textsOf(own, [...new Set(names)]);
  const textOf = (blob: Blob | undefined) => blob && (texts.get(blob.oid) ?? blob.oid);
  return changed.map(({ path, before, after }) => ({ path, before: textOf(before), after: textOf(after) }));
}

/** A link and a submodule have no text. */
function fileName(blob: Blob | undefined): readonly string[] {
  return blob?.mode.startsWith('100') ? [blob.oid] : [];
}

/** In one process: `OID blob SIZE`, the content, and a line end each. */
async function textsOf({ objects }: OwnGit, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  if (names.length === 0) return texts;
  const all = (await readAll(objects, ['cat-file', '--batch'], `${names.join('\n')}\n`)) ?? Buffer.alloc(0);
  for (let at = 0; at < all.length; ) {
    const end = all.indexOf('\n', at);
    if (end === -1) break;
    const [name = '', kind, size] = all.toString('latin1', at, end).split(' ');
    at = end + 1;
    if (kind !== 'blob') continue; // it is not here
    if (Number(size) <= MOST_BYTES) texts.set(name, all.toString('utf8', at, at + Number(size)));
    at += Number(size) + 1;
  }
  return texts;
}
