/** What the runs of a project take up on disk, and how it is given back. */

import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parentOf } from '../domain/lanes/board.ts';
import type { Prunable } from '../domain/run/prune.ts';
import { overviewOf } from './overview.ts';
import { type ProjectPaths, runPaths } from './paths.ts';
import { listRuns, readRunFile } from './run-file.ts';

/** `startedAt` is 0 where it is not known: long ago. */
export interface PrunableRun extends Prunable {
  /** Those that belong to it. */
  readonly children: readonly string[];
  /** The worktrees that it worked in, by their names. */
  readonly worktrees: readonly string[];
  /** It has branches of its own in the repository. */
  readonly isParallel: boolean;
  /** On disk. */
  readonly bytes: number;
  /** Of them, what the agents printed. */
  readonly rawBytes: number;
}

/** Every run, oldest first, with those that belong to it. One whose parent is gone stands for itself. */
export function prunableRuns(project: ProjectPaths): readonly PrunableRun[] {
  const ids = listRuns(project);
  const isChild = (id: string) => ids.includes(parentOf(id) ?? '');
  return ids
    .filter(id => !isChild(id))
    .map(id => {
      const children = ids.filter(child => parentOf(child) === id);
      const { state, resumable, startedAt } = overviewOf(id, runPaths(project, id));
      const all = [id, ...children].map(each => runPaths(project, each));
      const files = all.map(paths => readRunFile(paths));
      const sizes = all
        .flatMap(({ folder, state }) => [...filesIn(folder), ...filesIn(state.folder)])
        .map(file => ({ isRaw: RAW.test(file.name), bytes: file.bytes }));
      const sum = (some: typeof sizes) => some.reduce((total, { bytes }) => total + bytes, 0);
      return {
        id,
        state,
        resumable,
        startedAt: startedAt === null ? 0 : Date.parse(startedAt),
        children,
        worktrees: [...new Set(files.flatMap(file => file?.given?.worktree ?? []))],
        isParallel: files[0]?.given?.parallel !== undefined,
        bytes: sum(sizes),
        rawBytes: sum(sizes.filter(({ isRaw }) => isRaw)),
      };
    });
}

/** What an agent printed, of every attempt and of turns that were cut off. */
const RAW = /^agent\b.*\.(jsonl|log)(\.cut-off-\d+)?$/;

interface FoundFile {
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
}

/** Of all files below it; 0 where there is no such folder. */
export function bytesIn(folder: string): number {
  return filesIn(folder).reduce((sum, { bytes }) => sum + bytes, 0);
}

function filesIn(folder: string): readonly FoundFile[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => {
      const path = join(entry.parentPath ?? entry.path, entry.name);
      return { path, name: entry.name, bytes: lstatSync(path, { throwIfNoEntry: false })?.size ?? 0 };
    });
}

/** First out of sight, then gone: half a run is never left behind among the others. */
export function removeRun(project: ProjectPaths, id: string): void {
  const { folder, state } = runPaths(project, id);
  const away = join(project.folder, `${TRASH}${id}`);
  if (existsSync(folder)) renameSync(folder, away);
  rmSync(state.folder, { recursive: true, force: true });
  rmSync(away, { recursive: true, force: true });
}

const TRASH = 'removed-';

/** What an earlier removal that was cut off has left. */
export function emptyTrash(project: ProjectPaths): void {
  if (!existsSync(project.folder)) return;
  for (const name of readdirSync(project.folder)) {
    if (name.startsWith(TRASH)) rmSync(join(project.folder, name), { recursive: true, force: true });
  }
}

/** Only what the agents printed; the ledger stays. */
export function removeRaw(project: ProjectPaths, id: string): void {
  for (const { path, name } of filesIn(runPaths(project, id).folder)) {
    if (RAW.test(name)) rmSync(path, { force: true });
  }
}
