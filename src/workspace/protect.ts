/**
 * Protected paths: what matches them at the start of a run is kept as it is then, the user's own changes included,
 * and put back before the checks run. Only the files are looked at, neither index nor commits: the files are what
 * checks see, and nothing that an agent says to git (to assume a file unchanged, say) can hide a change.
 *
 * Globs are git's own (`:(glob)`), so that they mean what they mean in every git command, and so that git finds
 * the files without us walking through what it ignores.
 */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Violation } from '../domain/run/evidence.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import { type Difference, type FileKeeper, type KeptFile, markFrom, markOf, statOf } from './keep-files.ts';
import { openOwnGit } from './own-git.ts';
import {
  type FilesAtStart,
  filesAtStart,
  isThere,
  newFiles,
  newUnlisted,
  type WorkTree,
  watchSubmodules,
} from './protected-files.ts';
import { type Place, shownPath } from './repository.ts';
import { blockedAt, clearPath, moveAside } from './set-aside.ts';

export interface ProtectionOptions extends Place {
  /** From `cwd`; `*` stops at a slash, `**` does not, the name of a folder stands for all that is in it. */
  readonly globs: readonly string[];
  readonly newFiles: 'allow' | 'forbid';
  /** Files and folders that are not protected, from the top of the work tree, without a slash at the end. */
  readonly except?: readonly string[];
  /** Globs of what may change although `**` is protected, new files included. */
  readonly allow?: readonly string[];
  /** Where things go that are in the way; nothing is deleted. */
  readonly aside: string;
  /** Where the files are kept, so that a resumed run finds them again. */
  readonly keepIn: string;
  /** The name of what was kept there at the start of the run: that counts, not what is there now. */
  readonly recall?: string;
}

export type Protection = Exclude<Awaited<ReturnType<typeof createProtection>>, Problem>;

export interface RestoreListener {
  /** Called before anything is undone. */
  found(what: readonly string[]): void;
  /** Found earlier, by a process that died while it undid it: that is reported, not what is half undone now. */
  readonly pending: readonly string[];
}

export async function createProtection(options: ProtectionOptions) {
  const repository = await openTree(options);
  if ('what' in repository) return repository;
  const { top } = repository;
  const first = await filesAtStart(repository, options);
  if ('what' in first) return first;
  let start = first;
  const marks = new Map<string, string>();
  const now = (): Kept => ({ repository, marks, ...start });
  const kept = () => keptOffences(now());
  const movedSubmodules = watchSubmodules(repository, options);
  const news = async () => {
    const { empty, found } = await findNews(repository, options, start);
    const moved = await movedSubmodules(start);
    return { empty, offences: [...newOffences(repository, found), ...movedOffences(repository, moved)] };
  };
  return {
    /** How many files are protected, and what the user should know: a glob that fits nothing, what cannot be protected. */
    ...{ files: first.kept.size, notes: first.notes },
    /** What was kept, by name. */
    name: () => start.name,
    /** What differs from the start. Changes nothing. */
    inspect: async () => toViolations([...kept(), ...(await news()).offences], undefined),
    /** Puts everything back, and says what it was. `restored` is false where that was not possible. */
    async restore(iteration = 0, { found, pending } = QUIETLY): Promise<readonly Violation[]> {
      const aside = join(options.aside, String(iteration));
      const undone = (offences: readonly Offence[]) => {
        const fresh = offences.filter(({ what }) => !pending.includes(what));
        if (fresh.length > 0) found(fresh.map(({ what }) => what));
        return toViolations(offences, aside);
      };
      const undo = pending.length === 0 ? undone(kept()) : finished(pending, toViolations(kept(), aside));
      // Only now: what a link led to is no longer there.
      const first = await news();
      const more = undone(first.offences).filter(({ what }) => !pending.includes(what));
      // An empty folder goes without a word: it is nobody's work, and a tool may take it for the file of that name.
      const { empty } = more.length > 0 ? await newUnlisted(repository, options, start) : first;
      for (const path of empty) tryTo(() => moveAside(top, path, aside));
      return [...undo, ...more].sort(byWhat);
    },
    /** The same files in a copy of the work tree; `aside` takes what is in their way there. */
    at(folder: string, aside: string): ProtectedCopy {
      const copy = copyOf(repository, folder);
      return copyAt({ ...now(), marks: new Map(), repository: copy }, aside, () =>
        findNews(copy, options, start),
      );
    },
    /** From the last look on: returns what was written to until the next one, whatever it holds then. */
    watch: () => watchWrites(now()),
    /** From now on the files are protected as they are now: the user has changed them. A problem leaves it as it was. */
    async renew(): Promise<Problem | undefined> {
      const { recall: _, ...fresh } = options;
      const next = await filesAtStart(repository, fresh);
      if ('what' in next) return next;
      start = next;
    },
  };
}

