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
import { listSome } from '../domain/text/feedback.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { tryTo } from '../platform/files.ts';
import {
  createFileKeeper,
  type Difference,
  type FileKeeper,
  isSameLook,
  type KeptFile,
  type Look,
  lookAt,
  markFrom,
  noteOf,
  statOf,
  writeOut,
} from './keep-files.ts';
import { openOwnGit } from './own-git.ts';
import {
  type Committed,
  type FilesAtStart,
  filesAtStart,
  isThere,
  newFiles,
  newUnlisted,
  stagedOtherwise,
  type WorkTree,
  watchCommits,
} from './protected-files.ts';
import { type Place, shownPath } from './repository.ts';
import { blockedAt, clearPath, moveAside } from './set-aside.ts';
import { standBack } from './stand-back.ts';

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
  /** Below which refs commits are kept that are taken back; absent: they are named until another commit puts right what they hold. */
  readonly keepCommits?: string;
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
  const first = await filesAtStart(repository, options);
  if ('what' in first) return first;
  let start = first;
  let trail = createTrail(repository);
  const living = { may: true };
  const kept = () => keptOffences({ repository, trail, living, ...start });
  const committed = watchCommits(repository, options);
  const news = async () => {
    const { empty, found } = await findNews(repository, options, start);
    const commits = commitOffences(repository, await committed(start), start, options);
    return { empty, offences: [...newOffences(repository, found), ...commits] };
  };
  return {
    /** How many files are protected, and what the user should know: a glob that fits nothing, what cannot be protected. */
    ...{ files: first.kept.size, notes: first.notes },
    /** What was kept, by name. */
    name: () => start.name,
    /** Nothing that the agent starts lives on: files need not be written out to the disk before each look. */
    nothingLives(): void {
      living.may = false;
    },
    /** What differs from the start. Changes nothing. */
    inspect: async () => toViolations([...kept(), ...(await news()).offences], undefined),
    /** Why nothing is proven: a commit since the start, or what is staged since, has such a file otherwise than here. */
    committed: async () => wordsOf(repository, options, start, await committed(start)),
    /** Puts everything back, and says what it was. `restored` is false where that was not possible. */
    async restore(iteration = 0, listener = QUIETLY): Promise<readonly Violation[]> {
      const aside = join(options.aside, String(iteration));
      const [here, first] = await lookAtBoth(kept, undoneOf(aside, listener), news);
      const isKnown = (what: string) => listener.pending.includes(what);
      const more = undone(first.offences, aside, listener).filter(({ what }) => !isKnown(what));
      // An empty folder goes without a word: it is nobody's work, and a tool may take it for the file of that name.
      const { empty } = more.length > 0 ? await newUnlisted(repository, options, start) : first;
      for (const path of empty) tryTo(() => moveAside(repository.top, path, aside));
      return trail.rest([...here, ...more].sort(byWhat));
    },
    /** The same files in a copy of the work tree; `aside` takes what is in their way there. */
    at(folder: string, aside: string): ProtectedCopy {
      const copy = copyOf(repository, folder);
      const [keeper, trail] = [createFileKeeper(options.keepIn), createTrail(copy)];
      const news = () => findNews(copy, options, start);
      return copyAt({ ...start, keeper, trail, living, repository: copy }, aside, news);
    },
    /** Whether everything was put back, and nothing was run since. */
    isFresh: () => trail.isFresh(),
    /** From the last look on: returns what was written to until the next one, whatever it holds then. */
    watch: () => trail.watch(),
    /** From now on the files are protected as they are now: the user has changed them. A problem leaves it as it was. */
    async renew(): Promise<Problem | undefined> {
      const { recall: _, ...fresh } = options;
      const next = await filesAtStart(repository, fresh);
      if ('what' in next) return next;
      start = next;
      trail = createTrail(repository);
    },
  };
}

