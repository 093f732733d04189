/** What a run has changed in the user's own files, distinguished from what is the user's by the trees that were recorded before and after it. */

import { join } from 'node:path';
import type { RunStart } from '../domain/run/event.ts';
import type { RunState } from '../domain/run/state.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { ownFiles, prdPaths } from '../store/prd-paths.ts';
import { looksSecret } from '../workspace/commit-plan.ts';
import { createIntegration } from '../workspace/integration.ts';
import type { OwnGit } from '../workspace/own-git.ts';
import { type ChangedPath, SUBMODULE } from '../workspace/own-objects.ts';
import { isRalphs, shownPath } from '../workspace/repository.ts';
import type { EndedRun } from './leavings.ts';

export interface ChangedHere {
  /** Trees: what the changes are made to, and the same with them. */
  readonly start: string;
  readonly end: string;
  readonly taken: readonly ChangedPath[];
  /** What of it is left out, and why. */
  readonly left: readonly string[];
}

/** What the user has changed since is not in it, nor a file that the user has put back. `head`: the tree of the commit it goes onto. */
export async function changedHere(
  { id, past, file, project }: Pick<EndedRun, 'id' | 'past' | 'file' | 'project'>,
  own: OwnGit,
  head: string,
): Promise<ChangedHere | Problem> {
  const { start } = past.prepared ?? {};
  if (start === undefined) {
    const what = 'what the files were before it is not on record, so nobody can say what is its work';
    return { where: id, what, fix: '`git status` shows what is not committed' };
  }
  const now = await own.snapshot();
  if (isProblem(now)) return now;
  const last = endOf(past) ?? now.tree;
  const [changes, since, others] = [
    await own.changedPaths(start.tree, last),
    await own.changedPaths(start.tree, now.tree),
    await own.changedPaths(start.tree, head),
  ];
  if (isProblem(changes)) return changes;
  if (isProblem(since)) return since;
  if (isProblem(others)) return others;
  const isThere = new Set(since.map(({ bytes }) => bytes));
  const found = changes.filter(
    ({ path, bytes, before, after }) =>
      isThere.has(bytes) &&
      !isRalphs(path, own.root) &&
      before?.mode !== SUBMODULE &&
      after?.mode !== SUBMODULE,
  );
  const isSecret = ({ before, after, path }: ChangedPath) => !before && after && looksSecret(path);
  const prd = prdPaths(project.root, file.given?.ralphDir);
  const at = ({ path }: ChangedPath) => join(own.top, path);
  const isKnown = !others.some(change => at(change) === prd.tasks && !change.after);
  const isList = (change: ChangedPath) =>
    file.command === 'prd' && !isKnown && ownFiles(prd).includes(at(change));
  const taken = found.filter(change => !isSecret(change) && !isList(change));
  const from = await whereFrom(own, start, { last, now: now.tree, others }, taken);
  const end = isProblem(from) ? from : await own.treeWith(from, taken);
  if (isProblem(from)) return from;
  if (isProblem(end)) return end;
  const leftOut = (is: typeof isSecret, why: string) =>
    found.filter(is).map(({ path }) => `${shownPath(path)} (${why}git does not know it)`);
  const left = [...leftOut(isSecret, 'it looks like a secret, and '), ...leftOut(isList, '')];
  return { start: from, end, taken, left };
}

interface Trees {
  /** Of the files as the run left them, and as they are. */
  readonly last: string;
  readonly now: string;
  /** Between the start and the commit that is checked out. */
  readonly others: readonly ChangedPath[];
}

/**
 * The files as they were when the run began. Of a file that was as it is in the commit then, and is as the run left it now, the commit of
 * today counts: the run itself may have committed it on the way.
 */
async function whereFrom(
  own: OwnGit,
  start: RunStart,
  { last, now, others }: Trees,
  taken: readonly ChangedPath[],
): Promise<string | Problem> {
  const begun = await own.treeOf(start.head ?? undefined);
  if (isProblem(begun)) return begun;
  const [dirty, since] = [await own.changedPaths(begun, start.tree), await own.changedPaths(last, now)];
  if (isProblem(dirty)) return dirty;
  if (isProblem(since)) return since;
  const mixed = new Set([...dirty, ...since].map(({ bytes }) => bytes));
  const whole = new Set(taken.flatMap(({ bytes }) => (mixed.has(bytes) ? [] : [bytes])));
  return own.treeWith(
    start.tree,
    others.filter(({ bytes }) => whole.has(bytes)),
  );
}

/** The files as the last turn left them; undefined: it was cut off, so nobody has seen its end. */
export function endOf({ prepared, open, last }: RunState): string | undefined {
  if (!open && !last) return prepared?.start?.tree;
  const { snapshot, files } = (open ? open.judged : last?.judged) ?? {};
  return snapshot ?? files;
}

/** Three trees, by commits of Ralph's own that nobody else sees. */
export async function mergeTrees(
  own: OwnGit,
  { base, ours, theirs }: { readonly base: string; readonly ours: string; readonly theirs: string },
) {
  const made = (tree: string, parents: readonly string[], message: string) =>
    own.commit({ tree, parents, message, date: 0 });
  const root = await made(base, [], 'base');
  if (isProblem(root)) return root;
  const [one, other] = [await made(ours, [root], 'ours'), await made(theirs, [root], 'theirs')];
  if (isProblem(one)) return one;
  if (isProblem(other)) return other;
  return createIntegration(own, '').merge(one, other);
}
