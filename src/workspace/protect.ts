/**
 * Protected paths: what matches them at the start of a run is kept as it is then, the user's own changes included,
 * and put back before the checks run. Only the files are looked at, neither index nor commits: the files are what
 * checks see, and nothing that an agent tells git (to assume a file unchanged, say) can hide a change.
 *
 * Globs are git's own (`:(glob)`), so that they mean what they mean in every git command, and so that git finds
 * the files without us walking through what it ignores.
 */
import { lstatSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Violation } from '../domain/evidence.ts';
import type { Problem } from '../domain/problem.ts';
import { complaint } from '../platform/git.ts';
import { readIgnoreRules } from './ignore-rules.ts';
import { blockedAt, makeRoom, moveAside } from './move-aside.ts';
import { findRepository, isRalphs, type Place, type Repository, shownPath } from './repository.ts';
import { type Difference, type Kept, openVault, type Vault } from './snapshot.ts';

export interface ProtectionOptions extends Place {
  /** From `cwd`; `*` stops at a slash, `**` does not, the name of a folder stands for all that is in it. */
  readonly globs: readonly string[];
  readonly newFiles: 'allow' | 'forbid';
  /** Where things go that are in the way; nothing is deleted. */
  readonly aside: string;
}

export interface Protection {
  /** How many files are protected. */
  readonly files: number;
  /** What the user should know: a glob that fits nothing, something that cannot be protected. */
  readonly notes: readonly string[];
  /** What differs from the start. Changes nothing. */
  inspect(): Promise<readonly Violation[]>;
  /** Puts everything back, and says what it was. `restored` is false where that was not possible. */
  restore(iteration?: number): Promise<readonly Violation[]>;
  /** From now on the files are protected as they are now: the user has changed them. A problem leaves it as it was. */
  renew(): Promise<Problem | undefined>;
  /** Forgets what was kept. */
  close(): void;
}

export async function createProtection(options: ProtectionOptions): Promise<Protection | Problem> {
  const wrong = options.globs.flatMap(glob => wrongGlob(glob) ?? [])[0];
  if (wrong) return wrong;
  const place = await findRepository(options);
  if ('what' in place) return place;
  const repository = pinned(place);
  const first = await keepAll(repository, options);
  if ('what' in first) return first;
  let guard = first;
  const newOnes = async () => newOffences(repository, (await guard.news?.()) ?? []);
  return {
    files: first.kept.size,
    notes: first.notes,
    inspect: async () => told([...keptOffences(guard), ...(await newOnes())], undefined),
    restore: async (iteration = 0) => {
      const aside = join(options.aside, String(iteration));
      const undone = told(keptOffences(guard), aside);
      // Only now: what a link led to is no longer there.
      return [...undone, ...told(await newOnes(), aside)].sort(byWhat);
    },
    async renew() {
      const next = await keepAll(repository, options);
      if ('what' in next) return next;
      guard.vault.close();
      guard = next;
      return undefined;
    },
    close: () => guard.vault.close(),
  };
}

interface Keeping extends Guard {
  readonly notes: readonly string[];
  /** Finds what is new; undefined where new files are allowed. */
  readonly news: (() => Promise<readonly string[] | Problem>) | undefined;
}

/** Everything that fits the globs, as it is now. */
async function keepAll(repository: Repository, options: ProtectionOptions): Promise<Keeping | Problem> {
  const found = await findFiles(repository, options.globs);
  if ('what' in found) return found;
  const vault = openVault();
  const kept = new Map<string, Kept>();
  const known = new Map<string, string | undefined>();
  for (const path of found.paths) {
    const file =
      blockedAt(repository.top, path, known) === undefined && vault.keep(join(repository.top, path));
    if (file) kept.set(path, file);
  }
  const news =
    options.newFiles === 'forbid' ? await watchForNew(repository, options, found.paths) : undefined;
  return { repository, vault, kept, notes: found.notes, news };
}

/** An agent can write the settings of the repository, and one of them says where its files are. */
function pinned(repository: Repository): Repository {
  const { git, gitDir, top } = repository;
  return { ...repository, git: git.with({ GIT_DIR: gitDir, GIT_WORK_TREE: top }) };
}

function wrongGlob(glob: string): Problem | undefined {
  const where = `protect ${JSON.stringify(glob)}`;
  if (glob.trim() === '') return { where, what: 'an empty glob protects nothing' };
  if (!glob.startsWith('!')) return undefined;
  return { where, what: 'exceptions with ! are not supported', mend: 'name what is to be protected' };
}

interface Found {
  readonly paths: readonly string[];
  readonly notes: readonly string[];
}

async function findFiles(repository: Repository, globs: readonly string[]): Promise<Found | Problem> {
  const paths = new Set<string>();
  const notes: string[] = [];
  for (const glob of globs) {
    const matches = await matching(repository, [glob]);
    if ('what' in matches) return matches;
    if (matches.length === 0) notes.push(`protect ${glob}: no file fits it now`);
    for (const path of matches) paths.add(path);
  }
  for (const path of paths) {
    const note = unprotectable(repository, path);
    if (note) notes.push(note);
  }
  return { paths: [...paths].sort(), notes };
}

