/** A run at a glance, from its folder. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { trustWith } from '../domain/run/ledger-trust.ts';
import { overview, type RunOverview, type RunStatus, statusOf } from '../domain/run/overview.ts';
import type { LoopResult } from '../domain/run/result.ts';
import { hasBegun, NOTHING_YET, type RunState } from '../domain/run/state.ts';
import { fileSize, readIfThere, tryTo } from '../platform/files.ts';
import { loadState } from './checkpoint.ts';
import { isRunning } from './lease.ts';
import { isRecorded, type ProjectPaths, type RunPaths, runPaths } from './paths.ts';
import { type RunFile, readRunFile } from './run-file.ts';
import { listSessions } from './session-file.ts';

/** With the state from which it was made, for those who want to know more of it. */
export function lookAt(id: string, paths: RunPaths): { overview: RunOverview; state: RunState } {
  const file = readRunFile(paths);
  const { state, problems } = tryTo(() => loadState(paths)) ?? UNREADABLE;
  const ledger = trustWith(paths.trust, problems);
  const isEmpty = ledger.kind === 'intact' && !isLost(paths) && !hasBegun(state);
  const dead = () => deadState(id, paths, isEmpty, file);
  const status = statusOf(state, ledger, () => (isRunning(paths) ? 'running' : dead()));
  const around = {
    ...{ id, ledger, state: status, isLost: isLost(paths) },
    resumable: !isEmpty && canResume(status, paths, file, state.result),
    command: file?.command ?? 'unknown',
    startedAt: file?.startedAt ?? null,
  };
  return { overview: overview(state, around), state };
}

const UNREADABLE = { state: NOTHING_YET, problems: ['it cannot be read'] };

export function overviewOf(id: string, paths: RunPaths): RunOverview {
  return lookAt(id, paths).overview;
}

/** What `ralph resume` needs is there: its ledger, its task, and of a run that has stopped its worktree. */
function canResume(
  state: RunStatus,
  paths: RunPaths,
  file: RunFile | undefined,
  result: LoopResult | undefined,
): boolean {
  if (!['stopped', 'crashed', 'unverified'].includes(state) || result?.success) return false;
  if (!file?.given || file.command === 'session' || !isRecorded(paths) || isLost(paths)) return false;
  const { worktree, promptFile, ralphDir, parallel } = file.given;
  const { root } = paths.project;
  const at = (...names: readonly string[]) => existsSync(join(root, ...names));
  // That of a run which was cut off is made again.
  if (worktree !== undefined && result && !at('.ralph', 'worktrees', worktree)) return false;
  if (file.command === 'prd')
    return worktree !== undefined || parallel !== undefined || at(ralphDir ?? 'ralph', 'tasks.json');
  return promptFile === undefined ? fileSize(paths.task) > 0 : existsSync(resolve(root, promptFile));
}

/** Its ledger is gone: `ralph resume` refuses to begin again as if nothing had been spent. */
function isLost(paths: RunPaths): boolean {
  return isRecorded(paths) && !existsSync(paths.events);
}

/** How a run stands that has not ended, and that nobody drives. `isEmpty`: its ledger, which can be believed, has no iteration. */
export function deadState(
  id: string,
  paths: RunPaths,
  isEmpty: boolean,
  file = readRunFile(paths),
): 'closed' | 'crashed' | 'unstarted' {
  if (file?.command !== 'session') return isEmpty ? 'unstarted' : 'crashed';
  // The ledger of a session says nothing before the agent stops for the first time.
  const isThere = listSessions(paths.project.root).some(each => 'state' in each && each.state.runId === id);
  return isThere ? 'closed' : 'crashed';
}

/** Takes runs, the newest first: one whose task or list a later one has done need not be resumed any more. */
export function createDoneSince(project: ProjectPaths): (run: RunOverview) => RunOverview {
  const done = new Set<string>();
  return run => {
    const isDone = run.state === 'done';
    const subject = isDone || run.resumable ? subjectOf(runPaths(project, run.id)) : undefined;
    if (subject === undefined) return run;
    if (isDone) done.add(subject);
    return run.resumable && done.has(subject) ? { ...run, resumable: false } : run;
  };
}

/** What a run works on, in words that are the same for two runs of the same; undefined: nobody wrote it down. */
function subjectOf(paths: RunPaths): string | undefined {
  const file = readRunFile(paths);
  if (!file?.given) return undefined;
  const { promptFile, tasks, ralphDir = 'ralph' } = file.given;
  if (file.command === 'prd') return `stories ${ralphDir}`;
  const source = promptFile ?? tasks;
  const text = source ?? tryTo(() => readIfThere(paths.task));
  return text ? `${source === undefined ? 'task' : 'file'} ${text.trim()}` : undefined;
}
