/**
 * Hands a tree from Ralph's own git directory to the user's repository, and commits it there, behind the wall: the user's hooks, filters
 * and signing run as they would for the user. Afterwards the commit is fetched back: what its tree is, is not a question to the inside.
 */
import {
  constants,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { Captured } from '../platform/capture.ts';
import { errorWords } from '../platform/error-words.ts';
import { namesIn, syncToDisk } from '../platform/files.ts';
import { complaint } from '../platform/git.ts';
import type { CommitPlan } from './commit-plan.ts';
import type { OwnGit } from './own-git.ts';

/** Runs a program behind the wall, with more in its environment. */
export type Inside = (
  argv: readonly [string, ...string[]],
  env?: Readonly<Record<string, string>>,
) => Promise<Captured>;

export interface Insides {
  /** Ended with the run. */
  readonly inside: Inside;
  /** Not ended with it: half of what it does would undo work later. It takes a moment, and has a time limit. */
  readonly toTheEnd: Inside;
}

export interface HandedOver {
  readonly commit: string;
  /** A hook changed what was committed. */
  readonly differs: boolean;
  /** What is left for the user to do. */
  readonly notice?: string;
}

export async function commitInside(
  own: OwnGit,
  plan: CommitPlan,
  message: string,
  { inside, toTheEnd }: Insides,
): Promise<HandedOver | Problem> {
  const packed = await deliver(own, plan.tree, plan.headTree);
  if (packed) return packed;
  const { gitDir } = own.repository;
  const index = join(gitDir, `ralph-index-${process.pid}`);
  const git = own.git.program;
  const args = [gitDir, git, plan.tree, message, ...plan.filtered];
  const made = await inside(['/bin/sh', '-c', COMMIT, 'commit', ...args], { GIT_INDEX_FILE: index });
  sweepIndexes(gitDir, pid => pid === process.pid);
  const { commit } = await own.head();
  if (commit === undefined || commit === plan.head.commit)
    return { where: 'git commit', what: complaint(made.output, made.code) };
  const tree = await own.treeOf(commit);
  if (isProblem(tree)) return tree;
  const notice = await alignIndex(plan.headTree, commit, git, toTheEnd);
  const differs = await isAnother(own, plan, tree);
  return { commit, differs, ...(notice !== undefined && { notice }) };
}

/** Removes what a commit that was cut off left of the indexes of these processes. */
export function sweepIndexes(gitDir: string, whose: (pid: number) => boolean): void {
  for (const name of namesIn(gitDir)) {
    const pid = /^ralph-index-(\d+)(\.lock)?$/.exec(name)?.[1];
    if (pid !== undefined && whose(Number(pid))) rmSync(join(gitDir, name), { force: true });
  }
}

/** In an index of its own, so that neither flags nor what else is staged have a say in it. */
const COMMIT = `cp "$1/index" "$GIT_INDEX_FILE" 2>/dev/null
dir=$1 git=$2 tree=$3 message=$4; shift 4
"$git" read-tree --reset "$tree" 2>/dev/null || { rm -f "$GIT_INDEX_FILE"; "$git" read-tree "$tree"; } || exit 1
if [ $# -gt 0 ]; then "$git" update-index --add -- "$@" || exit 1; fi
exec "$git" commit --quiet --message "$message"`;

/** What a filter of the user's makes of a file is as the user wants it. */
async function isAnother(own: OwnGit, { tree, filtered }: CommitPlan, committed: string): Promise<boolean> {
  const changed = await own.changedPaths(tree, committed);
  return isProblem(changed) || changed.some(({ path }) => !filtered.includes(path));
}

/** Copies the objects of a tree or commit that `known` does not have. */
export async function deliver(own: OwnGit, wanted: string, known: string): Promise<Problem | undefined> {
  const objects = own.repository.objects;
  const folder = mkdtempSync(join(own.objects.cwd, 'other.pack-'));
  try {
    const flags = ['pack-objects', '--revs', '--quiet', '--delta-base-offset', join(folder, 'pack')];
    const { code, errors } = await own.objects.stream(flags, () => 'more', `${wanted}\n^${known}\n`);
    if (code !== 0)
      return { where: wanted, what: `its objects cannot be packed: ${complaint(errors, code)}` };
    const to = join(objects, 'pack');
    // The inside could have put a link there that leads out.
    if (realpathSync(to) !== to) return { where: to, what: 'it is a link now: nothing is written there' };
    // The index of a pack last: without it git does not look at the pack.
    for (const name of readdirSync(folder).sort().reverse()) copyWhole(join(folder, name), join(to, name));
    return undefined;
  } catch (error) {
    return { where: objects, what: `objects cannot be written: ${errorWords(error)}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whole or not at all: half a pack that a kill left under this name would break every later commit. git prunes what begins with `tmp_`. */
function copyWhole(from: string, to: string): void {
  if (statSync(to, { throwIfNoEntry: false })?.size === statSync(from).size) return; // its name is that of its content
  const temporary = join(dirname(to), `tmp_ralph_${process.pid}`);
  rmSync(temporary, { force: true });
  copyFileSync(from, temporary, constants.COPYFILE_EXCL);
  syncToDisk(temporary);
  renameSync(temporary, to);
}

/** The user's index has the committed paths as they are now; what the user has staged beside them stays staged. Done twice it changes nothing. */
export async function alignIndex(
  before: string,
  commit: string,
  git: string,
  inside: Inside,
): Promise<string | undefined> {
  const script = '"$1" read-tree -i -m "$2" "$3" 2>/dev/null || "$1" reset --quiet';
  const { code, output } = await inside(['/bin/sh', '-c', script, 'align', git, before, commit]);
  if (code === 0) return undefined;
  return `The commit is made, but git's index could not be brought in line: ${complaint(output, code)}. \`git reset\` does it.`;
}
