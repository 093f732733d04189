/** Trees and commits in Ralph's own git directory: comparing them, and making a commit. */
import type { Problem } from '../domain/problem.ts';
import { complaint, type Env, type Git } from '../platform/git.ts';
import type { Pinned } from './own-folder.ts';

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

export async function patch(git: Git, from: string, to: string): Promise<string | Problem> {
  const { code, stdout, output } = await git.run(['diff-tree', '-r', '-p', ...QUIET_DIFF, from, to]);
  return code === 0
    ? stdout
    : { where: from, what: `git cannot show the changes: ${complaint(output, code)}` };
}

const QUIET_DIFF = ['--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=all'];

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
  return pairs(records).map(([words, bytes]) => {
    const [oldMode, newMode, oldOid, newOid] = words.slice(1).split(' ');
    const path = Buffer.from(bytes, 'latin1').toString('utf8');
    return { path, bytes, before: blob(oldMode, oldOid), after: blob(newMode, newOid) };
  });
}

function pairs(records: readonly string[]): readonly (readonly [string, string])[] {
  return records.flatMap((record, at) => (at % 2 === 0 ? [[record, records[at + 1] ?? ''] as const] : []));
}

function blob(mode: string | undefined, oid: string | undefined): Blob | undefined {
  return mode === undefined || oid === undefined || /^0+$/.test(mode) ? undefined : { mode, oid };
}

export interface NewCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  /** Milliseconds since 1970, so that it has the same name whenever it is made; absent: now. */
  readonly date?: number;
}

export async function commitTree(
  git: Git,
  pinned: Pinned | undefined,
  env: Env,
  { tree, parents, message, date }: NewCommit,
): Promise<string | Problem> {
  const settings = new Map(pinned?.settings);
  const name = settings.get('user.name') || 'Ralph';
  const email = settings.get('user.email') || 'ralph@localhost';
  const at = date === undefined ? undefined : `@${Math.floor(date / 1000)} +0000`;
  const who = {
    ...(at !== undefined && { GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at }),
    GIT_AUTHOR_NAME: env.GIT_AUTHOR_NAME || name,
    GIT_AUTHOR_EMAIL: env.GIT_AUTHOR_EMAIL || email,
    GIT_COMMITTER_NAME: env.GIT_COMMITTER_NAME || name,
    GIT_COMMITTER_EMAIL: env.GIT_COMMITTER_EMAIL || email,
  };
  const named = parents.flatMap(parent => ['-p', parent]);
  const { code, stdout, output } = await git.with(who).run(['commit-tree', tree, ...named, '-m', message]);
  return code === 0 ? stdout.trim() : { where: tree, what: complaint(output, code) };
}
