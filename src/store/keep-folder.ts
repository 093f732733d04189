/**
 * Ralph's own folder in the project, `.ralph`. An agent that runs `git clean -fdx` deletes it, and with it the run that it works for and all
 * runs before: what is kept of them outside the project is put back.
 */
import { cpSync, existsSync, linkSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { ensureFolder, linkOver, namesIn, removeLink, tryTo } from '../platform/files.ts';
import { setAside } from './ledger-file.ts';
import { type ProjectPaths, type RunPaths, runPaths } from './paths.ts';
import { keepOutOfGit, listRuns } from './run-file.ts';
import { writeAgain, writeSettingsAgain } from './run-record.ts';

export interface FolderDamage {
  /** What was deleted or replaced and is back, a sentence without its end. */
  readonly restored: readonly string[];
  /** What is gone for good, a sentence each. */
  readonly lost: readonly string[];
}

export interface FolderKeeper {
  /** Puts back what was deleted or replaced; `restore` says it later. Whatever has run may have put links where we write. */
  secure(): void;
  /** The same, and answers all since the last time. */
  restore(): FolderDamage;
  /** The run is over: nothing is added to its ledger any more. */
  close(): void;
}

/** `putLedgerBack`: the ledger is open and can be written again by whoever writes it. */
export function keepFolder(project: ProjectPaths, own: RunPaths, putLedgerBack: () => void): FolderKeeper {
  let earlier = listRuns(project)
    .map(id => runPaths(project, id))
    .filter(({ folder }) => folder !== own.folder)
    .map(paths => ({ paths, isRecorded: existsSync(paths.state.record) }));
  keepLedger(own);
  const folders = [project.folder, project.runs, own.folder];
  // A link that the user has made stays.
  const besides = [project.worktrees, project.live].filter(folder => !isLink(folder));
  const restoreOwn = (): readonly string[] => {
    const replaced = folders.filter(setAside);
    const links = [...besides.filter(setAside), ...linksIn(own)].map(
      path => `${relative(project.root, path)} was replaced by a link`,
    );
    if (existsSync(own.run) && existsSync(own.events) && replaced.length === 0) return links;
    ensureFolder(own.folder);
    keepOutOfGit(project);
    writeSettingsAgain(own);
    writeAgain(own);
    putLedgerBack();
    keepLedger(own);
    return [
      `${relative(project.root, own.folder)} was ${replaced.length > 0 ? 'replaced' : 'deleted'}`,
      ...links,
    ];
  };
  let found: readonly string[] = [];
  const secure = () => {
    found = [...found, ...restoreOwn()];
  };
  return {
    secure,
    restore() {
      secure();
      const restored = found;
      found = [];
      const swept = earlier.filter(({ paths }) => !existsSync(paths.run) && isDeleted(paths));
      if (swept.length === 0) return { restored, lost: [] };
      const back = swept.filter(({ paths }) => putBack(paths));
      // Its records outside were removed as well: by `ralph prune`.
      const lost = swept.filter(each => !back.includes(each) && !(each.isRecorded && !hasRecord(each.paths)));
      earlier = earlier.filter(each => !swept.includes(each) || back.includes(each));
      return {
        restored: [...restored, ...sweptWords(back.map(({ paths }) => basename(paths.folder)))],
        lost: lost.map(
          ({ paths }) =>
            `The earlier run ${basename(paths.folder)} was deleted from .ralph/runs, and there is no other copy of it.`,
        ),
      };
    },
    // Where a file cannot have two names, it is copied when it is whole.
    close: () => void tryTo(() => linkOver(own.events, own.state.ledger)),
  };
}

/** Ralph makes none in the folder of a run; what was moved aside there may hold some. Those that are found are removed. */
function linksIn({ folder, aside }: RunPaths): readonly string[] {
  const below = (at: string): readonly string[] =>
    readdirSync(at, { withFileTypes: true }).flatMap(entry => {
      const path = join(at, entry.name);
      if (entry.isSymbolicLink()) return [path];
      return entry.isDirectory() && path !== aside ? below(path) : [];
    });
  return (tryTo(() => below(folder)) ?? []).filter(removeLink);
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function sweptWords([first, ...more]: readonly string[]): readonly string[] {
  if (first === undefined) return [];
  if (more.length === 0) return [`the earlier run ${first} was deleted`];
  return [`.ralph/runs with ${more.length + 1} earlier runs was deleted`];
}

/** Runs that were made before these files were kept outside: the hashes of what is believed of them are in the ledger. */
export function adoptOldFiles({ folder, state }: RunPaths): void {
  const places = { kept: state.kept, 'kept-for-review': state.keptForReview, 'start-ref': state.startRef };
  for (const [name, to] of Object.entries(places)) {
    const from = join(folder, name);
    if (!existsSync(to) && existsSync(from)) cpSync(from, to, { recursive: true });
  }
}

function hasRecord({ state }: RunPaths): boolean {
  return existsSync(state.record);
}

/** A run of which there was never more than its folder has nothing that could be deleted. */
function isDeleted({ folder, events }: RunPaths): boolean {
  return !existsSync(folder) || !existsSync(events);
}

/** A second name for the ledger, outside: it takes no room, and the file is there for as long as it has one name. */
function keepLedger({ events, state: { ledger } }: RunPaths): void {
  tryTo(() => {
    if (statSync(ledger, { throwIfNoEntry: false })?.ino === statSync(events).ino) return;
    rmSync(ledger, { force: true });
    linkSync(events, ledger);
  });
}

/** A ledger that is gone, by its second name. */
export function putLedgerBack({ events, state: { ledger } }: RunPaths): boolean {
  if (existsSync(events) || !existsSync(ledger)) return false;
  linkOver(ledger, events);
  return true;
}

/** Enough of it is kept outside to put it back. */
function isWhole(paths: RunPaths): boolean {
  return existsSync(paths.state.ledger) && hasRecord(paths);
}

/** False: there is not enough of it. What its agents printed is gone in any case. */
function putBack(paths: RunPaths): boolean {
  if (!isWhole(paths)) return false;
  return (
    tryTo(() => {
      ensureFolder(paths.folder);
      putLedgerBack(paths);
      return writeAgain(paths);
    }) ?? false
  );
}

/** Runs of this project that are kept outside and were deleted from it, oldest first: those after every run that is there, or of that name. */
export function deletedRuns(project: ProjectPaths, wanted?: string): readonly string[] {
  const latest = isLink(project.folder) ? '' : (listRuns(project).at(-1) ?? '');
  return namesIn(project.state().runs)
    .filter(id => (wanted === undefined ? id > latest : id.includes(wanted)))
    .filter(id => isWhole(runPaths(project, id)) && isDeleted(runPaths(project, id)))
    .sort();
}

/** Puts back what was deleted of them, with the settings of the last one. Answers which are there again. */
export function putRunsBack(project: ProjectPaths, ids: readonly string[]): readonly string[] {
  for (const folder of [project.folder, project.runs]) setAside(folder);
  const back = ids.map(id => runPaths(project, id)).filter(putBack);
  const last = back.at(-1);
  if (!last) return [];
  keepOutOfGit(project);
  writeSettingsAgain(last);
  return back.map(({ folder }) => basename(folder));
}
