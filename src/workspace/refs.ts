/**
 * Names of commits, read from the files in which git keeps them: to ask git costs a process, and where HEAD stands is asked after every
 * step. Whatever is kept in another way is left to git.
 */
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { readIfThere, tryTo } from '../platform/files.ts';
import type { Git } from '../platform/git.ts';

/** git, and where it keeps what is of one worktree, and what is of all. */
export interface GitFolders {
  readonly git: Git;
  readonly gitDir: string;
  readonly commonDir: string;
}

export interface Head {
  readonly commit?: string;
  readonly branch?: string;
}

/** The commit that HEAD stands on, and its branch; neither where there is none. */
export async function headOf(folders: GitFolders): Promise<Head> {
  const known = readHead(folders);
  if (known) return known;
  const { git } = folders;
  const [commit, branch] = [await resolved(git, 'HEAD^{commit}'), await git.run(SYMBOLIC)];
  const name = branch.code === 0 ? branch.stdout.trim().replace(/^refs\/heads\//, '') : undefined;
  return { ...(commit !== undefined && { commit }), ...(name !== undefined && { branch: name }) };
}

const SYMBOLIC = ['symbolic-ref', '--quiet', 'HEAD'];

/** The commit that a full name such as `refs/heads/main` stands for; undefined: there is none. */
export async function commitOf(folders: GitFolders, name: string): Promise<string | undefined> {
  const known = readRef(folders, name);
  return known === ASK_GIT ? resolved(folders.git, `${name}^{commit}`) : known;
}

/** By git: anything that names an object. */
export async function resolved(git: Git, name: string): Promise<string | undefined> {
  const { code, stdout } = await git.run(['rev-parse', '--verify', '--quiet', name]);
  return code === 0 ? stdout.trim() : undefined;
}

/** undefined: only git can say. */
function readHead(folders: GitFolders): Head | undefined {
  const text = lineIn(join(folders.gitDir, 'HEAD'));
  if (text !== undefined && OID.test(text)) return { commit: text };
  const [, ref = '', branch] = /^ref: (refs\/heads\/(.+))$/.exec(text ?? '') ?? [];
  const commit = branch === undefined ? ASK_GIT : readRef(folders, ref);
  if (commit === ASK_GIT || branch === undefined) return undefined;
  return { ...(commit !== undefined && { commit }), branch };
}

const ASK_GIT = Symbol('only git can say');

function readRef({ commonDir }: GitFolders, name: string): string | undefined | typeof ASK_GIT {
  if (!/^refs\/(heads|ralph)\//.test(name) || name.includes('..') || name.includes('\0')) return ASK_GIT;
  if (existsSync(join(commonDir, 'reftable'))) return ASK_GIT;
  const loose = lineIn(join(commonDir, name));
  if (loose !== undefined) return OID.test(loose) ? loose : ASK_GIT;
  const packed = tryTo(() => readIfThere(join(commonDir, 'packed-refs'))) ?? '';
  const at = packed.indexOf(` ${name}\n`);
  return at < 0 ? undefined : packed.slice(packed.lastIndexOf('\n', at) + 1, at);
}

const OID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** undefined where there is no file; what is a link or cannot be read is no answer. */
function lineIn(path: string): string | undefined {
  const stat = tryTo(() => lstatSync(path, { throwIfNoEntry: false }));
  if (!stat || stat.isDirectory()) return undefined;
  return stat.isFile() ? (tryTo(() => readIfThere(path)) ?? '').replace(/\n$/, '') : '';
}
