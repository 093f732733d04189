/** Which paths differ from the start of a run, what they were then and what they are now. */

import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { tryTo } from '../platform/files.ts';
import { complaint } from '../platform/git.ts';
import { isRalphs, LARGE, shownPath } from './repository.ts';
import { allBut, type Blob, blob, NO_COMMIT, type StatusEntry, type TreeStatus } from './tree-status.ts';

export interface Changes {
  /** As git's `--index-info` takes them: the paths as they were, and as they are. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** How many paths are in these. */
  readonly handed: number;
  /** What git is not asked to show, in a line each. */
  readonly remarks: readonly string[];
  /** How many paths were too many to look at. */
  readonly left: number;
}

export interface Since {
  readonly startRef: string;
  /** Globs of what is left out, from `cwd`. Ralph's own folder always is. */
  readonly exclude?: readonly string[];
}

/** Nobody is shown more than this, and looking for renames in it would take long. */
const MOST_PATHS = 2_000;
const MOST_BYTES = 32 * LARGE;

export async function findChanges(status: TreeStatus, since: Since): Promise<Changes | Problem> {
  const commits = await committed(status, since);
  if ('what' in commits) return commits;
  const anyOid = '1'.repeat((status.head === NO_COMMIT ? since.startRef : status.head).length);
  const entries = new Map(status.entries.map(entry => [entry.path, entry]));
  const paths = [...new Set([...commits.keys(), ...entries.keys()])].sort();
  const before: string[] = [];
  const after: string[] = [];
  const remarks: string[] = [];
  let bytes = 0;
  let looked = 0;
  for (const path of paths) {
    if (looked === MOST_PATHS || bytes > MOST_BYTES) break;
    looked++;
    const change = {
      path,
      entry: entries.get(path),
      commit: commits.get(path),
      stat: statOf(status.top, path),
    };
    const remark = remarkOn(change);
    if (remark !== undefined) {
      remarks.push(remark);
      continue;
    }
    const was = change.commit ? change.commit.before : change.entry?.before;
    const mode = modeNow(change, was);
    if (was) before.push(`${was.mode} ${was.oid}\t${path}`);
    // The name of an object has to stand here and is never looked at: a new entry is compared by content.
    if (mode) after.push(`${mode} ${anyOid}\t${path}`);
    bytes += change.stat?.size ?? 0;
  }
  return { before, after, handed: looked - remarks.length, remarks, left: paths.length - looked };
}

interface Commit {
  /** As it was at the start. */
  readonly before: Blob | undefined;
  /** As HEAD has it now. */
  readonly now: Blob | undefined;
}

async function committed({ git, head }: TreeStatus, { startRef, exclude }: Since) {
  const found = new Map<string, Commit>();
  if (head === startRef || head === NO_COMMIT) return found;
  const flags = ['-r', '-z', '--no-renames', '--raw', '--no-abbrev'];
  const { code, records, errors } = await git.list([
    'diff-tree',
    ...flags,
    startRef,
    head,
    ...allBut(exclude),
  ]);
  if (code !== 0)
    return { where: startRef, what: `cannot be compared with HEAD: ${complaint(errors, code)}` };
  for (let index = 0; index + 1 < records.length; index += 2) {
    const [oldMode, newMode, oldOid, newOid] = records[index]?.slice(1).split(' ') ?? [];
    const path = records[index + 1] ?? '';
    if (!isRalphs(path)) found.set(path, { before: blob(oldMode, oldOid), now: blob(newMode, newOid) });
  }
  return found;
}

function statOf(top: string, path: string): Stats | undefined {
  // a folder on the way is a file now
  return tryTo(() => lstatSync(join(top, path), { throwIfNoEntry: false }));
}

interface Change {
  readonly path: string;
  readonly entry: StatusEntry | undefined;
  readonly commit: Commit | undefined;
  readonly stat: Stats | undefined;
}

/** The line for a path that git cannot show, or should not. */
function remarkOn({ path, entry, commit, stat }: Change): string | undefined {
  const shown = shownPath(path);
  if (path.includes('\ufffd')) return `changed: ${shown} (its name is not UTF-8)`;
  if (path.endsWith('/')) return `new: ${shown} (a git repository of its own, not shown)`;
  if (stat?.isFile() && stat.size > LARGE) {
    const isNew = commit ? !commit.before : !entry?.before;
    return `${isNew ? 'new' : 'changed'}: ${shown} (${stat.size} bytes, too large to show)`;
  }
  if (!stat && !entry && commit?.now) return `changed: ${shown} (in a commit, not checked out here)`;
  return undefined;
}

/** Undefined when it is not there any more. */
function modeNow({ entry, commit, stat }: Change, was: Blob | undefined): string | undefined {
  if (stat?.isSymbolicLink()) return '120000';
  if (stat?.isDirectory()) {
    const isSubmodule = entry ? entry.submodule : commit?.now?.mode === SUBMODULE;
    return isSubmodule ? SUBMODULE : undefined;
  }
  if (!stat?.isFile()) return undefined;
  // git knows better than we whether modes and links can be trusted on this disk; it then keeps the one given here.
  if (was && was.mode !== SUBMODULE) return was.mode;
  return stat.mode & 0o100 ? '100755' : '100644';
}

const SUBMODULE = '160000';
