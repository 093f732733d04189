/** Keeps, iteration by iteration, what had changed since the run began: for whoever looks at the run later. */
import { isProblem } from '../domain/problem.ts';
import { createRedactor } from '../domain/secrets.ts';
import { ensureFolder, readIfThere, writeAtomic, writePrivate } from '../platform/files.ts';
import { git } from '../platform/git.ts';
import type { RunPaths } from '../store/paths.ts';
import { accumulatedDiff, startRef } from '../workspace/diff.ts';
import { headCommit, isUnderGit, type Place } from '../workspace/repository.ts';

export interface ChangesWorld extends Place {
  readonly paths: RunPaths;
  /** Whoever ends the run at once does not want to wait for a diff. */
  readonly abort: AbortSignal;
}

const MOST = 4_000_000;

/** Seconds. A shorter turn of an agent that tells its tool calls, and called none, has changed nothing. */
const WORTH = 1;

export interface Seen {
  /** null: this agent does not tell. */
  readonly toolCalls: number | null;
  /** Seconds. */
  readonly duration: number;
}

/** Call it before the agent starts; what it gives writes the file. Outside a repository there is nothing to write. */
export function watchChanges(world: ChangesWorld): (file: string, seen: Seen) => Promise<void> {
  const { cwd, env, abort } = world;
  // Not waited for: the agent need not wait either.
  const started = startOf(world);
  started.catch(() => {}); // a disk that gives out: whoever asks for it is told
  return async (file, { toolCalls, duration }) => {
    const start = await started;
    if (start === undefined || abort.aborted || (toolCalls === 0 && duration < WORTH)) return;
    const diff = await accumulatedDiff({ cwd, env, startRef: start, maxChars: MOST });
    if (!isProblem(diff) && diff.text !== '') writePrivate(file, createRedactor(env)(diff.text));
  };
}

/** Written down, so that a run which is resumed another day still knows where it began. */
async function startOf({ cwd, env, paths }: ChangesWorld): Promise<string | undefined> {
  const known = readIfThere(paths.state.startRef);
  if (known !== undefined) return known;
  if (!isUnderGit(cwd)) return undefined;
  // Asked before the agent is started, and in one word, so that the answer is from before its first commit.
  const start = (await headCommit(git(cwd, env))) ?? (await startRef({ cwd, env }));
  if (typeof start !== 'string') return undefined;
  ensureFolder(paths.state.folder);
  writeAtomic(paths.state.startRef, start);
  return start;
}
