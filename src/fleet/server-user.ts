/** Who runs the server. PostgreSQL refuses root: then it is started as another user, who owns its files. */
import { existsSync, lchownSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Problem } from '../domain/text/problem.ts';
import { ensureFolder, readIfThere } from '../platform/files.ts';
import { stateFolder } from '../platform/package.ts';
import { findProgram } from '../platform/programs.ts';
import type { Env } from '../store/state.ts';

export interface ServerUser {
  /** What a program of the server is started with. */
  readonly prefix: readonly string[];
  readonly owner?: { readonly uid: number; readonly gid: number; readonly home: string };
}

export function findServerUser(as: string | undefined, env: Env, cwd: string): ServerUser | Problem {
  const isRoot = process.getuid?.() === 0;
  if (as === undefined) {
    if (!isRoot) return { prefix: [] };
    return {
      where: 'ralph fleet up',
      what: 'PostgreSQL refuses to run as root',
      fix: 'run this as a normal user, or add --as USER (Debian has a user postgres), or name a server with --database URL',
    };
  }
  if (!isRoot) return { where: '--as', what: 'only root can start the server as another user' };
  const users = (readIfThere('/etc/passwd') ?? '').split('\n').map(line => line.split(':'));
  const [, , uid, gid, , home = '/'] = users.find(([name]) => name === as) ?? [];
  if (uid === undefined) return { where: `--as ${as}`, what: 'there is no such user in /etc/passwd' };
  if (uid === '0') return { where: `--as ${as}`, what: 'PostgreSQL refuses to run as root' };
  const setpriv = findProgram('setpriv', env, cwd);
  if (typeof setpriv !== 'string') return setpriv;
  const owner = { uid: Number(uid), gid: Number(gid), home };
  return { prefix: [setpriv, `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'], owner };
}

/** Where the data goes: nobody else gets into the home of root, so another user has it at home. */
export function serverFolderOf({ owner }: ServerUser, own: string): string | Problem {
  if (!owner) return own;
  if (existsSync(owner.home)) return `${stateFolder({ HOME: owner.home })}/fleet/pg`;
  return {
    where: '--as',
    what: `the user has no home: ${owner.home}`,
    fix: 'say where the data goes with --data FOLDER',
  };
}

/** The folder and those above it that are missing, all of them the user's. */
export function makeFolderFor(user: ServerUser, path: string): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeFolderFor(user, dirname(path));
  ensureFolder(path);
  giveTo(user, path);
}

export function giveTo({ owner }: ServerUser, path: string): void {
  if (owner) lchownSync(path, owner.uid, owner.gid);
}
