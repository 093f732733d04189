/** What `ralph prd run` needs before it can begin: a directory of its own, a list that is in order, and what a run that was killed has left. */
import { relative } from 'node:path';
import { isProblem, type Problem } from '../domain/problem.ts';
import type { LoopPlan } from '../engine/plan.ts';
import { ensureFolder, readIfThere } from '../platform/files.ts';
import { identify } from '../platform/process-table.ts';
import { readActive, removeActive, writeActive } from '../store/active-file.ts';
import { type ProjectPaths, runPaths } from '../store/paths.ts';
import type { PrdPaths } from '../store/prd-paths.ts';
import { isRunning, listRuns, type RunFile, readRunFile } from '../store/run-file.ts';
import { openProtection } from '../turns/plan-parts.ts';
import { ownerOf, withLock } from '../workspace/lock.ts';
import { type PrdParts, prdPlan } from './plan.ts';

export interface Claim {
  /** What the user should know of it. */
  readonly notices: readonly string[];
  release(): void;
}

/** One loop works in a directory at a time. The mark of one that was killed does not count. */
export async function claimDirectory(paths: PrdPaths, project: ProjectPaths): Promise<Claim | Problem> {
  ensureFolder(project.folder);
  return withLock(paths.lock, async () => {
    const other = liveLoop(paths, project);
    if (other) return other;
    const stale = readActive(paths.active);
    const { pid, started } = identify(process.pid) ?? { pid: process.pid, started: '' };
    writeActive(paths.active, `${JSON.stringify({ timestamp: new Date().toISOString(), pid, started })}\n`);
    const who = stale?.process ? `process ${stale.process.pid}` : 'a loop';
    const notices = stale ? [`The mark of ${who} that is no longer there was cleared (.ralph-active).`] : [];
    return { notices, release: () => removeActive(paths.active) };
  });
}

/** By its mark, and by the runs on record: an agent may have deleted the mark. */
export function liveLoop(paths: PrdPaths, project: ProjectPaths): Problem | undefined {
  const run = listRuns(project)
    .map(id => readRunFile(runPaths(project.runs, id)))
    .findLast((file): file is RunFile => file?.command === 'prd' && isRunning(file) && !isOurs(file));
  const owner = ownerOf(paths.active) ?? run?.process;
  if (!owner) return undefined;
  const since = run?.startedAt ?? readActive(paths.active)?.timestamp;
  return {
    where: relative(paths.root, paths.active),
    what: `a loop is at work in this directory already: process ${owner.pid}${run ? `, run ${run.id}` : ''}${since ? `, since ${since}` : ''}`,
    fix: 'wait for it, end it with `ralph cancel`, or work in another worktree',
  };
}

/** A run that goes on is this process's own already. */
function isOurs(file: RunFile): boolean {
  return file.process.pid === process.pid;
}

/** The project's own prompt; the one that Ralph ships where it has none. */
export function promptTemplate(paths: PrdPaths, shipped: () => string): string {
  const own = readIfThere(paths.prompt);
  return own === undefined || own.trim() === '' ? shipped() : own;
}

export interface PrdRequest extends Omit<PrdParts, 'protection'> {
  /** The name of the protected files as they were when the run began, for one that goes on. */
  readonly kept?: string;
}

export async function planPrd(request: PrdRequest): Promise<LoopPlan | Problem> {
  const protection = await openProtection(request);
  if (isProblem(protection)) return protection;
  const notices = [...request.notices, ...(protection?.notes ?? [])];
  return prdPlan({ ...request, notices, ...(protection && { protection }) });
}
