/** What `ralph prd run` needs before it can begin: a directory of its own, and its prompt. */
import { dirname, relative } from 'node:path';
import type { Problem } from '../../domain/text/problem.ts';
import { ensureFolder, readIfThere } from '../../platform/files.ts';
import { identify } from '../../platform/process-table.ts';
import { readActive, removeActive, writeActive } from '../../store/active-file.ts';
import { readLease } from '../../store/lease.ts';
import type { ProjectPaths } from '../../store/paths.ts';
import type { PrdPaths } from '../../store/prd-paths.ts';
import { liveRuns } from '../../store/run-file.ts';
import { ownerOf, withLock } from '../../workspace/lock.ts';

export interface ClaimedDirectory {
  /** What the user should know of it. */
  readonly notices: readonly string[];
  release(): void;
}

/** Which loop in a project is meant. */
export interface WhichLoop {
  /** The run that is resumed: it is no other loop. */
  readonly own?: string | undefined;
  /** Where it works, when that is not the project itself. */
  readonly worktree?: string | undefined;
}

/** One loop works in a directory at a time. The mark of one that was killed does not count. */
export async function claimDirectory(
  paths: PrdPaths,
  project: ProjectPaths,
  which: WhichLoop,
): Promise<ClaimedDirectory | Problem> {
  ensureFolder(project.folder);
  ensureFolder(dirname(paths.lock));
  return withLock(paths.lock, async () => {
    const other = liveLoop(paths, project, which);
    if (other) return other;
    const stale = readActive(paths.active);
    const { pid, started } = identify(process.pid) ?? { pid: process.pid, started: '' };
    writeActive(paths.active, `${JSON.stringify({ timestamp: new Date().toISOString(), pid, started })}\n`);
    const who = stale?.process ? `process ${stale.process.pid}` : 'a loop';
    const notices = stale ? [`Removed .ralph-active, which was left by ${who} that no longer runs.`] : [];
    return { notices, release: () => removeActive(paths.active) };
  });
}

/** By its mark, and by the leases of runs: an agent may have deleted the mark. */
export function liveLoop(
  paths: PrdPaths,
  project: ProjectPaths,
  { own, worktree }: WhichLoop = {},
): Problem | undefined {
  const run = liveRuns(project).findLast(
    ({ id, file }) => file.command === 'prd' && id !== own && file.given?.worktree === worktree,
  );
  const owner = ownerOf(paths.active) ?? (run && readLease(run.paths)?.process);
  if (!owner) return undefined;
  const since = run?.file.startedAt ?? readActive(paths.active)?.timestamp;
  return {
    where: relative(paths.root, paths.active),
    what: `a loop is already running in this directory: process ${owner.pid}${run ? `, run ${run.id}` : ''}${since ? `, since ${since}` : ''}`,
    fix: 'wait for it, stop it with `ralph cancel`, or work in another worktree',
  };
}

/** The project's own prompt; the one that Ralph ships where it has none. */
export function promptTemplate(paths: PrdPaths, shipped: () => string): string {
  const own = readIfThere(paths.prompt);
  return own === undefined || own.trim() === '' ? shipped() : own;
}
