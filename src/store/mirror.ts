/**
 * What is shown of a run in its project, `.ralph/runs/ID`: copies of its ledger, `task.md` and `run.json`, for people. Nothing believes
 * them. One that was deleted or edited is written again, and that is said. The inside can write there, too: before Ralph writes, no link
 * may lead it elsewhere.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import {
  ensureFolder,
  fileSize,
  readIfThere,
  removeOdd,
  tryTo,
  writeAtomic,
  writeWhole,
} from '../platform/files.ts';
import { isRunning } from './lease.ts';
import { isRecorded, type ProjectPaths, type RunPaths, runPaths } from './paths.ts';

/** The last one says that the run is there. */
export const COPIES = ['events', 'task', 'run'] as const;
type Copy = (typeof COPIES)[number];

export const OWN_IGNORE =
  '# Written by Ralph: what a run leaves behind stays out of git, the settings do not.\n*\n!.gitignore\n!settings.json\n';

/** What Ralph writes while it runs is nobody's work; the settings are. */
export function keepOutOfGit(project: ProjectPaths): void {
  if (readIfThere(project.gitignore) !== undefined) return;
  writeAtomic(project.gitignore, OWN_IGNORE, 0o644);
}

/** Makes a copy what counts, whatever has its name. It does not wait for the disk. */
export function showCopy({ state, mirror }: RunPaths, copy: Copy): void {
  if (!existsSync(state[copy])) return;
  ensureFolder(dirname(mirror[copy]));
  rmSync(mirror[copy], { recursive: true, force: true });
  copyFileSync(state[copy], mirror[copy], constants.COPYFILE_EXCL);
}

/** The same of a run that nobody else drives, as far as that is needed. Returns what was wrong, a sentence without its end. */
export function repairMirror(paths: RunPaths): string | undefined {
  if (!isRecorded(paths)) return undefined;
  const { project } = paths;
  // A project that cannot be written: what counts is shown all the same.
  return tryTo(() => {
    const isReplaced = [project.folder, project.runs, paths.folder].filter(setAside).length > 0;
    const wrong = COPIES.filter(copy => differenceOf(paths, copy) !== undefined);
    if (wrong.length === 0) return undefined;
    const words = wrongWords(paths, isReplaced, wrong).join(', ');
    writeCopies(paths, wrong);
    return words;
  });
}

function writeCopies(paths: RunPaths, wrong: readonly Copy[]): void {
  const { project } = paths;
  const isSwept = !existsSync(project.gitignore);
  ensureFolder(paths.folder);
  keepOutOfGit(project);
  if (isSwept) writeSettingsAgain(paths);
  for (const copy of wrong) showCopy(paths, copy);
}

/** The settings files of the project as they were when the run began, where they are gone. */
function writeSettingsAgain({ project, state }: RunPaths): void {
  const texts: unknown = tryTo(() => JSON.parse(readIfThere(state.settings) ?? ''));
  if (!Array.isArray(texts)) return;
  for (const [at, path] of settingsOf(project).entries()) {
    const text: unknown = texts[at];
    if (typeof text === 'string' && !existsSync(path)) writeAtomic(path, text, 0o644);
  }
}

/** Keeps them for that. */
export function keepSettings({ project, state }: RunPaths): void {
  const texts = settingsOf(project).map(path => tryTo(() => readIfThere(path)) ?? null);
  writeWhole(state.settings, JSON.stringify(texts));
}

function settingsOf({ settings, localSettings }: ProjectPaths): readonly string[] {
  return [settings, localSettings];
}

function differenceOf({ state, mirror }: RunPaths, copy: Copy): 'deleted' | 'changed' | undefined {
  if (!existsSync(state[copy])) return undefined;
  const shown = lstatSync(mirror[copy], { throwIfNoEntry: false });
  if (!shown) return 'deleted';
  return shown.isFile() && isSame(state[copy], mirror[copy]) ? undefined : 'changed';
}

const PAGE = 256 * 1024;

function isSame(one: string, other: string): boolean {
  if (fileSize(one) !== fileSize(other)) return false;
  const files = [openSync(one, 'r'), openSync(other, 'r')];
  try {
    for (;;) {
      const [first, second] = files.map(fd => {
        const page = Buffer.allocUnsafe(PAGE);
        return page.subarray(0, readSync(fd, page));
      });
      if (!first || !second?.equals(first)) return false;
      if (first.length === 0) return true;
    }
  } finally {
    for (const fd of files) closeSync(fd);
  }
}

function wrongWords(paths: RunPaths, isReplaced: boolean, wrong: readonly Copy[]): readonly string[] {
  const { root } = paths.project;
  const isGone = wrong.includes('run') && wrong.includes('events') && !existsSync(paths.mirror.run);
  if (isReplaced || isGone)
    return [`${relative(root, paths.folder)} was ${isReplaced ? 'replaced' : 'deleted'}`];
  return wrong.map(copy => `${relative(root, paths.mirror[copy])} was ${differenceOf(paths, copy)}`);
}

