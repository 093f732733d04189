/**
 * Which lines of code differ from a commit, whether they are committed or not. git compares the files with an index of our
 * own, so that no flag in the repository's index and no attribute in the tree can hide a line.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Problem } from '../domain/problem.ts';
import { complaint, type Git } from '../platform/git.ts';
import { emptyTree } from './diff.ts';
import { headCommit, isRalphs, lookOnly, type Place } from './repository.ts';
import { readStatus } from './tree-status.ts';

export interface ChangedFile {
  /** From the folder that was asked for. */
  readonly file: string;
  /** First and last line of each change. */
  readonly ranges: readonly (readonly [number, number])[];
}

export interface Changed {
  readonly base: string;
  /** Those below the folder that was asked for. */
  readonly files: readonly ChangedFile[];
}

export async function changedLines(
  place: Place,
  wanted: string | undefined,
  isWanted: (file: string) => boolean,
): Promise<Changed | Problem> {
  const base = wanted === undefined ? await usualBase(place) : await baseOf(place, wanted);
  if (typeof base !== 'string') return base;
  const folder = mkdtempSync(join(tmpdir(), 'ralph-lines-'));
  try {
    const git = (await look(place)).with({
      GIT_INDEX_FILE: join(folder, 'index'),
      GIT_LITERAL_PATHSPECS: '1',
    });
    const read = await git.run(['read-tree', base]);
    if (read.code !== 0) return { where: base, what: complaint(read.output, read.code) };
    const files = await compare(git, base, file => isWanted(file) && !isRalphs(file));
    return 'what' in files ? files : { base, files };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Without replaced objects and grafts: with them another commit could stand in for the base. */
async function look(place: Place): Promise<Git> {
  return (await lookOnly(place)).with({ GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null' });
}

/** What the commit and this branch have in common: lines that only the other branch has changed are not ours. */
async function baseOf(place: Place, wanted: string): Promise<string | Problem> {
  const git = await look(place);
  const commit = await resolved(git, `${wanted}^{commit}`);
  if (commit !== undefined && !wanted.startsWith('-')) return (await mergeBase(git, commit)) ?? commit;
  const tree = wanted.startsWith('-') ? undefined : await resolved(git, `${wanted}^{tree}`);
  const fix = '`git log --oneline` and `git branch --all` list what there is';
  return tree ?? { where: wanted, what: 'there is no such commit', fix };
}

/** Where this branch left the one it is for; else the commit under what is not committed; else the one before the last. */
async function usualBase(place: Place): Promise<string | Problem> {
  const status = await readStatus(place);
  if ('what' in status) return status;
  const git = await look(place);
  const head = await headCommit(git);
  if (head === undefined) return await emptyTree(place);
  for (const other of ['@{upstream}', 'refs/remotes/origin/HEAD', 'refs/heads/main', 'refs/heads/master']) {
    const commit = await resolved(git, `${other}^{commit}`);
    const base = commit && (await mergeBase(git, commit));
    if (base && base !== head) return base;
  }
  if (status.entries.length > 0) return head;
  return (await resolved(git, 'HEAD~1^{commit}')) ?? (await emptyTree(place));
}

async function resolved(git: Git, name: string): Promise<string | undefined> {
  const { code, stdout } = await git.run(['rev-parse', '--verify', '--quiet', name]);
  return code === 0 ? stdout.trim() : undefined;
}

async function mergeBase(git: Git, commit: string): Promise<string | undefined> {
  const { code, stdout } = await git.run(['merge-base', 'HEAD', commit]);
  return code === 0 ? stdout.trim() : undefined;
}

/** Whatever a user or an agent has set must not change what is compared, or what runs to do it. */
const DIFF = [
  ...['-c', 'diff.autoRefreshIndex=true', 'diff'],
  '--no-ext-diff',
  '--no-textconv',
  '--no-renames',
  '--no-color',
  '--text',
  '--relative',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--diff-filter=AM',
  '--diff-algorithm=myers',
  '--ignore-submodules=all',
  '-O/dev/null',
];

/** So many names are short enough for a command line. */
const AT_ONCE = 200;

async function compare(
  git: Git,
  base: string,
  isWanted: (file: string) => boolean,
): Promise<readonly ChangedFile[] | Problem> {
  const named = await git.list([...DIFF, '--name-only', '-z', '--', '.']);
  const added = await git.list(['ls-files', '--others', '--exclude-standard', '-z', '--', '.']);
  const failed = [named, added].find(({ code }) => code !== 0);
  if (failed) return { where: git.cwd, what: `git cannot compare: ${complaint(failed.errors, failed.code)}` };
  const names = named.records.filter(isWanted);
  const whole = new Set([...added.records, ...(await committed(git, base))].filter(isWanted));
  const files: ChangedFile[] = [...whole].map(file => ({ file, ranges: [[1, Number.POSITIVE_INFINITY]] }));
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const some = names.slice(at, at + AT_ONCE);
    const patches = await patchesOf(git, some);
    if (patches.length !== some.length) return { where: git.cwd, what: 'the files changed meanwhile' };
    files.push(...some.map((file, nth) => ({ file, ranges: rangesIn(patches[nth] ?? '') })));
  }
  return files.filter(({ ranges }) => ranges.length > 0).sort((a, b) => (a.file < b.file ? -1 : 1));
}

/** New and committed: git would not list it among the others if a pattern ignores it. */
async function committed(git: Git, base: string): Promise<readonly string[]> {
  const tree = ['diff-tree', '-r', '-z', '--name-only', '--diff-filter=A', '--no-renames', '--relative'];
  const { records } = await git.list([...tree, base, 'HEAD']);
  return records.filter(file => existsSync(join(git.cwd, file)));
}

/** In the order of the names: every line of content has a sign before it, so only headers begin with `diff`. */
async function patchesOf(git: Git, files: readonly string[]): Promise<readonly string[]> {
  const chunks: Buffer[] = [];
  await git.stream([...DIFF, '--unified=0', '--inter-hunk-context=0', '--', ...files], chunk => {
    chunks.push(chunk);
    return 'more';
  });
  return Buffer.concat(chunks)
    .toString('latin1')
    .split(/^diff --git /m)
    .slice(1);
}

/** `@@ -3,2 +4,5 @@`: five lines from the fourth on are new. */
function rangesIn(patch: string): readonly (readonly [number, number])[] {
  return [...patch.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)]
    .map(([, from, count = '1']) => [Number(from), Number(from) + Number(count) - 1] as const)
    .filter(([from, to]) => to >= from);
}
