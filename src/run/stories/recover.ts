/**
 * A run that was killed in the middle of an iteration has left what its agent wrote, and nobody has looked at it. Its own copy of
 * the list is in its folder, vouched for by its ledger: what the agent left is held against that before a new run trusts it.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { doubtsOf, trustWith } from '../../domain/run/ledger-trust.ts';
import type { ReviewPolicy, StoryMode } from '../../domain/stories/assignment.ts';
import { repairList } from '../../domain/stories/repair.ts';
import { readList, type StoryList } from '../../domain/stories/story.ts';
import type { Problem } from '../../domain/text/problem.ts';
import { writeAtomic } from '../../platform/files.ts';
import { type Loaded, readState } from '../../store/checkpoint.ts';
import { readStories } from '../../store/kept.ts';
import { isRunning } from '../../store/lease.ts';
import { overviewOf } from '../../store/overview.ts';
import { isRecorded, type ProjectPaths, type RunPaths, runPaths } from '../../store/paths.ts';
import type { PrdPaths } from '../../store/prd-paths.ts';
import { listRuns, readRunFile } from '../../store/run-file.ts';
import { formatTasks, isList, readLeft } from '../../store/tasks-file.ts';
import { clearPath } from '../../workspace/set-aside.ts';
import type { Begun } from './keeper.ts';

export interface Recovery {
  /** What a new run may start from. */
  readonly list: StoryList;
  /** What the user should know. */
  readonly notice: string;
  /** Puts the list where it belongs; what is there is set aside. */
  write(): void;
}

/** undefined: nothing was cut off, or the agent had done nothing that it may not do. A problem: nobody can tell any more. */
export function recoverStories(
  paths: PrdPaths,
  project: ProjectPaths,
  worktree?: string,
): Recovery | Problem | undefined {
  const run = lastRun(project, worktree);
  const stand = run && standOf(run.paths, readVerified(run.paths));
  if (!run || !stand) return undefined;
  if (stand === 'unknown') return unknown(paths, run.id);
  const { trusted, begun } = stand;
  if (!begun || begun.isApplied) return undefined;
  const { list, forbidden } = repairList(trusted, readLeft(paths.tasks), { ...run.policy, ...begun });
  if (forbidden.length === 0) return undefined;
  const aside = join(run.paths.aside, 'cut-off');
  return {
    list,
    notice: `Run ${run.id} was killed in an iteration (${begun.mode}), and ${paths.name}/tasks.json held changes that it may not make; they are undone, and what was there is in ${aside}. --trust-tasks takes the file as it is. ${forbidden.join(' ')}`,
    write() {
      clearPath(dirname(paths.folder), `${basename(paths.folder)}/${basename(paths.tasks)}`, aside);
      writeAtomic(paths.tasks, formatTasks(list), 0o644, run.paths.folder);
    },
  };
}

/** What is wrong with the ledger, and that it is not known to be what Ralph wrote. */
function readVerified(paths: RunPaths): Loaded {
  const { state: past, problems } = readState(paths);
  return { state: past, problems: doubtsOf(trustWith(paths.trust, problems)) };
}

export function unknown({ name }: PrdPaths, id: string): Problem {
  return {
    where: `${name}/tasks.json`,
    what: `run ${id} was killed, and its own records have been changed: nobody can tell whether its agent kept to the rules`,
    fix: 'look at the list, then start a new run with --trust-tasks',
  };
}

/** The last one, unless it is running or ended by itself. */
function lastRun(project: ProjectPaths, worktree: string | undefined) {
  for (const id of listRuns(project).toReversed()) {
    const of = runPaths(project, id);
    const file = readRunFile(of);
    // A copy has nothing to say of what was done here.
    if (!isRecorded(of) || file?.command !== 'prd' || file.given?.worktree !== worktree) continue;
    const { stopReason, ledger } = overviewOf(id, of);
    const isOver = stopReason !== null && ledger.kind !== 'changed'; // an end is soon written
    return isRunning(of) || isOver ? undefined : { id, paths: of, policy: file.config as ReviewPolicy };
  }
  return undefined;
}

/** Where a run stands by its own records; `unknown` when they do not vouch for anything. undefined: it never got so far. */
export function standOf(
  paths: RunPaths,
  { state: past, problems }: Loaded,
): { readonly trusted: StoryList; readonly begun?: Begun } | 'unknown' | undefined {
  // Cut off before its first line: no agent had worked.
  if (!past.head && problems.length === 0 && existsSync(paths.events)) return undefined;
  if (!past.head || problems.length > 0) return 'unknown';
  const { stories, open, last } = past;
  if (!stories) return undefined;
  const text = readStories(paths, stories.hash);
  const trusted = text === undefined ? [] : readList(JSON.parse(text));
  if (!isList(trusted)) return 'unknown';
  const begun = open ?? last;
  if (!begun?.mode) return { trusted };
  const { number: iteration, story, mode } = begun;
  const isApplied = stories.iteration === iteration;
  return {
    trusted,
    begun: { iteration, mode: mode as StoryMode, isApplied, ...(story !== undefined && { story }) },
  };
}
