/**
 * What a unit needs to be continued elsewhere, as one commit: its tree holds the state of the run, its first parent the files as they are,
 * and that one's parent the commit that the branch stands on; its other parents hold other trees that the run needs. It is pushed to a name
 * that only one holder of the unit writes.
 */
import { appendFileSync, existsSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { ensureFolder, fileSize, namesIn, writeWhole } from '../platform/files.ts';
import { complaint } from '../platform/git.ts';
import type { LedgerLine } from '../store/journal.ts';
import { GENESIS, keepEnd, lastEntry } from '../store/ledger-end.ts';
import type { RunPaths } from '../store/paths.ts';
import { type RunFile, readRunFile, writeRunFile } from '../store/run-file.ts';
import type { OwnGit } from '../workspace/own-git.ts';

/** In the folder of the run in the project, and in its folder outside; the rest is made anew, or is in the database. */
const IN_PROJECT = ['progress.md', 'stories'];
const OUTSIDE = ['run.json', 'task.md', 'kept', 'kept-for-review', 'approvals.json'];

/** `push` puts a commit into one of several places; `others`: trees that the run needs beside its files. */
export function createCarrier(
  own: OwnGit,
  paths: RunPaths,
  push: (commit: string, place: number) => Promise<Problem | undefined>,
  others: () => readonly string[],
) {
  const commitOf = createTreeCommits(own);
  let last: { readonly name: string; readonly commit: string } | undefined;
  const places: string[] = [];
  return {
    /**
     * Returns the commit when it is safe elsewhere; the same as long as nothing has changed. What `isNeeded` stays in its place: of a holder
     * that dies before it has recorded this one, the next continues from that.
     */
    async carry(isNeeded: (commit: string) => boolean): Promise<string | Problem> {
      const [work, head] = [await own.snapshot(), await own.head()];
      if (isProblem(work)) return work;
      const missing = head.commit === undefined ? undefined : await own.bring(head.commit);
      if (missing) return missing;
      const state = await stateTree(own, paths);
      if (isProblem(state)) return state;
      const kept = await commitOf(others().filter(tree => tree !== work.tree));
      const name = `${work.tree} ${state} ${head.commit} ${kept.join(' ')}`;
      if (last?.name === name) return last.commit;
      const parents = head.commit === undefined ? [] : [head.commit];
      const files = await own.commit({
        tree: work.tree,
        parents,
        message: 'Work in progress',
      });
      if (isProblem(files)) return files;
      const commit = await own.commit({
        tree: state,
        parents: [files, ...kept],
        message: 'State of a run',
      });
      if (isProblem(commit)) return commit;
      const free = places.findIndex(there => !isNeeded(there));
      const place = free === -1 ? places.length : free;
      places[place] = commit;
      const problem = await push(commit, place);
      if (problem) return problem;
      last = { name, commit };
      return commit;
    },
  };
}

/** One that is not here any more is left out: then the run says what it cannot do without it. */
function createTreeCommits(own: OwnGit) {
  const made = new Map<string, string>();
  return async (trees: readonly string[]): Promise<readonly string[]> => {
    for (const tree of trees) {
      if (made.has(tree)) continue;
      const commit = await own.commit({ tree, parents: [], message: 'Files of an earlier moment' });
      if (!isProblem(commit)) made.set(tree, commit);
    }
    return trees.flatMap(tree => made.get(tree) ?? []);
  };
}

async function stateTree(own: OwnGit, paths: RunPaths): Promise<string | Problem> {
  const files = [
    ...IN_PROJECT.flatMap(name => filesBelow(paths.folder, name, 'project')),
    ...OUTSIDE.flatMap(name => filesBelow(paths.state.folder, name, 'outside')),
  ];
  if (files.length === 0) return own.treeWith(undefined, []);
  const { code, stdout, output } = await hashAll(
    own,
    files.map(({ path }) => path),
  );
  const oids = stdout.trim().split('\n');
  if (code !== 0 || oids.length !== files.length)
    return { where: paths.folder, what: complaint(output, code) };
  const bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
  const entryOf = ({ name }: Found, at: number) => ({
    bytes: bytes(name),
    after: { mode: '100644', oid: oids[at] ?? '' },
  });
  return own.treeWith(undefined, files.map(entryOf));
}

function hashAll(own: OwnGit, paths: readonly string[]) {
  let stdout = '';
  const read = (chunk: Buffer) => {
    stdout += chunk.toString('utf8');
    return 'more' as const;
  };
  const words = ['hash-object', '-w', '--no-filters', '--stdin-paths'];
  return own.objects
    .stream(words, read, `${paths.join('\n')}\n`)
    .then(({ code, errors }) => ({ code, stdout, output: errors }));
}

interface Found {
  readonly path: string;
  readonly name: string;
}

/** Regular files only: a link that the agent has put there leads nowhere. */
function filesBelow(folder: string, name: string, as: string): readonly Found[] {
  const path = join(folder, name);
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isFile()) return path.includes('\n') ? [] : [{ path, name: `${as}/${name}` }];
  if (!stat?.isDirectory()) return [];
  return namesIn(path).flatMap(below => filesBelow(folder, `${name}/${below}`, as));
}

/** Writes the state of a run where it belongs on this machine, and its ledger. False: there was no run yet. */
export async function unpack(
  own: OwnGit,
  paths: RunPaths,
  carry: string,
  lines: readonly LedgerLine[],
  cwd: string,
): Promise<boolean | Problem> {
  const missing = await own.bring(carry);
  if (missing) return missing;
  const tree = await own.treeOf(carry);
  if (isProblem(tree)) return tree;
  const folder = mkdtempSync(join(tmpdir(), 'ralph-carry-'));
  try {
    const problem = await own.checkout(tree, folder);
    if (problem) return problem;
    ensureFolder(paths.folder);
    ensureFolder(paths.state.folder);
    if (existsSync(join(folder, 'project')))
      await cp(join(folder, 'project'), paths.folder, { recursive: true });
    if (existsSync(join(folder, 'outside')))
      await cp(join(folder, 'outside'), paths.state.folder, { recursive: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  writeLedger(paths, lines);
  const file = readRunFile(paths);
  if (!file) return false;
  writeRunFile(paths, { ...file, cwd } satisfies RunFile);
  return true;
}

/** From here on it is recorded on this machine. */
export function writeLedger(paths: RunPaths, lines: readonly LedgerLine[]): void {
  ensureFolder(paths.state.folder);
  keepEnd(paths.state.events, { seq: 0, prev: GENESIS, offset: 0 });
  writeWhole(paths.state.events, '');
  addToLedger(paths, lines);
}

export function addToLedger(paths: RunPaths, lines: readonly LedgerLine[]): void {
  const { events } = paths.state;
  appendFileSync(events, lines.map(({ text }) => `${text}\n`).join(''));
  keepEnd(events, { ...lastEntry(events), offset: fileSize(events) });
}
