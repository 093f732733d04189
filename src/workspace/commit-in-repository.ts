/**
 * Hands a tree from Ralph's own git directory to the user's repository, and commits it there, behind the wall: the user's hooks, filters
 * and signing run as they would for the user. Afterwards the commit is read back and hashed anew: the inside is not asked what its tree is.
 * Where nothing of the user's has a part in a commit, it is made outside, and the inside only moves the branch to it.
 */
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { Captured } from '../platform/capture.ts';
import { errorWords } from '../platform/error-words.ts';
import { namesIn, syncToDisk } from '../platform/files.ts';
import { complaint } from '../platform/git.ts';
import { isAlive, ourselves } from '../platform/process-table.ts';
import type { CommitPlan } from './commit-plan.ts';
import type { OwnGit } from './own-git.ts';
import { isPlainCommit } from './plain-commit.ts';
import { alignIndex, type IndexOwner } from './user-index.ts';

/** Runs a program behind the wall, with more in its environment, or with what it reads. */
export type Inside = (
  argv: readonly [string, ...string[]],
  more?: { readonly env?: Readonly<Record<string, string>>; readonly input?: Buffer },
) => Promise<Captured>;

export interface HandedOver {
  readonly commit: string;
  /** A hook or a filter changed what was committed. */
  readonly differs: boolean;
}

/** A hook has said no, and this is what it printed. */
export interface Refused {
  readonly refused: string;
}

export async function commitInside(
  own: OwnGit,
  plan: CommitPlan,
  message: string,
  inside: Inside,
  owner: IndexOwner,
): Promise<HandedOver | Refused | Problem> {
  const ready = (await isPlainCommit(own, plan)) ? await commitOutside(own, plan, message) : undefined;
  const made = await (ready === undefined
    ? commitTree(own, plan, message, inside)
    : inside([own.git.program, 'update-ref', ...ready.move]));
  if (isProblem(made)) return made;
  const { commit } = await own.head();
  const isMade = commit !== undefined && commit !== plan.head.commit && commit === (ready?.commit ?? commit);
  // Where a filter makes of a file what is committed already, git has nothing to commit, and says so with the same number.
  const isRefusal = made.code === REFUSED && (made.output.trim() !== '' || plan.filtered.length === 0);
  if (!isMade && isRefusal) return { refused: made.output.trim() };
  if (!isMade) return { where: 'git commit', what: complaint(made.output, made.code) };
  const tree = await own.treeOf(commit);
  if (isProblem(tree)) return tree;
  const { head, headTree: before } = plan;
  const changes = tree === plan.tree ? plan.changes : await own.changedPaths(before, tree);
  if (isProblem(changes)) return changes;
  await alignIndex(own, { commit, parent: head.commit, before, changes }, owner);
  return { commit, differs: tree !== plan.tree };
}

async function commitTree(
  own: OwnGit,
  plan: CommitPlan,
  message: string,
  inside: Inside,
): Promise<Captured | Problem> {
  const packed = await deliver(own, plan.tree, plan.headTree);
  if (packed) return packed;
  const { gitDir } = own.repository;
  const index = join(gitDir, `ralph-index-${process.pid}`);
  const args = [gitDir, own.git.program, plan.tree, message, ...plan.filtered];
  const made = await inside(['/bin/sh', '-c', COMMIT, 'commit', ...args], {
    env: { GIT_INDEX_FILE: index },
  });
  sweepIndexes(gitDir, pid => pid === process.pid);
  return made;
}

/** The commit that git would make, without a look at all files. Returns its name, and how to move HEAD to it; undefined: it is not possible. */
async function commitOutside(
  own: OwnGit,
  { tree, head, headTree }: CommitPlan,
  words: string,
): Promise<Ready | undefined> {
  const parents = head.commit === undefined ? [] : [head.commit];
  const message = cleaned(words);
  const commit = await own.commit({ tree, parents, message });
  if (isProblem(commit) || (await deliver(own, commit, head.commit ?? headTree))) return undefined;
  const why = `commit${parents.length === 0 ? ' (initial)' : ''}: ${message.split('\n', 1)[0]}`;
  return { commit, move: ['-m', why, 'HEAD', commit, head.commit ?? '0'.repeat(commit.length)] };
}

interface Ready {
  readonly commit: string;
  /** As `update-ref` takes it. */
  readonly move: readonly string[];
}

/** As `git commit` does it with a message that nobody has edited. */
function cleaned(message: string): string {
  const lines = message.replace(/[ \t\r\f\v]+$/gm, '');
  return `${lines.replace(/\n{3,}/g, '\n\n').replace(/^\n+|\n+$/g, '')}\n`;
}

/** Removes what a commit that was cut off left of the indexes of these processes. */
export function sweepIndexes(gitDir: string, whose: (pid: number) => boolean): void {
  for (const name of namesIn(gitDir)) {
    const pid = /^ralph-index-(\d+)(\.lock)?$/.exec(name)?.[1];
    if (pid !== undefined && whose(Number(pid))) rmSync(join(gitDir, name), { force: true });
  }
}

/** What git exits with where a hook does; where it fails itself, it is another number. */
const REFUSED = 1;