async function openTree(options: ProtectionOptions): Promise<WorkTree | Problem> {
  const { allow = [] } = options;
  const named = [
    ...options.globs.map(glob => ['protect', glob] as const),
    ...allow.map(glob => ['only', glob] as const),
  ];
  const wrong = named.flatMap(([option, glob]) => wrongGlob(option, glob) ?? [])[0];
  if (wrong) return wrong;
  const own = await openOwnGit(options);
  if ('what' in own) return own;
  const { top, prefix, root, git, objects, head, treeOf, changedPaths, snapshot } = own;
  const ignoresCase = existsSync(join(top, '.GIT'));
  const look = { head, treeOf, changedPaths, snapshot };
  return { top, prefix, root, git, objects, ...look, repository: own.repository, ignoresCase, allow };
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
  /**
   * Puts them there as they were at the start, and returns what was not so. What is new since that was first asked, and may not be, is moved
   * aside; `mayAdd`: it is let be.
   */
  restore(mayAdd: boolean): Promise<readonly Violation[]>;
  /** Whether that is done, and nothing was run since. */
  isFresh(): boolean;
  watch(): () => readonly string[];
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

/** git looks for what is new while the kept files are looked at here; once more where one is undone: what a link led to is no longer there. */
async function lookAtBoth<Found>(
  kept: () => readonly Offence[],
  undo: (offences: readonly Offence[]) => readonly Violation[],
  news: () => Promise<Found>,
): Promise<readonly [readonly Violation[], Found]> {
  const early = news();
  const offences = kept();
  const undone = undo(offences);
  return [undone, offences.length === 0 ? await early : await early.then(news)];
}

function copyAt(files: Kept, aside: string, news: () => Promise<News>): ProtectedCopy {
  // What it was filled with: whatever the rules say of that, no command has made it.
  let known: ReadonlySet<string> | undefined;
  const { trail } = files;
  return {
    ...{ isFresh: trail.isFresh, watch: trail.watch },
    async restore(mayAdd) {
      const undo = (offences: readonly Offence[]) => toViolations(offences, aside);
      const [undone, { empty, found }] = await lookAtBoth(() => keptOffences(files), undo, news);
      const all = isProblem(found) ? found : [...found, ...empty];
      const before = known;
      if (!isProblem(all) && (mayAdd || !before)) known = new Set(all);
      const fresh = isProblem(all) ? all : all.filter(path => !(mayAdd || !before || before.has(path)));
      return trail.rest([...undone, ...toViolations(newOffences(files.repository, fresh), aside)]);
    },
  };
}

const QUIETLY: RestoreListener = { found() {}, pending: [] };

function undone(offences: readonly Offence[], aside: string, { found, pending }: RestoreListener) {
  const fresh = offences.filter(({ what }) => !pending.includes(what));
  if (fresh.length > 0) found(fresh.map(({ what }) => what));
  return toViolations(offences, aside);
}

function undoneOf(aside: string, listener: RestoreListener) {
  const { pending } = listener;
  return (offences: readonly Offence[]) =>
    pending.length === 0
      ? undone(offences, aside, listener)
      : finished(pending, toViolations(offences, aside));
}

/** What is half undone looks like another offence; what it was at first is on record. */
function finished(pending: readonly string[], rest: readonly Violation[]): readonly Violation[] {
  const restored = rest.every(violation => violation.restored);
  return pending.map(what => ({ what, restored }));
}

function wrongGlob(option: 'protect' | 'only', glob: string): Problem | undefined {
  const where = `${option} ${JSON.stringify(glob)}`;
  const isOnly = option === 'only';
  if (glob.trim() === '') return { where, what: `an empty glob ${isOnly ? 'allows' : 'protects'} nothing` };
  if (!glob.startsWith('!')) return undefined;
  const fix = `name what ${isOnly ? 'may change' : 'is to be protected'}`;
  return { where, what: 'exceptions with ! are not supported', fix };
}

interface Kept {
  readonly repository: WorkTree;
  readonly keeper: FileKeeper;
  readonly kept: ReadonlyMap<string, KeptFile>;
  readonly trail: Trail;
  /** A process of the agent may have files in memory that it writes to. */
  readonly living: { readonly may: boolean };
}

type Mark = Look | string | undefined;
type Trail = ReturnType<typeof createTrail>;

/** The system changes the times of a file with every write, and nobody can set all of them back. Of what nobody touched there is no mark. */
function createTrail({ prefix }: WorkTree) {
  const marks = new Map<string, Mark>();
  /** In which look each was last seen to be another than before. */
  const moved = new Map<string, number>();
  let looks = 0;
  let isFresh = false;
  return {
    begin: () => void looks++,
    /** All that was found is undone, or some of it. */
    rest(found: readonly Violation[]) {
      isFresh = found.every(({ restored }) => restored);
      return found;
    },
    isFresh: () => isFresh,
    mark: (path: string, mark: Mark) => void marks.set(path, mark),
    note(path: string, mark: Mark): void {
      if (looks > 1 && mark !== UNMOVED && !isSame(marks.get(path), mark)) moved.set(path, looks);
      marks.set(path, mark);
    },
    /** Something is run from now on. */
    watch() {
      const since = looks;
      isFresh = false;
      return () =>
        [...moved]
          .filter(([, at]) => at > since)
          .map(([path]) => `${shownPath(relative(prefix, path)) || '.'} was changed and put back`);
    },
  };
}

function isSame(one: Mark, other: Mark): boolean {
  return one === other || (typeof one === 'object' && typeof other === 'object' && isSameLook(one, other));
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
function keptOffences({ repository, keeper, kept, trail, living }: Kept): readonly Offence[] {
  const { top, prefix } = repository;
  const known = new Map<string, string | undefined>();
  const offences: Offence[] = [];
  trail.begin();
  for (const [path, file] of kept) {
    const place = `${top}/${path}`;
    const blocked = blockedAt(top, path, known);
    if (living.may && blocked === undefined) writeOut(place);
    const now = blocked === undefined ? lookAt(place) : undefined;
    if (keeper.isUntouched(file, now)) continue;
    const look = now && noteOf(now);
    trail.note(path, look);
    const difference = blocked === undefined ? keeper.difference(file, place, look) : undefined;
    if (blocked === undefined && difference === undefined) continue;
    const name = shownPath(relative(prefix, path));
    const what = difference
      ? changeWords(name, difference)
      : `${name} was deleted: ${shownPath(relative(prefix, blocked ?? ''))} is no longer a folder`;
    const undo = (aside: string) => {
      clearPath(top, path, aside);
      keeper.restore(file, place);
      trail.mark(path, lookAt(place));
    };
    offences.push({ what, undo });
  }
  for (const folder of ['', ...known.keys()]) trail.note(`${folder}/`, markOfFolder(join(top, folder)));
  return offences;
}

/** What was done to a file, in a sentence without its end. */
export function changeWords(name: string, difference: Difference): string {
  switch (difference.kind) {
    case 'content':
      return `${name} was changed`;
    case 'added':
      return `${name} is new`;
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

/**
 * They are in commits, which Ralph does not write anew, but takes back where there may be none. Else a submodule is named at once, for what it
 * holds is in no commit here; of files only what is handed over counts.
 */
function commitOffences(
  { prefix, repository }: WorkTree,
  found: Committed | Problem,
  start: FilesAtStart,
  { keepCommits: keepIn }: Pick<ProtectionOptions, 'keepCommits'>,
): readonly Offence[] {
  if (isProblem(found)) return [{ what: `commits cannot be looked at: ${found.what}`, undo: impossible }];
  const { moved, others, commits } = found;
  const isBack = keepIn !== undefined && start.base !== undefined;
  const undo = () => (isBack ? standBack(repository, start, commits, keepIn) : impossible());
  const named = (what: string) => (path: string) => ({ what: `${nameOf(prefix, path)} ${what}`, undo });
  return isBack
    ? [...moved, ...others].map(named('was changed in a commit'))
    : moved.map(named('is on another commit: put it back with a commit'));
}

const nameOf = (prefix: string, path: string) => shownPath(relative(prefix, path));

async function wordsOf(
  tree: WorkTree,
  options: ProtectionOptions,
  start: FilesAtStart,
  committed: Committed | Problem,
): Promise<string | undefined> {
  const staged = await stagedOtherwise(tree, options, start);
  const others = isProblem(committed) ? committed : committed.others;
  return (
    otherwiseWords(tree, 'in a commit', 'commit', others) ?? otherwiseWords(tree, 'staged', 'stage', staged)
  );
}

function otherwiseWords(
  { prefix }: WorkTree,
  how: 'in a commit' | 'staged',
  fix: 'commit' | 'stage',
  others: readonly string[] | Problem,
): string | undefined {
  if (isProblem(others)) return `what is ${how} cannot be looked at: ${others.what}`;
  if (others.length === 0) return undefined;
  const paths = listSome(others.map(path => nameOf(prefix, path)));
  return `protected files are otherwise ${how} than here, where they are as they were: ${fix} them as they are here (${paths})`;
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
