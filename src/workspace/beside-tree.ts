/**
 * What is in the work tree and in no tree that Ralph makes of it: repositories inside, files that are too large or cannot be read, files of
 * which git keeps another content than theirs, and what git never lists.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { readIfThere, tryTo } from '../platform/files.ts';
import type { Git } from '../platform/git.ts';
import { NO_DIFF_RULES } from './own-folder.ts';
import type { OwnGit } from './own-git.ts';
import { SUBMODULE, type TreeEntry } from './own-objects.ts';
import { isRalphs, shownPath } from './repository.ts';
import { findUnlisted } from './unlisted.ts';

export interface Beside {
  /** What a checkout of the tree lacks, and why. */
  readonly left: readonly string[];
  /** Submodules that do not stand on the commit which the tree names. */
  readonly moved: readonly string[];
}

/** `tree`: what is committed; `checked`: the files as they were looked at. */
export async function besideTree(own: OwnGit, tree: string, checked: string): Promise<Beside | Problem> {
  const seen = own.seen(checked) ?? (await own.snapshot());
  if (isProblem(seen)) return seen;
  const skipped = seen.skipped.map(
    ({ path }) => `${shownPath(path)} (it is too large, cannot be read, or git refuses its name)`,
  );
  const nested = seen.nested.map(path => path.replace(/\/$/, '')).filter(path => !isRalphs(path, own.root));
  if (nested.length === 0) return { left: skipped, moved: [] };
  const links = await linksIn(own.objects, tree, nested);
  const [moved, others] = [[], []] as [string[], string[]];
  for (const path of nested) {
    const link = links.get(path);
    if (link === undefined) others.push(`${shownPath(path)} (a repository inside)`);
    else if (link !== (await headIn(own, path))) moved.push(path);
  }
  const left = [...others, ...moved.map(path => `${shownPath(path)} (a submodule that has moved)`)];
  return { left: [...skipped, ...left], moved: moved.map(shownPath) };
}

/** Where a run began: its tree, and the moment in milliseconds. */
export interface Start {
  readonly start: string;
  readonly since: number;
}

/**
 * What a checkout of this tree would not hold as the checks saw it, byte by byte, each with the reason. What was so at the start is the
 * user's. `others`: what `listOthers` gave.
 */
export async function unkept(
  own: OwnGit,
  { start, since }: Start,
  { tree, others }: { readonly tree: string; readonly others: readonly string[] },
): Promise<readonly string[]> {
  const beside = await besideTree(own, tree, tree);
  const changed = await own.changedPaths(start, tree);
  if (isProblem(beside) || isProblem(changed)) return ['files that cannot be compared with what git keeps'];
  // Another rule can change what is kept of every file.
  const isRule = ({ path }: { readonly path: string }) => /(^|\/)\.gitattributes$/.test(path);
  const all = changed.some(isRule) ? await own.listTree(tree) : changed;
  const entries = isProblem(all) ? [] : all.filter(({ after }) => after && after.mode !== SUBMODULE);
  const converted = await convertedIn(own, entries);
  const rules = isProblem(all) || converted.length === 0 ? [] : await rulesOf(own, tree);
  const differs = await differing(own, converted, rules);
  return [
    ...beside.left,
    ...differs.map(path => `${shownPath(path)} (git keeps another content of it)`),
    ...(await unlistedSince(own, since, others)),
  ];
}

/** What was made since and git never lists: a folder by when it was made, anything else by when it was last changed. */
async function unlistedSince(
  own: OwnGit,
  since: number,
  others: readonly string[],
): Promise<readonly string[]> {
  const { empty, odd } = await findUnlisted(own, others);
  const isNew = (path: string, time: 'birthtimeMs' | 'ctimeMs') => {
    const stat = tryTo(() => lstatSync(join(own.top, path)));
    return stat !== undefined && stat[time] >= since;
  };
  return [
    ...empty
      .filter(path => isNew(path, 'birthtimeMs'))
      .map(path => `${shownPath(path)}/ (git keeps no empty folder)`),
    ...odd
      .filter(path => isNew(path, 'ctimeMs'))
      .map(
        path => `${shownPath(path)} (git keeps no pipe, socket or device, and no folder that cannot be read)`,
      ),
  ];
}

/** What decides about the content that git keeps of a file. */
const CONVERTING = ['text', 'crlf', 'eol', 'ident', 'working-tree-encoding', 'filter'];

