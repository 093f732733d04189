/** `ralph-archive/<date>-<label>/`: a list that is put away, whole. */
import { copyFileSync, existsSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ensureFolder, readIfThere, writeAtomic } from '../platform/files.ts';
import { day, type Feature, fillFolder, slug } from './prd-folder.ts';
import type { PrdPaths } from './prd-paths.ts';

export interface Archived {
  readonly folder: string;
  /** Every file that has changed, moved or been made. */
  readonly touched: readonly string[];
}

/** Moves the files away, says what became of them, and makes new ones. The prompt is the project's own: it stays, and a copy goes with them. */
export function archiveFolder(paths: PrdPaths, label: string, summary: string, feature: Feature): Archived {
  const folder = freeFolder(join(paths.archive, `${day(feature.now)}-${slug(label)}`));
  ensureFolder(folder);
  const moved = [paths.prd, paths.tasks, paths.progress].filter(path => existsSync(path));
  for (const path of moved) renameSync(path, join(folder, basename(path)));
  if (existsSync(paths.prompt)) copyFileSync(paths.prompt, join(folder, basename(paths.prompt)));
  writeAtomic(join(folder, 'summary.md'), summary, 0o644);
  fillFolder(paths, feature);
  return { folder, touched: [paths.folder, folder] };
}

function freeFolder(path: string): string {
  let free = path;
  for (let number = 2; existsSync(free); number++) free = `${path}-${number}`;
  return free;
}

/** The day on which the list was begun, as its log says. */
export function startedOn(paths: PrdPaths): string | undefined {
  return /^Started: (\d{4}-\d{2}-\d{2})/m.exec(readIfThere(paths.progress) ?? '')?.[1];
}
