/** What keeps git for ever: a file that is none and never answers, or one that is longer than anybody has time for. */
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isBelow, namesIn, tryTo } from './files.ts';
import { descendants, isBusy } from './process-table.ts';

/** Milliseconds. A git that takes longer may be waiting; the longer it takes, the less often it is looked at. */
const FIRST_LOOK = 250;
const FURTHER_LOOKS = 2_000;
/** Where the system does not say what a process waits for, all that it could wait for is looked through: that costs more than git does where there are many files. */
const FIRST_SEARCH = 2_000;
const FURTHER_SEARCHES = 30_000;

/** By the folder of a work tree: fired when nobody wants to wait for what is done there. */
const hurries = new Map<string, AbortSignal>();

/** A git that works there is not waited for any more when the signal has fired, but as long as it takes to leave nothing half done. Returns what ends that. */
export function hurryGit(folder: string, signal: AbortSignal): () => void {
  hurries.set(folder, signal);
  return () => void hurries.delete(folder);
}

const GRACE = 5_000;

function isHurried(folders: readonly string[]): boolean {
  return [...hurries].some(([top, { aborted }]) => aborted && folders.some(folder => isBelow(folder, top)));
}

/** Calls `stop`, once, with the sentence for the user, where the git that it is given works in one of these folders and never ends. */
export function watchGit(folders: readonly string[], stop: (why: string) => void) {
  let git: number | undefined;
  let timer: NodeJS.Timeout;
  let search = FIRST_SEARCH;
  const odd = () => folders.map(oddFileNear).find(why => why !== undefined);
  const look = (waited: number): string | undefined => {
    if (git === undefined) return undefined;
    if (waited >= GRACE && isHurried(folders)) return 'nobody waits for git any more';
    // Hooks and helpers that it starts are the user's, and may wait for what they like.
    const all = [git, ...descendants(git).map(({ pid }) => pid)].filter(isGit);
    if (all.some(isAtPipe)) return odd() ?? ELSEWHERE;
    const open = all.flatMap(openFiles);
    const endless = open.map(whyEndless).find(why => why !== undefined);
    const isAtDevice = open.some(isDevice);
    if (endless !== undefined || (waited < search && !isAtDevice)) return endless;
    if (isBusy(git) && !isAtDevice) return undefined;
    search = waited + FURTHER_SEARCHES;
    return odd();
  };
  const lookAt = (waited: number, after: number) => {
    timer = setTimeout(() => {
      const why = look(waited + after);
      if (why !== undefined) stop(why);
      else lookAt(waited + after, Math.min(2 * after, FURTHER_LOOKS));
    }, after);
  };
  lookAt(0, FIRST_LOOK);
  return {
    over(pid: number | undefined): void {
      git = pid;
    },
    end: () => clearTimeout(timer),
  };
}

const ELSEWHERE =
  'git waits for a named pipe outside of the repository: `.git/config` includes it, or `.git/objects/info/alternates` leads to it';

/** It starts itself for parts of what it does. */
function isGit(pid: number): boolean {
  return tryTo(() => basename(readlinkSync(`/proc/${pid}/exe`))) === 'git';
}

/** It opens one that nobody writes to. */
function isAtPipe(pid: number): boolean {
  return tryTo(() => readFileSync(`/proc/${pid}/wchan`, 'utf8')) === 'wait_for_partner';
}

const GB = 1024 ** 3;
/** Bytes. Nobody keeps such a file in git, which takes minutes to read it. */
const ENDLESS = 16 * GB;

interface OpenFile {
  readonly path: string;
  readonly stat: Stats;
}

/** None where the system does not say that: there its time ends it. */
function openFiles(pid: number): readonly OpenFile[] {
  const folder = `/proc/${pid}/fd`;
  return (tryTo(() => namesIn(folder)) ?? []).flatMap(
    fd =>
      tryTo((): readonly OpenFile[] => [
        { path: readlinkSync(join(folder, fd)), stat: statSync(join(folder, fd)) },
      ]) ?? [],
  );
}

function whyEndless({ path, stat }: OpenFile): string | undefined {
  if (!stat.isFile() || stat.size <= ENDLESS) return undefined;
  return `${path} is ${Math.ceil(stat.size / GB)} GB long, and git would read all of it: shorten it, or remove it`;
}

function isDevice({ path, stat }: OpenFile): boolean {
  return stat.isCharacterDevice() && path !== '/dev/null';
}

/** Undefined: there is none, whoever waits. */
function oddFileNear(folder: string): string | undefined {
  if (existsSync(join(folder, 'HEAD'))) return oddFileIn(folder, true);
  const top = topOf(folder);
  if (top === undefined) return undefined;
  const isGits = (path: string) => oddFileIn(path, true);
  return (
    oddFileIn(top, false) ??
    gitFolders(join(top, '.git'))
      .map(isGits)
      .find(why => why !== undefined)
  );
}

const READ_IN_TREES: ReadonlySet<string> = new Set([
  '.gitignore',
  '.gitattributes',
  '.gitmodules',
  '.mailmap',
]);

function topOf(folder: string): string | undefined {
  if (existsSync(join(folder, '.git'))) return folder;
  return dirname(folder) === folder ? undefined : topOf(dirname(folder));
}

/** Of a worktree, whose `.git` is a file: the directory of its own, and the one that all share. */
function gitFolders(path: string): readonly string[] {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return [];
  const [, to] = /^gitdir: (.+)$/m.exec(tryTo(() => readFileSync(path, 'utf8')) ?? '') ?? [];
  return to === undefined ? [] : [resolve(dirname(path), to), resolve(dirname(path), to, '../..')];
}

const MOST_FOLDERS = 50_000;

/** `isGits`: whatever is in it may be read. Of a work tree that are the files of rules, and the directories of git, its own and those of others inside. */
function oddFileIn(top: string, isGits: boolean): string | undefined {
  const folders = [{ folder: top, isGits }];
  for (let looked = 0; looked < MOST_FOLDERS; looked++) {
    const at = folders.pop();
    if (!at) return undefined;
    for (const entry of tryTo(() => readdirSync(at.folder, { withFileTypes: true })) ?? []) {
      const path = join(at.folder, entry.name);
      if (entry.isDirectory()) folders.push({ folder: path, isGits: at.isGits || entry.name === '.git' });
      if (entry.isDirectory() || entry.isFile() || !(at.isGits || READ_IN_TREES.has(entry.name))) continue;
      const why = whyOdd(tryTo(() => statSync(path)));
      if (why !== undefined) return `${path} ${why}`;
    }
  }
  return undefined;
}

function whyOdd(stat: Stats | undefined): string | undefined {
  if (stat?.isFIFO()) return 'is a named pipe, and git waits for it: remove it';
  const isDevice = stat?.isCharacterDevice() || stat?.isBlockDevice();
  return isDevice ? 'is a device, which git would read for ever: remove it' : undefined;
}
