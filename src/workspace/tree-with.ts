/** Trees made of another tree and some entries: only the folders on the way to those are read and written, however many files there are. */
import type { Problem } from '../domain/text/problem.ts';
import type { Git } from '../platform/git.ts';
import { type Blob, readAll, type TreeEntry } from './own-objects.ts';

export interface TreeStore {
  readonly git: Git;
  /** Writes a tree; answers its name. */
  write(content: Buffer): string;
}

/** The tree `base`, or none, with these entries. Files that are not here need not be. What is gone comes first: a file can be where a folder was. */
export async function treeWith(
  { git, write }: TreeStore,
  base: string | undefined,
  entries: readonly TreeEntry[],
): Promise<string | Problem> {
  if (base !== undefined && entries.length === 0) return base;
  const wrong = entries.find(({ bytes, after }) => after && bytes.split('/').some(name => GITS.test(name)));
  if (wrong) return { where: wrong.bytes, what: 'git cannot write a tree: this path is not valid' };
  const folders = new Set(['', ...entries.flatMap(({ bytes }) => foldersOf(bytes))]);
  const before = base === undefined ? new Map() : await readTrees(git, base, [...folders]);
  return 'what' in before
    ? before
    : (written(changeOf(entries), '', before, write) ?? write(Buffer.alloc(0)));
}

/** Names that git refuses: they would be taken for its own directory, or lead elsewhere. */
const GITS = /^(\.{0,2}|(\.git|git~1)[ .]*(:.*)?)$/is;

/** `a/b/c` is in `a` and in `a/b`. */
export function foldersOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** What becomes of a name; null: it goes. */
interface Change {
  after?: Blob | null;
  readonly below: Map<string, Change>;
}

function changeOf(entries: readonly TreeEntry[]): Change {
  const top: Change = { below: new Map() };
  for (const { bytes, after = null } of entries) {
    let at = top;
    for (const name of bytes.split('/')) {
      const next = at.below.get(name) ?? { below: new Map() };
      at.below.set(name, next);
      at = next;
    }
    at.after = after;
  }
  return top;
}

interface Tree {
  readonly oid: string;
  readonly content: Buffer;
  readonly items: ReadonlyMap<string, Blob>;
}

const FOLDER = '40000';

/** The name of the folder as it is with the changes; undefined: nothing is in it. */
function written(
  { below }: Change,
  path: string,
  before: ReadonlyMap<string, Tree>,
  write: TreeStore['write'],
): string | undefined {
  const known = before.get(path);
  const items = new Map(known?.items);
  for (const [name, change] of below) {
    const isFolder = items.get(name)?.mode === FOLDER;
    if (change.after) items.set(name, change.after);
    else if (change.after === null && !isFolder) items.delete(name);
    if (change.after || change.below.size === 0) continue;
    const oid = written(change, path === '' ? name : `${path}/${name}`, before, write);
    if (oid !== undefined) items.set(name, { mode: FOLDER, oid });
    else if (isFolder) items.delete(name);
  }
  if (items.size === 0) return undefined;
  const content = contentOf(items);
  return known?.content.equals(content) ? known.oid : write(content);
}

/** In the order of git, for which the name of a folder ends with a slash. */
function contentOf(items: ReadonlyMap<string, Blob>): Buffer {
  const sorted = [...items]
    .map(([name, item]) => ({ name, item, key: item.mode === FOLDER ? `${name}/` : name }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  return Buffer.concat(
    sorted.flatMap(({ name, item: { mode, oid } }) => [
      Buffer.from(`${mode} ${name}\0`, 'latin1'),
      Buffer.from(oid, 'hex'),
    ]),
  );
}

/** Those of these folders that are in the tree. One whose name cannot be asked for in a line is asked for by what the one above says of it. */
async function readTrees(
  git: Git,
  base: string,
  folders: readonly string[],
): Promise<ReadonlyMap<string, Tree> | Problem> {
  const trees = new Map<string, Tree>();
  const itemOf = (path: string) => {
    const at = path.lastIndexOf('/');
    return trees.get(path.slice(0, Math.max(at, 0)))?.items.get(path.slice(at + 1));
  };
  const isOdd = (path: string) => path.includes('\n');
  const odd = folders.filter(isOdd).sort((one, other) => one.length - other.length);
  for (const asked of [folders.filter(path => !isOdd(path)), ...odd.map(path => [path])]) {
    const named = asked.flatMap(path => {
      const name = path === '' ? base : isOdd(path) ? itemOf(path)?.oid : `${base}:${path}`;
      return name === undefined ? [] : [{ path, name }];
    });
    const lines = named.map(({ name }) => `${name}\n`).join('');
    const answer =
      named.length > 0 ? await readAll(git, ['cat-file', '--batch'], Buffer.from(lines, 'latin1')) : EMPTY;
    if (!answer) return { where: base, what: 'git cannot read this tree' };
    readAnswers(answer, base.length / 2, (at, tree) => trees.set(named[at]?.path ?? '', tree));
  }
  const lost = folders.find(path => !trees.has(path) && (path === '' || itemOf(path)?.mode === FOLDER));
  return lost === undefined ? trees : { where: base, what: `git cannot read its folder ${lost || '/'}` };
}

const EMPTY = Buffer.alloc(0);

/** What is no tree, or not there, is passed over. */
function readAnswers(answer: Buffer, width: number, found: (at: number, tree: Tree) => void): void {
  for (let from = 0, at = 0; from < answer.length; at++) {
    const end = answer.indexOf('\n', from);
    const [oid = '', kind, size] = answer.toString('latin1', from, end).split(' ').slice(-3);
    if (size === undefined || !/^\d+$/.test(size)) {
      from = end + 1;
      continue;
    }
    const content = answer.subarray(end + 1, end + 1 + Number(size));
    if (kind === 'tree') found(at, { oid, content, items: itemsOf(content, width) });
    from = end + 2 + Number(size);
  }
}

function itemsOf(content: Buffer, width: number): ReadonlyMap<string, Blob> {
  const items = new Map<string, Blob>();
  for (let at = 0; at < content.length; ) {
    const [space, nul] = [content.indexOf(' ', at), content.indexOf(0, at)];
    const oid = content.toString('hex', nul + 1, nul + 1 + width);
    items.set(content.toString('latin1', space + 1, nul), {
      mode: content.toString('latin1', at, space),
      oid,
    });
    at = nul + 1 + width;
  }
  return items;
}
