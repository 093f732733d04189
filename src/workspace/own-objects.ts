/** Objects in Ralph's own git directory: writing and comparing them, and the one way to make a commit. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import type { Problem } from '../domain/text/problem.ts';
import { ensureFolder, writeWhole } from '../platform/files.ts';
import { complaint, type Env, type Git } from '../platform/git.ts';
import { type OwnFolder, type Pinned, readPinned } from './own-folder.ts';

export interface ChangedPath {
  /** From the top; bytes that are not UTF-8 are replaced. */
  readonly path: string;
  /** The same with one character for each byte. */
  readonly bytes: string;
  readonly before: Blob | undefined;
  readonly after: Blob | undefined;
}

export interface Blob {
  readonly mode: string;
  readonly oid: string;
}

/** The whole answer of git, byte for byte; undefined: it failed. */
export async function readAll(
  git: Git,
  args: readonly string[],
  input?: string | Buffer,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  const read = (chunk: Buffer) => {
    chunks.push(chunk);
    return 'more' as const;
  };
  return (await git.stream(args, read, input)).code === 0 ? Buffer.concat(chunks) : undefined;
}

type Kind = 'blob' | 'tree' | 'commit';

function encoded(kind: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content]);
}

/** What git calls it. */
export function objectName(own: OwnFolder, kind: Kind, content: Buffer): string {
  return createHash(readPinned(own)?.format ?? 'sha1')
    .update(encoded(kind, content))
    .digest('hex');
}

/** Written as git writes it, without a process for it. Returns its name. */
export function writeObject(own: OwnFolder, kind: Kind, content: Buffer): string {
  const name = objectName(own, kind, content);
  const file = join(own.path, 'objects', name.slice(0, 2), name.slice(2));
  ensureFolder(dirname(file));
  if (!existsSync(file)) writeWhole(file, deflateSync(encoded(kind, content), { level: 1 }));
  return name;
}

/** A path with what it becomes, or undefined where it goes. `bytes`: a character for each byte of it. */
export type TreeEntry = Pick<ChangedPath, 'bytes' | 'after'>;

/** As `update-index` reads it. What is gone comes first: a file can be where a folder was. `width`: of the names of objects. */
export function indexInfo(entries: readonly TreeEntry[], width = 40): readonly string[] {
  const sorted = [...entries].sort((one, other) => Number(!!one.after) - Number(!!other.after));
  const gone = { mode: '0', oid: '0'.repeat(width) };
  return sorted.map(({ bytes, after = gone }) => `${after.mode} ${after.oid}\t${bytes}`);
}

export type Listed = TreeEntry & { readonly after: Blob };

export const SUBMODULE = '160000';

/** What `ls-tree -r -z` lists, or what `update-index` reads. */
export function readEntries(records: readonly string[]): readonly Listed[] {
  return records.map(record => {
    const words = record.slice(0, record.indexOf('\t')).split(' ');
    const after = { mode: words[0] ?? '', oid: words.at(-1) ?? '' };
    return { bytes: record.slice(record.indexOf('\t') + 1), after };
  });
}

/** A patch for an agent to read. */
export async function patch(git: Git, from: string, to: string): Promise<string | Problem> {
  const { code, stdout, output } = await git.run(['diff-tree', '-r', '-p', ...QUIET_DIFF, from, to]);
  return code === 0
    ? stdout
    : { where: from, what: `git cannot show the changes: ${complaint(output, code)}` };
}

/** As text: one byte would have git show nothing of a file. */
const QUIET_DIFF = ['--text', '--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=all'];

export async function compareTrees(
  git: Git,
  from: string,
  to: string,
  scope: readonly string[],
): Promise<readonly ChangedPath[] | Problem> {
  if (from === to) return [];
  const flags = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--ignore-submodules=none'];
  const { code, records, errors } = await git.bytes(['diff-tree', ...flags, from, to, ...scope]);
  if (code !== 0) return { where: from, what: `cannot be compared with ${to}: ${complaint(errors, code)}` };
  return readRaw(records);
}

/** What `--raw -z` lists, a character for each byte. Of a rename the new name counts. */
export function readRaw(records: readonly string[]): readonly ChangedPath[] {
  const changed: ChangedPath[] = [];
  for (let at = 0; at < records.length; ) {
    const [oldMode, newMode, oldOid, newOid, kind = ''] = records[at]?.slice(1).split(' ') ?? [];
    at += kind.startsWith('R') ? 3 : 2;
    const bytes = records[at - 1] ?? '';
    const path = Buffer.from(bytes, 'latin1').toString('utf8');
    changed.push({ path, bytes, before: blob(oldMode, oldOid), after: blob(newMode, newOid) });
  }
  return changed;
}

function blob(mode: string | undefined, oid: string | undefined): Blob | undefined {
  return mode === undefined || oid === undefined || /^0+$/.test(mode) ? undefined : { mode, oid };
}

export interface NewCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  /** Where the user's commits are signed, this one is, too: then it has another name each time it is made. */
  readonly isSigned?: true;
  /** Milliseconds since 1970, so that it has the same name whenever it is made; absent: now. */
  readonly date?: number;
}

/** By Ralph where nobody else is named. */
export async function makeCommit(
  git: Git,
  { tree, parents, message, date, isSigned }: NewCommit,
  users: Pick<Pinned, 'settings' | 'signing'> = { settings: [] },
  env: Env = {},
): Promise<string | Problem> {
  const settings = new Map(users.settings);
  const name = settings.get('user.name') || 'Ralph';
  const email = settings.get('user.email') || 'ralph@localhost';
  const at = date === undefined ? undefined : `@${Math.floor(date / 1000)} +0000`;
  const who = Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap(role => [
      [`GIT_${role}_NAME`, env[`GIT_${role}_NAME`] || name],
      [`GIT_${role}_EMAIL`, env[`GIT_${role}_EMAIL`] || email],
      ...(at === undefined ? [] : [[`GIT_${role}_DATE`, at]]),
    ]),
  );
  const named = parents.flatMap(parent => ['-p', parent]);
  const signing = isSigned && users.signing;
  const { code, stdout, output } = await git
    .with(who)
    .run([
      ...(signing ?? []).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
      ...['commit-tree', ...(signing ? ['-S'] : []), tree, ...named, '-m', message],
    ]);
  return code === 0 ? stdout.trim() : { where: tree, what: complaint(output, code) };
}
