/** What the user had changed and not committed when a run began: said then, shown apart, and kept for when the agent has changed it, too. */
import type { RunStart } from '../../domain/run/event.ts';
import { listSome } from '../../domain/text/feedback.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import { ensureFolder, writePrivate } from '../../platform/files.ts';
import { joinWords } from '../../platform/shell.ts';
import { deliver } from '../../workspace/commit-in-repository.ts';
import { diffWithPaths } from '../../workspace/diff.ts';
import type { OwnGit } from '../../workspace/own-git.ts';
import { type ChangedPath, makeCommit } from '../../workspace/own-objects.ts';
import { shownPath } from '../../workspace/repository.ts';
import type { TreeStatus } from '../../workspace/tree-status.ts';
import { warn } from '../steps.ts';
import type { RunContext } from './context.ts';

const MOST = 4_000_000;

/** Returns the paths. `apart`: a folder whose files are the run's own business, from where the agent works. */
export async function noteYours(
  context: RunContext,
  status: TreeStatus,
  apart: string | undefined,
): Promise<readonly string[]> {
  const { cwd, env, emit, paths, settings } = context;
  const startTree = await status.own.treeOf(status.head);
  if (isProblem(startTree) || startTree === status.tree) return [];
  const found = await diffWithPaths({ cwd, env, startTree, status, maxChars: MOST });
  if (isProblem(found)) return [];
  const own = apart === undefined ? undefined : `${status.own.prefix}${apart}/`;
  const yours = found.paths.filter(path => own === undefined || !path.startsWith(own)).sort();
  if (yours.length === 0) return [];
  emit({ type: 'notice', level: 'info', text: yoursWords(yours, settings) });
  const { folder, diff: file } = paths.iteration(0);
  ensureFolder(folder);
  writePrivate(file, found.diff.text);
  return yours;
}

function yoursWords(
  yours: readonly string[],
  { scm, commitDirty }: Pick<RunContext['settings'], 'scm' | 'commitDirty'>,
): string {
  const [files, they] =
    yours.length === 1 ? ['1 file is', 'It is'] : [`${yours.length} files are`, 'They are'];
  const commits = scm?.tasks?.some(task => task.trim() === 'commit') === true;
  const fate = !commits
    ? ''
    : commitDirty
      ? ' What the agent changes in them is committed together with your changes (commitDirty).'
      : ', and not committed with its work';
  const stop = fate.startsWith(' ') ? `.${fate}` : `${fate}.`;
  return `${files} changed and not committed: ${listSome(yours)}. ${they} yours: not shown as work of this run${stop} Where the agent changes one, too, the end of the run says how to get your version back.`;
}

/** Those that the agent has changed, too, are kept. `changed`: what the run leaves otherwise than it was. */
export async function keepYours(
  { emit, runId }: RunContext,
  own: OwnGit,
  start: RunStart,
  changed: readonly ChangedPath[],
): Promise<void> {
  const known = new Set(start.dirty);
  const paths = changed.flatMap(({ path, before }) => (before && known.has(shownPath(path)) ? [path] : []));
  if (paths.length === 0) return;
  const { head, tree } = start;
  const ref = await keepVersion(own, {
    ref: `refs/ralph/kept/${runId}/_yours`,
    message: `Not committed before run ${runId}`,
    ...{ head, tree },
  });
  if (isProblem(ref)) warn(emit, `Your files as they were before the run cannot be kept: ${ref.what}.`);
  else warn(emit, keptWords({ paths, ref, top: own.prefix === '' ? undefined : own.top }));
}

interface KeptVersion {
  readonly paths: readonly string[];
  readonly ref: string;
  readonly top: string | undefined;
}

const SHOWN = 10;

function keptWords({ paths, ref, top }: KeptVersion): string {
  const at = top === undefined ? [] : ['-C', top];
  const back = joinWords(['git', ...at, 'restore', `--source=${ref}`, '--', ...paths.slice(0, SHOWN)]);
  const more =
    paths.length > SHOWN ? ` ${paths.length - SHOWN} more are there: \`git diff --stat ${ref}\`.` : '';
  return `The agent has changed what you had not committed: ${listSome(paths.map(shownPath))}. Your version is kept, and this brings it back: \`${back}\`.${more}`;
}

interface Version extends Pick<RunStart, 'head' | 'tree'> {
  readonly ref: string;
  readonly message: string;
}

/** As a commit beside the branch, in the user's repository. Returns the name of its ref. */
export async function keepVersion(
  own: OwnGit,
  { head, tree, ref, message }: Version,
): Promise<string | Problem> {
  const base = await own.treeOf(head ?? undefined);
  const undelivered = isProblem(base) ? base : await deliver(own, tree, base);
  if (undelivered) return undelivered;
  const { git } = own.repository;
  const parents = head === null ? [] : [head];
  const made = await makeCommit(git, { tree, parents, message });
  if (isProblem(made)) return made;
  return (await git.order(['update-ref', '--no-deref', ref, made], ref)) ?? ref;
}
