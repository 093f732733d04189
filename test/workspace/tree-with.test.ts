/** A tree that is made of another one and some entries is the one that git makes of them. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openOwnGit } from '../../src/workspace/own-git.ts';
import { folder } from '../rig/repo.ts';

async function opened() {
  const work = folder();
  work.git('init', '--quiet');
  const own = await openOwnGit({ cwd: work.dir, env: { ...process.env, XDG_STATE_HOME: folder().dir } });
  if ('what' in own) throw new Error(own.what);
  return { work, own };
}

type Entries = Readonly<Record<string, string | null>>;

const START = { a: 'a', 'b/c': 'c', 'b/d/e': 'e', 'b.x': 'x', 'new\nline/f': 'f', 'é/g': 'g' };

test.each<[string, Entries]>([
  ['a file changes, one comes and one goes', { a: 'other', 'z/y/x': 'x', 'b/c': null }],
  ['a folder that loses its last file is no more', { 'b/d/e': null, 'é/g': null }],
  ['a file takes the place of a folder', { 'b/c': null, 'b/d/e': null, b: 'file' }],
  ['a folder takes the place of a file', { a: null, 'a/b': 'b' }],
  ['a folder takes the place of a file that nobody has named', { 'a/b/c': 'c' }],
  ['what is not there goes', { none: null, 'no/ne': null, b: null }],
  [
    'names with a line break, and no letters of ASCII',
    { 'new\nline/f': 'F', 'new\nline/g': 'g', 'é/ö': 'ö' },
  ],
  ['all of it goes', Object.fromEntries(Object.keys(START).map(path => [path, null]))],
  ['it is as it was', { a: 'a', 'b/d/e': 'e' }],
])('%s', async (_, entries) => {
  const { work, own } = await opened();
  const blob = (content: string) => ({ mode: '100644', oid: own.writeBlob(Buffer.from(content)) });
  const treeOf = async (base: string | undefined, from: Entries) =>
    own.treeWith(
      base,
      Object.entries(from).map(([path, content]) => ({
        bytes: Buffer.from(path).toString('latin1'),
        after: content === null ? undefined : blob(content),
      })),
    );
  const base = (await treeOf(undefined, START)) as string;
  const git = own.git.with({ GIT_INDEX_FILE: work.path('index') });
  const read = async () => {
    await git.run(['read-tree', base]);
    const lines = Object.entries(entries)
      .sort(([, one], [, other]) => Number(one !== null) - Number(other !== null))
      .map(([path, content]) =>
        content === null ? `0 ${'0'.repeat(40)}\t${path}` : `100644 ${blob(content).oid}\t${path}`,
      );
    await git.list(['update-index', '-z', '--index-info'], lines);
    return (await git.run(['write-tree'])).stdout.trim();
  };
  const tree = await treeOf(base, entries);
  expect(tree).toBe(await read());
  // No name in it is one that git would not have written.
  expect(await git.run(['fsck', '--strict', '--no-dangling'])).toMatchObject({ code: 0 });
});

test('a path that git takes for its own is refused', async () => {
  const { own } = await opened();
  const after = { mode: '100644', oid: own.writeBlob(Buffer.from('x')) };
  for (const path of ['.git/config', 'a/.GIT/b', 'a/../b', '/a', 'a//b', '.git /x', 'git~1/x', '.git::$DATA'])
    expect(await own.treeWith(undefined, [{ bytes: path, after }])).toMatchObject({ where: path });
});

test('a folder whose tree is gone is a problem, and not an empty folder', async () => {
  const { own } = await opened();
  const after = { mode: '100644', oid: own.writeBlob(Buffer.from('x')) };
  const base = await own.treeWith(undefined, [{ bytes: 'gone/y', after }]);
  const { stdout } = await own.objects.run(['rev-parse', `${base}:gone`]);
  rmSync(join(own.objects.cwd, 'objects', stdout.slice(0, 2), stdout.slice(2).trim()));
  expect(await own.treeWith(base as string, [{ bytes: 'gone/x', after }])).toMatchObject({
    what: 'git cannot read its folder gone',
  });
});