/** Those that git does not keep as they are, or may not. */
async function convertedIn(own: OwnGit, entries: readonly TreeEntry[]): Promise<readonly TreeEntry[]> {
  const isAll = own.repository.settings.some(([key]) => key === 'core.autocrlf' || key === 'core.eol');
  if (isAll || !hasRules(own, entries)) return isAll ? entries : [];
  const there = own.git.at(own.top);
  const asked = await there.bytes(
    ['check-attr', '-z', '--stdin', ...CONVERTING],
    entries.map(({ bytes }) => bytes),
  );
  const named = new Set<string>();
  for (let at = 0; at + 2 < asked.records.length; at += 3)
    if (asked.records[at + 2] !== 'unspecified') named.add(asked.records[at] ?? '');
  return asked.code === 0 ? entries.filter(({ bytes }) => named.has(bytes)) : entries;
}

/** Whether the user or the repository has rules beside the files, or a file of rules is in a folder that one of these is in. */
function hasRules({ top, objects }: OwnGit, entries: readonly TreeEntry[]): boolean {
  const beside = ['info/attributes', 'attributes'].map(name => readIfThere(join(objects.cwd, name)) ?? '');
  if (beside.some(text => /\S/.test(text.replace(NO_DIFF_RULES, '')))) return true;
  const folders = new Set<string>();
  for (const { bytes } of entries)
    for (let at = dirname(bytes); !folders.has(at); at = dirname(at)) folders.add(at);
  const above = Buffer.from(`${top}/`).toString('latin1');
  return [...folders].some(at => existsSync(Buffer.from(`${above}${at}/.gitattributes`, 'latin1')));
}

async function rulesOf(own: OwnGit, tree: string): Promise<readonly TreeEntry[]> {
  const rules = await own.listTree(tree, line => /[\t/]\.gitattributes$/.test(line));
  return isProblem(rules) ? [] : rules;
}

/** By a checkout of those alone, with the rules for them. */
async function differing(
  own: OwnGit,
  entries: readonly TreeEntry[],
  rules: readonly TreeEntry[],
): Promise<readonly string[]> {
  if (entries.length === 0) return [];
  const paths = entries.map(({ bytes }) => Buffer.from(bytes, 'latin1').toString('utf8'));
  const tree = await own.treeWith(undefined, [...rules, ...entries]);
  const folder = mkdtempSync(join(tmpdir(), 'ralph-kept-'));
  try {
    if (isProblem(tree) || (await own.checkout(tree, folder))) return paths;
    const content = (top: string, path: string) =>
      tryTo(() => {
        const file = join(top, path);
        return lstatSync(file).isSymbolicLink() ? Buffer.from(readlinkSync(file)) : readFileSync(file);
      });
    return paths.filter(path => {
      const [now, kept] = [content(own.top, path), content(folder, path)];
      return now === undefined || kept === undefined || !now.equals(kept);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The commits of submodules, by path. */
async function linksIn(
  git: Git,
  tree: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { records } = await git.list(['ls-tree', '-z', '--full-tree', tree, '--', ...paths]);
  return new Map(
    records.flatMap(record => {
      const [, oid, path] = /^160000 commit (\S+)\t([\s\S]*)$/.exec(record) ?? [];
      return oid === undefined || path === undefined ? [] : [[path, oid] as const];
    }),
  );
}

/** It asks for a name alone, so nothing of that repository is started. */
async function headIn({ top, repository }: OwnGit, path: string): Promise<string> {
  const folder = join(top, path);
  const there = { GIT_DIR: join(folder, '.git'), GIT_COMMON_DIR: undefined, GIT_WORK_TREE: undefined };
  return (await repository.git.at(folder).with(there).run(['rev-parse', 'HEAD'])).stdout.trim();
}

/** Makes a checkout as ready as the work tree is, with what git ignores there. They are links, so they cost nothing. */
export async function lendIgnored(own: OwnGit, folder: string): Promise<void> {
  const flags = ['--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const { records } = await own.git.at(own.top).list(['ls-files', ...flags]);
  const ignored = records.filter(path => !isRalphs(path, own.root)).map(path => path.replace(/\/$/, ''));
  for (const path of ignored)
    tryTo(() => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      symlinkSync(join(own.top, path), join(folder, path));
    });
}
