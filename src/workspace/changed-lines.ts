/**
 * Which lines of code differ from a commit, whether they are committed or not. Ralph's own git directory compares two trees, so that no
 * flag in the repository's index and no attribute in the tree can hide a line.
 */
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { complaint, type Git } from '../platform/git.ts';
import { type OwnGit, openOwnGit } from './own-git.ts';
import { readAll } from './own-objects.ts';
import { resolved } from './refs.ts';
import { isRalphs, type Place } from './repository.ts';

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
  const own = await openOwnGit(place);
  if (isProblem(own)) return own;
  const now = await own.snapshot();
  if (isProblem(now)) return now;
  const from = wanted === undefined ? await usualBase(own, now.tree) : await baseOf(own, wanted);
  if (isProblem(from)) return from;
  const files = await changedBetween(own, [from.tree, now.tree], isWanted);
  return isProblem(files) ? files : { base: from.base, files };
}

/** The same between two trees that Ralph's own git directory knows. */
export function changedBetween(
  own: OwnGit,
  trees: readonly [before: string, now: string],
  isWanted: (file: string) => boolean,
): Promise<readonly ChangedFile[] | Problem> {
  return compare(own, trees, file => isWanted(file) && !isRalphs(file, own.root));
}

interface Base {
  /** As the user would name it. */
  readonly base: string;
  /** What it holds, in Ralph's own git directory. */
  readonly tree: string;
}

async function atCommit(own: OwnGit, commit: string | undefined): Promise<Base | Problem> {
  const tree = await own.treeOf(commit);
  return isProblem(tree) ? tree : { base: commit ?? tree, tree };
}

/** What the commit and this branch have in common: lines that only the other branch has changed are not ours. */
async function baseOf(own: OwnGit, wanted: string): Promise<Base | Problem> {
  const { git } = own.repository;
  const isName = !wanted.startsWith('-');
  const commit = isName ? await resolved(git, `${wanted}^{commit}`) : undefined;
  if (commit !== undefined) return atCommit(own, (await mergeBase(git, commit)) ?? commit);
  const tree = isName ? await resolved(own.objects, `${wanted}^{tree}`) : undefined;
  const fix = '`git log --oneline` and `git branch --all` list what there is';
  return tree === undefined
    ? { where: wanted, what: 'there is no such commit', fix }
    : { base: wanted, tree };
}

/** Where this branch left the one it is for; else the commit under what is not committed; else the one before the last. */
async function usualBase(own: OwnGit, now: string): Promise<Base | Problem> {
  const { git } = own.repository;
  const { commit: head } = await own.head();
  if (head === undefined) return atCommit(own, undefined);
  for (const other of ['@{upstream}', 'refs/remotes/origin/HEAD', 'refs/heads/main', 'refs/heads/master']) {
    const commit = await resolved(git, `${other}^{commit}`);
    const base = commit && (await mergeBase(git, commit));
    if (base && base !== head) return atCommit(own, base);
  }
  const under = await atCommit(own, head);
  if (isProblem(under) || under.tree !== now) return under;
  return atCommit(own, await resolved(git, 'HEAD~1^{commit}'));
}

async function mergeBase(git: Git, commit: string): Promise<string | undefined> {
  const { code, stdout } = await git.run(['merge-base', 'HEAD', commit]);
  return code === 0 ? stdout.trim() : undefined;
}

/** Whatever a user or an agent has set must not change what is compared, or what runs to do it. */
const DIFF = [
  ...['diff-tree', '-r'],
  '--no-ext-diff',
  '--no-textconv',
  '--no-renames',
  '--no-color',
  '--text',
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
  { objects, prefix }: OwnGit,
  trees: readonly [before: string, now: string],
  isWanted: (file: string) => boolean,
): Promise<readonly ChangedFile[] | Problem> {
  const git = objects.with({ GIT_LITERAL_PATHSPECS: '1' });
  const diff = [...DIFF, ...(prefix === '' ? [] : [`--relative=${prefix}`])];
  const named = await git.list([...diff, '--name-only', '-z', ...trees]);
  if (named.code !== 0)
    return { where: git.cwd, what: `git cannot compare: ${complaint(named.errors, named.code)}` };
  const names = named.records.filter(isWanted);
  const files: ChangedFile[] = [];
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const some = names.slice(at, at + AT_ONCE);
    const flags = ['--patch', '--unified=0', '--inter-hunk-context=0'];
    const paths = some.map(file => prefix + file);
    const patches = await patchesOf(git, [...diff, ...flags, ...trees, '--', ...paths]);
    if (patches.length !== some.length) return { where: git.cwd, what: 'git does not show every file' };
    files.push(...some.map((file, nth) => ({ file, ranges: rangesIn(patches[nth] ?? '') })));
  }
  return files.filter(({ ranges }) => ranges.length > 0).sort((a, b) => (a.file < b.file ? -1 : 1));
}

/** In the order of the names: every line of content has a sign before it, so only headers begin with `diff`. */
async function patchesOf(git: Git, args: readonly string[]): Promise<readonly string[]> {
  const text = (await readAll(git, args))?.toString('latin1') ?? '';
  return text.split(/^diff --git /m).slice(1);
}

/** `@@ -3,2 +4,5 @@`: five lines from the fourth on are new. */
function rangesIn(patch: string): readonly (readonly [number, number])[] {
  return [...patch.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)]
    .map(([, from, count = '1']) => [Number(from), Number(from) + Number(count) - 1] as const)
    .filter(([from, to]) => to >= from);
}
