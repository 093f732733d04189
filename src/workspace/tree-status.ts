/** One `git status`, read: which files differ from HEAD, and what HEAD has of them. */
import { createHash, type Hash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { complaint, type Env, type Git } from '../platform/git.ts';
import { findRepository, isRalphs, LARGE, lookOnly, type Place } from './repository.ts';

export interface TreeStatus {
  readonly top: string;
  readonly commonDir: string;
  /** git that only looks, in the folder that was asked for. */
  readonly git: Git;
  /** The commit, or NO_COMMIT before the first one. */
  readonly head: string;
  readonly entries: readonly StatusEntry[];
}

export interface StatusEntry {
  /** From the top of the work tree. An embedded repository ends with a slash. */
  readonly path: string;
  readonly tracked: boolean;
  /** What git says of it, but for its path: the same words mean the same state of the index. */
  readonly words: string;
  /** As HEAD has it; undefined where HEAD has nothing. */
  readonly before: Blob | undefined;
  readonly submodule: boolean;
}

export interface Blob {
  readonly mode: string;
  readonly oid: string;
}

export interface StatusOptions extends Place {
  /** Globs of what is not to be looked at, from `cwd`. */
  readonly exclude?: readonly string[];
}

const FLAGS = [
  '--porcelain=v2',
  '-z',
  '--branch',
  '--no-ahead-behind',
  '--no-renames',
  '--untracked-files=all',
  '--ignore-submodules=none',
];

export async function readStatus(options: StatusOptions): Promise<TreeStatus | Problem> {
  const [repository, git] = await Promise.all([findRepository(options), lookOnly(options)]);
  if ('what' in repository) return repository;
  const { top, commonDir } = repository;
  const scope = allBut(options.exclude);
  let answer = await git.list(['status', ...FLAGS, ...scope]);
  // One broken submodule and git reports nothing at all: better to look at the rest.
  if (answer.code !== 0) answer = await git.list(['status', ...FLAGS, '--ignore-submodules=all', ...scope]);
  const { code, records, errors } = answer;
  if (code !== 0) return { where: options.cwd, what: `git status fails: ${complaint(errors, code)}` };
  const head = records.find(record => record.startsWith(HEAD))?.slice(HEAD.length) ?? '';
  const entries = records.flatMap(record => readEntry(record) ?? []).filter(({ path }) => !isRalphs(path));
  return { top, commonDir, git, head, entries };
}

/** Pathspecs for the whole repository without these. */
export function allBut(globs: readonly string[] = []): readonly string[] {
  return globs.length === 0 ? [] : ['--', ':/', ...globs.map(glob => `:(exclude,glob)${glob}`)];
}

/** git's word for a branch that has none yet. */
export const NO_COMMIT = '(initial)';

const HEAD = '# branch.oid ';

/** The words before the path, by the kind of the record. */
const WORDS: Readonly<Record<string, number>> = { '1': 8, u: 10, '?': 1 };

function readEntry(record: string): StatusEntry | undefined {
  const count = WORDS[record[0] ?? ''];
  if (count === undefined) return undefined;
  const words = record.split(' ', count);
  const [kind, , submodule = ''] = words;
  const [mode, oid] = kind === '1' ? [words[3], words[6]] : kind === 'u' ? [words[4], words[8]] : [];
  return {
    path: record.slice(words.join(' ').length + 1),
    tracked: kind !== '?',
    words: words.join(' '),
    before: blob(mode, oid),
    submodule: submodule.startsWith('S'),
  };
}

export function blob(mode: string | undefined, oid: string | undefined): Blob | undefined {
  return mode === undefined || oid === undefined || /^0+$/.test(mode) ? undefined : { mode, oid };
}

export interface TreeStateOptions extends Place {
  /** A status that was just read, to save another. */
  readonly status?: TreeStatus;
}

/** How much is read of changed files; beyond it their size and time stand for what is in them. */
const MOST_READ = 64 * LARGE;

/** HEAD, the index and the content of every file that differs from them. The same content written anew is no change. */
export async function treeState({ cwd, env, status }: TreeStateOptions): Promise<string | Problem> {
  const tree = status ?? (await readStatus({ cwd, env }));
  if ('what' in tree) return tree;
  const hash = createHash('sha256').update(tree.head);
  let left = MOST_READ;
  for (const entry of tree.entries) {
    hash.update(`\0${entry.words}\0${entry.path}\0`);
    left -= addContent(hash, join(tree.top, entry.path), left);
    if (isRepository(entry)) hash.update(await innerState(join(tree.top, entry.path), env));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Adds what identifies a file and says how much was read for it. */
function addContent(hash: Hash, path: string, left: number): number {
  try {
    const stat = lstatSync(path, { bigint: true });
    hash.update(`${stat.mode}\0`);
    if (stat.isSymbolicLink()) hash.update(readlinkSync(path));
    if (!stat.isFile()) return 0;
    const size = Number(stat.size);
    if (size > Math.min(LARGE, left)) hash.update(`${size} ${stat.mtimeNs}`);
    else hash.update(createHash('sha256').update(readFileSync(path)).digest());
    return size > left ? 0 : Math.min(size, LARGE);
  } catch {
    hash.update('unreadable'); // deleted, as a rule
    return 0;
  }
}

function isRepository(entry: StatusEntry): boolean {
  return entry.submodule || entry.path.endsWith('/');
}

/**
 * git says of a repository inside only that something is different there. A folder that has lost its own `.git`,
 * or a link, belongs to the repository around it, and looking there again would never end.
 */
async function innerState(cwd: string, env: Env): Promise<string> {
  const status = await readStatus({ cwd, env });
  if ('what' in status || status.top !== resolve(cwd)) return '';
  const state = await treeState({ cwd, env, status });
  return typeof state === 'string' ? state : '';
}
