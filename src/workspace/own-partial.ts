/** Brings a commit of a partial clone, with those of its files that are there. Nothing is fetched for it: what is missing was never checked out. */
import { appendFileSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tryTo } from '../platform/files.ts';
import type { OwnFolder } from './own-folder.ts';
import { objectName, readAll, readEntries, writeObject } from './own-objects.ts';
import type { GitFolders } from './refs.ts';

/** `isHere`: every file that is checked out is here; undefined: its folders are missing, too. */
export async function bringPartial(
  own: OwnFolder,
  { git, top }: Pick<GitFolders, 'git'> & { readonly top: string },
  commit: string,
): Promise<{ readonly tree: string; readonly isHere: boolean } | undefined> {
  const content = await readAll(git, ['cat-file', 'commit', commit]);
  if (!content || objectName(own, 'commit', content) !== commit) return undefined;
  const tree = /^tree ([0-9a-f]+)$/m.exec(content.toString('latin1'))?.[1] ?? '';
  const asked = ['rev-list', '--objects', '--no-object-names', '--missing=print', tree];
  const listed = (await readAll(git, asked))?.toString('latin1').split('\n') ?? [];
  const names = listed.filter(name => /^[0-9a-f]/.test(name)).map(name => `${name}\n`);
  if (names.length === 0 || !(await copyObjects(own, git, names.join('')))) return undefined;
  writeObject(own, 'commit', content);
  // Its history is not here.
  appendFileSync(join(own.path, 'shallow'), `${commit}\n`);
  await own.git.run(['update-ref', '--no-deref', `refs/ralph/${commit}`, commit]);
  const { code, records } = await own.git.bytes(['ls-tree', '-r', '-z', '--full-tree', tree]);
  const missing = new Set(listed.filter(name => name.startsWith('?')).map(name => name.slice(1)));
  const isThere = (bytes: string) =>
    tryTo(() =>
      lstatSync(join(top, Buffer.from(bytes, 'latin1').toString('utf8')), { throwIfNoEntry: false }),
    );
  const lost = readEntries(records).some(({ bytes, after }) => missing.has(after.oid) && isThere(bytes));
  return code === 0 ? { tree, isHere: !lost } : undefined;
}

/** As one pack. Its index is made here: it names what is in the pack by what it is, not by what it was called. */
async function copyObjects(own: OwnFolder, git: GitFolders['git'], names: string): Promise<boolean> {
  const folder = mkdtempSync(join(own.path, 'other.pack-'));
  try {
    const { code } = await git.stream(['pack-objects', '--quiet', join(folder, 'pack')], () => 'more', names);
    const pack = readdirSync(folder).find(name => name.endsWith('.pack'));
    if (code !== 0 || pack === undefined) return false;
    const to = join(own.path, 'objects/pack', pack);
    renameSync(join(folder, pack), to);
    return (await own.git.run(['index-pack', to])).code === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