async function openTree(options: ProtectionOptions): Promise<WorkTree | Problem> {
  const { allow = [] } = options;
  const wrong = [...options.globs, ...allow].flatMap(glob => wrongGlob(glob) ?? [])[0];
  if (wrong) return wrong;
  const own = await openOwnGit(options);
  if ('what' in own) return own;
  const { top, prefix, root, git, objects, head, treeOf, changedPaths } = own;
  const ignoresCase = existsSync(join(top, '.GIT'));
  return { top, prefix, root, git, objects, head, treeOf, changedPaths, ignoresCase, allow };
}

function copyOf(tree: WorkTree, folder: string): WorkTree {
  return {
    ...tree,
    top: folder,
    git: tree.git.with({ GIT_WORK_TREE: folder }).at(join(folder, tree.prefix)),
  };
}

/** Protected files in a copy of the work tree. */
export interface ProtectedCopy {
  /** Puts them there as they were at the start, and returns what was not so. */
  restore(): readonly Violation[];
  watch(): () => readonly string[];
  /** Moves aside what is new since it was first asked, and may not be; `mayAdd`: it is let be. */
  removeNew(mayAdd: boolean): Promise<readonly Violation[]>;
}

interface News {
  readonly empty: readonly string[];
  readonly found: readonly string[] | Problem;
}

async function findNews(tree: WorkTree, options: ProtectionOptions, start: FilesAtStart): Promise<News> {
  const [{ empty, odd }, files] = await Promise.all([
    newUnlisted(tree, options, start),
    newFiles(tree, options, start),
  ]);
  return { empty, found: isProblem(files) ? files : [...files, ...odd] };
}

function copyAt(files: Kept, aside: string, news: () => Promise<News>): ProtectedCopy {
  // What it was filled with: whatever the rules say of that, no command has made it.
  let known: ReadonlySet<string> | undefined;
  return {
    restore: () => toViolations(keptOffences(files), aside),
    watch: () => watchWrites(files),
    async removeNew(mayAdd) {
      const { empty, found } = await news();
      const all = isProblem(found) ? found : [...found, ...empty];
      const before = known;
      if (!isProblem(all) && (mayAdd || !before)) known = new Set(all);
      const fresh = isProblem(all) ? all : all.filter(path => !(mayAdd || !before || before.has(path)));
      return toViolations(newOffences(files.repository, fresh), aside);
    },
  };
}

const QUIETLY: RestoreListener = { found() {}, pending: [] };

/** What is half undone looks like another offence; what it was at first is on record. */
function finished(pending: readonly string[], rest: readonly Violation[]): readonly Violation[] {
  const restored = rest.every(violation => violation.restored);
  return pending.map(what => ({ what, restored }));
}

function wrongGlob(glob: string): Problem | undefined {
  const where = `protect ${JSON.stringify(glob)}`;
  if (glob.trim() === '') return { where, what: 'an empty glob protects nothing' };
  if (!glob.startsWith('!')) return undefined;
  return { where, what: 'exceptions with ! are not supported', fix: 'name what is to be protected' };
}