/** In an index of its own, so that neither flags nor what else is staged have a say in it. */
const COMMIT = `cp "$1/index" "$GIT_INDEX_FILE" 2>/dev/null
dir=$1 git=$2 tree=$3 message=$4; shift 4
"$git" read-tree --reset "$tree" 2>/dev/null || { rm -f "$GIT_INDEX_FILE"; "$git" read-tree "$tree"; } || exit 128
if [ $# -gt 0 ]; then "$git" update-index --add -- "$@" || exit 128; fi
exec "$git" -c maintenance.auto=false commit --quiet --message "$message"`;

export interface HandOver {
  readonly commit: string;
  /** What the repository has already. */
  readonly known: string;
  /** What stands on it from then on. */
  readonly ref: string;
  /** What that must stand on before; absent: it does not matter. */
  readonly from?: string | undefined;
  /** For the log of the name. */
  readonly why: string;
}

/** A commit of Ralph's own: its objects, and then the name. It looks at no files, so nothing of the repository's is started. */
export async function handOver(
  own: OwnGit,
  { commit, known, ref, from, why }: HandOver,
): Promise<Problem | undefined> {
  const undelivered = commit === known ? undefined : await deliver(own, commit, known);
  if (undelivered) return undelivered;
  // A name of Ralph's that points to another one is the agent's doing: that other one stays.
  const how = ref === 'HEAD' ? [] : ['--no-deref'];
  const words = ['update-ref', ...how, '-m', why, ref, commit, ...(from === undefined ? [] : [from])];
  return own.repository.git.order(words, ref);
}

/** Copies the objects of a tree or commit that `known` does not have: a few one by one, as git itself leaves them, many as a pack. */
export async function deliver(own: OwnGit, wanted: string, known: string): Promise<Problem | undefined> {
  const objects = own.repository.objects;
  const folder = mkdtempSync(join(own.objects.cwd, 'other.pack-'));
  try {
    const few = await fewObjects(own, wanted, known);
    if (few && realpathSync(objects) === objects && few.every(name => copyLoose(own, objects, name)))
      return undefined;
    const flags = ['pack-objects', '--revs', '--quiet', '--delta-base-offset', join(folder, 'pack')];
    const { code, errors } = await own.objects.stream(flags, () => 'more', `${wanted}\n^${known}\n`);
    if (code !== 0)
      return { where: wanted, what: `its objects cannot be packed: ${complaint(errors, code)}` };
    const to = join(objects, 'pack');
    // The inside could have put a link there that leads out.
    if (realpathSync(to) !== to) return { where: to, what: 'it is a link now: nothing is written there' };
    removeLeftovers(to);
    // The index of a pack last: without it git does not look at the pack.
    for (const name of readdirSync(folder).sort().reverse()) copyWhole(join(folder, name), join(to, name));
    return undefined;
  } catch (error) {
    return { where: objects, what: `objects cannot be written: ${errorWords(error)}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A pack for each commit would make every later git slower, until somebody puts them together. */
const FEW = 100;

/** Each before what leads to it; undefined: there are more, or git cannot say. */
async function fewObjects(
  { objects }: OwnGit,
  wanted: string,
  known: string,
): Promise<readonly string[] | undefined> {
  let text = '';
  const read = (chunk: Buffer) => {
    text += chunk.toString('latin1');
    return text.split('\n').length > FEW ? ('enough' as const) : ('more' as const);
  };
  const { code } = await objects.stream(
    ['rev-list', '--objects', '--no-object-names', wanted, `^${known}`],
    read,
  );
  const names = text.split('\n').filter(Boolean);
  return code === 0 && names.length < FEW ? names.reverse() : undefined;
}

/** False: it is in a pack here, or a link is in the way there. */
function copyLoose(own: OwnGit, objects: string, name: string): boolean {
  const [folder, file] = [name.slice(0, 2), name.slice(2)];
  const from = join(own.objects.cwd, 'objects', folder, file);
  if (!existsSync(from)) return false;
  const to = join(objects, folder);
  mkdirSync(to, { recursive: true });
  if (!lstatSync(to).isDirectory()) return false;
  const temporary = join(to, `tmp_obj_ralph_${process.pid}`);
  rmSync(temporary, { force: true });
  copyFileSync(from, temporary, constants.COPYFILE_EXCL);
  chmodSync(temporary, 0o444 & ~process.umask());
  syncToDisk(temporary);
  renameSync(temporary, join(to, file));
  return true;
}

/** Whole or not at all: half a pack that a kill left under this name would break every later commit. git prunes what begins with `tmp_`. */
function copyWhole(from: string, to: string): void {
  if (statSync(to, { throwIfNoEntry: false })?.size === statSync(from).size) return; // its name is that of its content
  const { pid, started } = ourselves();
  const temporary = join(dirname(to), `tmp_ralph_${pid}_${started}`);
  rmSync(temporary, { force: true });
  copyFileSync(from, temporary, constants.COPYFILE_EXCL);
  syncToDisk(temporary);
  renameSync(temporary, to);
}

/** What a Ralph that was killed in the middle had begun to copy. */
function removeLeftovers(folder: string): void {
  for (const name of namesIn(folder)) {
    const [, pid, started = ''] = /^tmp_ralph_(\d+)_(.*)$/.exec(name) ?? [];
    if (pid !== undefined && !isAlive({ pid: Number(pid), started }))
      rmSync(join(folder, name), { force: true });
  }
}