/** Whatever else has the name of a folder of ours would lead us elsewhere. */
export function setAside(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (!stat || stat.isDirectory()) return false;
  if (stat.isSymbolicLink()) rmSync(folder);
  else renameSync(folder, `${folder}.replaced`);
  return true;
}

/** The ledger in the project, which gets each line behind the one before. What becomes of it is no trouble of the run. */
export function openLedgerCopy(paths: RunPaths) {
  const { project, state, mirror } = paths;
  const isLed = [project.folder, project.runs, paths.folder].some(isLink);
  const fd = isLed ? undefined : tryTo(open);
  function open(): number {
    const shown = lstatSync(mirror.events, { throwIfNoEntry: false });
    if (!shown?.isFile() || shown.size !== fileSize(state.events)) writeCopies(paths, COPIES);
    return openSync(mirror.events, constants.O_WRONLY | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0));
  }
  return {
    add(line: string): void {
      if (fd !== undefined) tryTo(() => writeSync(fd, `${line}\n`));
    },
    /** As far as its size tells. */
    isWhole(): boolean {
      const shown = lstatSync(mirror.events, { throwIfNoEntry: false });
      return fd !== undefined && shown?.ino === fstatSync(fd).ino && shown.size === fileSize(state.events);
    },
    close(): void {
      if (fd !== undefined) tryTo(() => closeSync(fd));
    },
  };
}

export interface Mirror {
  /** A line that the ledger has. */
  add(line: string): void;
  /** Between two steps: puts right what whatever ran has done to it. Returns what that was, a sentence each without its end. */
  repair(iteration: number): readonly string[];
  /** The same for earlier runs of the project. */
  repairEarlier(): readonly string[];
  close(): void;
}

/** For whoever drives the run. Looks at names, sizes and times only: it is asked several times in each iteration. */
export function openMirror(own: RunPaths, runs: readonly string[]): Mirror {
  const { project } = own;
  // A link that the user has made stays.
  const besides = isLink(project.worktrees) ? [] : [project.worktrees];
  let ledger = openLedgerCopy(own);
  let stamps = stampsOf(own);
  const earlier = runs
    .map(id => runPaths(project, id))
    .filter(paths => paths.folder !== own.folder && existsSync(paths.mirror.run));
  let listed = stampOf(project.runs);
  return {
    add: line => ledger.add(line),
    repair(iteration) {
      const { isReplaced, odd } = clearWay(own, iteration);
      const links = [...besides.filter(setAside), ...odd].map(
        path => `${relative(project.root, path)} was replaced`,
      );
      const now = stampsOf(own);
      const suspects = COPIES.filter(copy =>
        copy === 'events' ? !ledger.isWhole() : now[copy] !== stamps[copy],
      );
      const wrong = suspects.filter(copy => differenceOf(own, copy) !== undefined);
      const words = wrong.length > 0 || isReplaced ? wrongWords(own, isReplaced, wrong) : [];
      if (words.length > 0) writeCopies(own, wrong);
      if (words.length > 0 || suspects.length > 0) {
        ledger.close();
        ledger = openLedgerCopy(own);
        stamps = stampsOf(own);
      }
      return [...words, ...links];
    },
    repairEarlier() {
      const now = stampOf(project.runs);
      if (now === listed) return [];
      const back = earlier.filter(
        paths => !existsSync(paths.mirror.run) && !isRunning(paths) && repairMirror(paths) !== undefined,
      );
      listed = stampOf(project.runs);
      return sweptWords(back.map(({ folder }) => basename(folder)));
    },
    close: () => ledger.close(),
  };
}

function sweptWords([first, ...more]: readonly string[]): readonly string[] {
  if (first === undefined) return [];
  if (more.length === 0) return [`the earlier run ${first} was deleted`];
  return [`.ralph/runs with ${more.length + 1} earlier runs was deleted`];
}

function stampsOf({ mirror }: RunPaths) {
  return { run: stampOf(mirror.run), task: stampOf(mirror.task) };
}

function stampOf(path: string): string {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}` : '';
}

/** Before Ralph writes: nothing in its folder leads elsewhere, or keeps it waiting. */
export function clearWay(own: RunPaths, iteration: number) {
  const { project } = own;
  const isReplaced = [project.folder, project.runs, own.folder].filter(setAside).length > 0;
  const [now, next] = [own.iteration(iteration), own.iteration(iteration + 1)];
  const folders = [dirname(now.folder), now.folder, now.checks, next.folder, next.checks];
  const odd = [...folders.filter(setAside), ...[own.folder, ...folders].flatMap(oddIn)];
  return { isReplaced, odd };
}

/**
 * Links, pipes: Ralph makes none in the folder of a run. Those that are found where it writes now, and where it writes next, are removed: of earlier
 * iterations nothing is written any more, and to look at all of them would cost more with each one.
 */
function oddIn(folder: string): readonly string[] {
  return (tryTo(() => readdirSync(folder, { withFileTypes: true })) ?? [])
    .filter(entry => !entry.isFile() && !entry.isDirectory())
    .map(entry => join(folder, entry.name))
    .filter(removeOdd);
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