/** What git knows or would add, or else what it ignores: paths from the top. */
async function matching(
  { git }: Repository,
  globs: readonly string[],
  which: readonly string[] = ['--cached', '--others'],
): Promise<readonly string[] | Problem> {
  const specs = globs.map(glob => `:(glob)${glob}`);
  const flags = [...which, '--exclude-standard', '--full-name', '-z'];
  const { code, records, errors } = await git.list(['ls-files', ...flags, '--', ...specs]);
  if (code !== 0) return { where: `protect ${globs.join(' ')}`, what: complaint(errors, code) };
  return [...new Set(records)].filter(path => !isRalphs(path));
}

function unprotectable({ top }: Repository, path: string): string | undefined {
  if (path.includes('\ufffd')) return `${shownPath(path)} is not protected: its name is not UTF-8`;
  const isFolder = blockedAt(top, path) === undefined && lstatSync(join(top, path), QUIET)?.isDirectory();
  return isFolder ? `${shownPath(path)} is not protected: it is a repository of its own` : undefined;
}

const QUIET = { throwIfNoEntry: false } as const;

interface Guard {
  readonly repository: Repository;
  readonly vault: Vault;
  readonly kept: ReadonlyMap<string, Kept>;
}

interface Offence {
  readonly what: string;
  undo(aside: string): void;
}

function keptOffences({ repository, vault, kept }: Guard): readonly Offence[] {
  const { top, prefix } = repository;
  const known = new Map<string, string | undefined>();
  return [...kept].flatMap(([path, file]) => {
    const name = shownPath(relative(prefix, path));
    const blocked = blockedAt(top, path, known);
    const difference = blocked === undefined ? vault.difference(file, join(top, path)) : undefined;
    if (blocked === undefined && difference === undefined) return [];
    const what = difference
      ? sentence(name, difference)
      : `${name} was deleted: ${shownPath(relative(prefix, blocked ?? ''))} is no longer a folder`;
    const undo = (aside: string) => {
      makeRoom(top, path, aside);
      vault.putBack(file, join(top, path));
    };
    return [{ what, undo }];
  });
}

function sentence(name: string, difference: Difference): string {
  switch (difference.kind) {
    case 'content':
      return `${name} was changed`;
    case 'deleted':
      return `${name} was deleted`;
    case 'replaced':
      return `${name} was replaced by ${difference.by}`;
    case 'mode':
      return `${name} was changed: its mode was ${difference.from.toString(8)} and is ${difference.to.toString(8)}`;
    default:
      return difference satisfies never;
  }
}

const IGNORED = ['--others', '--ignored'];

/** Finds what fits the globs and was not there at the start, also behind a rule that tells git to ignore it. */
async function watchForNew(
  repository: Repository,
  { globs, env }: ProtectionOptions,
  paths: readonly string[],
): Promise<() => Promise<readonly string[] | Problem>> {
  const rules = await readIgnoreRules(repository, env);
  const ignored = await matching(repository, globs, IGNORED);
  const there = paths.filter(path => isThere(repository, path));
  const before = new Set([...there, ...('what' in ignored ? [] : ignored)]);
  return async () => {
    const visible = await matching(repository, globs);
    if ('what' in visible) return visible;
    const hidden = await matching(repository, globs, IGNORED);
    if ('what' in hidden) return hidden;
    const isNew = (path: string) => !before.has(path);
    return [...visible.filter(isNew), ...(await rules.hiddenSince(hidden.filter(isNew)))];
  };
}

function isThere({ top }: Repository, path: string): boolean {
  return blockedAt(top, path) === undefined && lstatSync(join(top, path), QUIET) !== undefined;
}

function newOffences(repository: Repository, paths: readonly string[] | Problem): readonly Offence[] {
  if ('what' in paths) return [{ what: `new files cannot be looked for: ${paths.what}`, undo: impossible }];
  const { top, prefix } = repository;
  return paths
    .filter(path => isThere(repository, path))
    .map(path => path.replace(/\/$/, ''))
    .map(path => ({
      what: `${shownPath(relative(prefix, path))} is new`,
      undo: aside => moveAside(top, path, aside),
    }));
}

function impossible(): never {
  throw new Error('there is nothing to put back');
}

/** Undoes them where there is a place for what is in the way, and tells of them in order. */
function told(offences: readonly Offence[], aside: string | undefined): readonly Violation[] {
  const violations = offences.map(({ what, undo }) => {
    if (aside === undefined) return { what, restored: false };
    try {
      undo(aside);
      return { what, restored: true };
    } catch {
      return { what, restored: false }; // no right to write there, or no room: the checks then prove nothing
    }
  });
  return violations.sort(byWhat);
}

function byWhat(a: Violation, b: Violation): number {
  return a.what < b.what ? -1 : a.what > b.what ? 1 : 0;
}
