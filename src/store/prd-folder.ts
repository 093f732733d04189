/** Makes the files of `ralph prd` from the templates, and never over something that is there. */
import { copyFileSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import type { StoryList } from '../domain/stories/story.ts';
import type { Problem } from '../domain/text/problem.ts';
import { ensureFolder, readIfThere, writeAtomic } from '../platform/files.ts';
import { ACTIVE_FILE, type PrdPaths, readTemplate, type TemplateName } from './prd-paths.ts';
import { formatTasks } from './tasks-file.ts';

export interface Feature {
  /** As the user calls it; undefined: the project's own name. */
  readonly name: string | undefined;
  readonly now: number;
  /** The checks that its project has. */
  readonly checks?: readonly string[];
}

/** The files that a list of stories lives in, by what they are made from. */
function filesOf(paths: PrdPaths): readonly (readonly [string, TemplateName])[] {
  return [
    [paths.prd, 'prd.md'],
    [paths.tasks, 'tasks.json'],
    [paths.progress, 'progress.txt'],
    [paths.prompt, 'prompt.md'],
  ];
}

/** Nothing is written when one of the files is there already. */
export function initFolder(paths: PrdPaths, feature: Feature): readonly Problem[] {
  const there = filesOf(paths).filter(([path]) => existsSync(path));
  const problems = there.map(([path]) => ({
    where: relative(paths.root, path),
    what: 'is there already, and nothing is overwritten',
    fix: '`ralph prd archive` moves a list away; `ralph prd status` shows it',
  }));
  if (problems.length === 0) fillFolder(paths, feature);
  return problems;
}

/** Makes what is missing. */
export function fillFolder(paths: PrdPaths, feature: Feature): void {
  ensureFolder(paths.folder);
  const values = { DATE: day(feature.now), PROJECT_NAME: feature.name ?? basename(paths.root) };
  for (const [path, template] of filesOf(paths)) {
    if (existsSync(path)) continue;
    writeAtomic(
      path,
      template === 'tasks.json' ? firstTasks(paths, feature) : readTemplate(template, values),
      0o644,
    );
  }
}

function firstTasks({ root }: PrdPaths, { name, checks = [] }: Feature): string {
  const list = JSON.parse(readTemplate('tasks.json')) as StoryList;
  return formatTasks({
    ...list,
    project: name ?? basename(root),
    ...(name !== undefined && { branchName: branchFor(name) }),
    ...(checks.length > 0 && { verifyCommands: checks }),
  });
}

export function branchFor(name: string): string {
  return `ralph/${slug(name)}`;
}

/** For a branch, a folder: letters and digits, and dashes between them. */
export function slug(name: string): string {
  const words = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return (
    words
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60) || 'feature'
  );
}

export function day(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

/** The mark of a running loop does not belong into git. True when it was added. */
export function ignoreActive({ gitignore }: PrdPaths): boolean {
  const before = bytesIn(gitignore);
  const ignoring = withActiveIgnored(before);
  if (ignoring.equals(before)) return false;
  writeAtomic(gitignore, ignoring, 0o644);
  return true;
}

/** What a .gitignore holds with a line for it. All else stays byte for byte: it need not be UTF-8. */
export function withActiveIgnored(before: Buffer): Buffer {
  const text = before.toString('latin1');
  if (ignoresActive(text)) return before;
  const end = text === '' || text.endsWith('\n') ? '' : '\n';
  return Buffer.from(`${text}${end}${ACTIVE_FILE}\n`, 'latin1');
}

function ignoresActive(text: string): boolean {
  return text.split('\n').some(line => line.trim().replace(/^\//, '') === ACTIVE_FILE);
}

export function isActiveIgnored(gitignore: string): boolean {
  return ignoresActive(bytesIn(gitignore).toString('latin1'));
}

/** None where there is no such file. */
export function bytesIn(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}

/** Whether somebody has written a specification, or it is the template still. */
export function isScaffold(prd: string): boolean {
  const words = prd.replace(/<!--[\s\S]*?-->/g, '').split('\n');
  return words.every(line => /^\s*(#.*|\|[\s|:A-Za-z-]*\|)?\s*$/.test(line));
}

interface Archived {
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