interface Kept {
  readonly repository: WorkTree;
  readonly keeper: FileKeeper;
  readonly kept: ReadonlyMap<string, KeptFile>;
  /** Of each, when it was last looked at. */
  readonly marks: Map<string, string>;
}

/** The system changes the times of a file with every write, and nobody can set all of them back. */
function watchWrites({ repository: { prefix }, marks }: Kept): () => readonly string[] {
  const before = [...marks];
  return () =>
    before
      .filter(([path, mark]) => marks.get(path) !== mark && marks.get(path) !== UNMOVED)
      .map(([path]) => `${shownPath(relative(prefix, path)) || '.'} was changed and put back`);
}

const UNMOVED = 'unmoved';

/** A folder that was moved has another time of change than what was put into it last. */
function markOfFolder(path: string): string {
  const stat = statOf(path);
  return stat && stat.ctimeNs === stat.mtimeNs ? UNMOVED : markFrom(stat);
}

interface Offence {
  readonly what: string;
  undo(aside: string): void;
}

/** Looks at each once, for what differs and for its mark. */
function keptOffences({ repository, keeper, kept, marks }: Kept): readonly Offence[] {
  const { top, prefix } = repository;
  const known = new Map<string, string | undefined>();
  const offences = [...kept].flatMap(([path, file]) => {
    const place = `${top}/${path}`;
    const blocked = blockedAt(top, path, known);
    const stat = blocked === undefined ? statOf(place) : undefined;
    const mark = markFrom(stat);
    marks.set(path, mark);
    const difference = blocked === undefined ? keeper.difference(file, place, stat, mark) : undefined;
    if (blocked === undefined && difference === undefined) return [];
    const name = shownPath(relative(prefix, path));
    const what = difference
      ? changeWords(name, difference)
      : `${name} was deleted: ${shownPath(relative(prefix, blocked ?? ''))} is no longer a folder`;
    const undo = (aside: string) => {
      clearPath(top, path, aside);
      keeper.restore(file, place);
      marks.set(path, markOf(place));
    };
    return [{ what, undo }];
  });
  for (const folder of ['', ...known.keys()]) marks.set(`${folder}/`, markOfFolder(join(top, folder)));
  return offences;
}

/** What was done to a file, in a sentence without its end. */
export function changeWords(name: string, difference: Difference): string {
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

function newOffences(repository: WorkTree, paths: readonly string[] | Problem): readonly Offence[] {
  if ('what' in paths) return [{ what: `new files cannot be looked for: ${paths.what}`, undo: impossible }];
  const { top, prefix } = repository;
  return paths
    .filter(path => isNameless(path) || isThere(repository, path))
    .map(path => path.replace(/\/$/, ''))
    .map(path => ({
      what: `${shownPath(relative(prefix, path))} is new`,
      undo: aside => (isThere(repository, path) ? moveAside(top, path, aside) : impossible()),
    }));
}

/** They are in commits of the agent, which Ralph does not write anew. */
function movedOffences({ prefix }: WorkTree, paths: readonly string[] | Problem): readonly Offence[] {
  if (isProblem(paths)) return [{ what: `submodules cannot be looked for: ${paths.what}`, undo: impossible }];
  return paths.map(path => ({
    what: `${shownPath(relative(prefix, path))} is on another commit: put it back with a commit`,
    undo: impossible,
  }));
}

/** It is not UTF-8: what has that name is there and cannot be reached by it. */
const isNameless = (path: string) => path.includes('\ufffd');

function impossible(): never {
  throw new Error('there is nothing to restore');
}

/** Undoes them where there is a place for what is in the way, and lists them in order. */
function toViolations(offences: readonly Offence[], aside: string | undefined): readonly Violation[] {
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
