/**
 * The user's index. After a commit of Ralph's only the entries of the committed paths are written, each by its name: whatever else is
 * staged, unmerged, intended to be added or flagged stays as it is. A version that is in the index alone, and that a committed one takes
 * the place of, is kept under a name first.
 */
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { complaint } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import type { OwnGit } from './own-git.ts';
import { type ChangedPath, indexInfo, makeCommit, readEntries, readRaw } from './own-objects.ts';
import { shownPath } from './repository.ts';
import { foldersOf, treeWith } from './tree-with.ts';

export interface Staged {
  /** What differs from the commit, as `--index-info` takes it, with one character for each byte. */
  readonly entries: readonly string[];
  readonly unmerged: readonly string[];
}

/** What the index has that this commit or tree has not. It does not look at the files, so nothing of the repository's is started. */
export async function readStaged(
  { repository }: Pick<OwnGit, 'repository'>,
  tree: string,
): Promise<Staged | Problem> {
  const flags = ['--cached', '--raw', '-z', '--no-renames', '--no-abbrev', '--ignore-submodules=none'];
  const { code, records, errors } = await repository.git.bytes([
    ...['diff-index', ...flags, '--ita-invisible-in-index', tree, '--'],
  ]);
  if (code !== 0) return { where: 'git index', what: `it cannot be read: ${complaint(errors, code)}` };
  const unmerged = records.flatMap((record, at) => (/^:.* U$/.test(record) ? [records[at + 1] ?? ''] : []));
  return {
    entries: indexInfo(readRaw(records).filter(({ after }) => after)),
    unmerged: [...new Set(unmerged)].map(path => shownPath(Buffer.from(path, 'latin1').toString('utf8'))),
  };
}

/** Writes entries into the index; behind the wall where there is one. */
export type UpdateIndex = (
  args: readonly string[],
  entries: Buffer,
) => Promise<{ readonly code: number; readonly output: string }>;

export interface MadeCommit {
  readonly commit: string;
  /** What it is made on. */
  readonly parent: string | undefined;
  readonly before: string;
  readonly changes: readonly ChangedPath[];
}

export interface IndexOwner {
  /** What was staged before the run; undefined: not known, so all that is staged counts as the user's. */
  readonly users: readonly string[] | undefined;
  /** The run, for what is kept. */
  readonly run: string;
  readonly update: UpdateIndex;
  tell(text: string): void;
}

/** Where nothing of the user's or the agent's is to be run: writing entries looks at no files. */
export function outsideOwner({ repository }: OwnGit, run: string, tell: IndexOwner['tell']): IndexOwner {
  return {
    users: undefined,
    run,
    async update(args, entries) {
      const { code, errors } = await repository.git.stream(args, () => 'more', entries);
      return { code, output: errors };
    },
    tell,
  };
}

/** Done twice it changes nothing. What is kept is said before the index is written: a kill in between loses neither. */
export async function alignIndex(own: OwnGit, made: MadeCommit, owner: IndexOwner): Promise<void> {
  const { changes, commit } = made;
  if (changes.length === 0) return;
  const replaced = await replacedBy(own, made, owner.users);
  const kept =
    isProblem(replaced) || replaced.length === 0 ? replaced : await keep(own, made, owner, replaced);
  if (isProblem(kept)) return owner.tell(notInLine(commit, formatProblem(kept)));
  const input = Buffer.from(`${indexInfo(changes, commit.length).join('\0')}\0`, 'latin1');
  const { code, output } = await owner.update(['update-index', '-z', '--index-info'], input);
  if (code !== 0) owner.tell(notInLine(commit, complaint(output, code)));
}

function notInLine(commit: string, why: string): string {
  const paths = `git diff-tree --root -r -z --no-commit-id --name-only ${commit}`;
  const fix = `${paths} | git restore --staged --pathspec-from-file=- --pathspec-file-nul`;
  // Every command on the index fails as long as it is there.
  const lock = /'([^']*index\.lock)'/.exec(why)?.[1];
  const first =
    lock === undefined ? '' : `If no other git is running here, remove it: \`${joinWords(['rm', lock])}\`. `;
  return `The commit is made, but git's index still has the committed files as they were: ${why}. ${first}\`${fix}\` brings it in line.`;
}

/** Versions of the user's that are in the index alone, and would be in no index any more. */
async function replacedBy(
  own: OwnGit,
  { before, changes }: MadeCommit,
  users: readonly string[] | undefined,
): Promise<readonly string[] | Problem> {
  if (users?.length === 0) return [];
  const staged = await readStaged(own, before);
  if (isProblem(staged)) return staged;
  const isUsers = users && new Set(users);
  const there = changes.filter(({ after }) => after);
  const added = new Map(indexInfo(there).map((entry, at) => [there[at]?.bytes ?? '', entry]));
  const gone = new Set(changes.flatMap(({ bytes, after }) => (after ? [] : [bytes])));
  const folders = new Set([...added.keys()].flatMap(foldersOf));
  return staged.entries.filter(entry => {
    const path = entry.slice(entry.indexOf('\t') + 1);
    if (added.get(path) === entry || (isUsers && !isUsers.has(entry))) return false;
    return (
      added.has(path) || gone.has(path) || folders.has(path) || foldersOf(path).some(at => added.has(at))
    );
  });
}

/** As a commit of its own beside the branch: `git show` shows what had been staged. */
async function keep(
  own: OwnGit,
  { commit, parent, before }: MadeCommit,
  { run, tell }: IndexOwner,
  entries: readonly string[],
): Promise<Problem | undefined> {
  const { git } = own.repository;
  const ref = `refs/ralph/kept/${run}/_staged/${commit.slice(0, 12)}`;
  const write = (content: Buffer) =>
    git.ask(['hash-object', '-w', '-t', 'tree', '--stdin'], content).stdout.toString().trim();
  const tree = await treeWith({ git, write }, before, readEntries(entries));
  if (isProblem(tree)) return tree;
  const parents = parent === undefined ? [] : [parent];
  const made = await makeCommit(git, { tree, parents, message: `Staged before ${commit}` });
  if (isProblem(made)) return made;
  const unnamed = await git.order(['update-ref', '--no-deref', ref, made], ref);
  if (unnamed) return unnamed;
  const paths = entries.map(entry => Buffer.from(entry.slice(entry.indexOf('\t') + 1), 'latin1').toString());
  const back = joinWords(['git', 'restore', '--staged', `--source=${ref}`, '--', ...paths.slice(0, SHOWN)]);
  const more = paths.length > SHOWN ? ` and ${paths.length - SHOWN} more` : '';
  const names = paths.slice(0, SHOWN).map(shownPath).join(', ');
  tell(
    `You had staged another version of ${names}${more} than the one that is committed now. It is kept: \`git show ${ref}\`. \`${back}\` stages it again.`,
  );
  return undefined;
}

const SHOWN = 10;
