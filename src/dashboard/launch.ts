/**
 * What a page may start: a run with the settings of its project, or one that has stopped once more. A page names no command, no agent
 * and no flag of its own, and its text is never read as one.
 */
import { parseObject } from '../domain/json.ts';
import type { Raise } from '../domain/resume-command.ts';

/** Starts `ralph` with these arguments in the project, so that it outlives the dashboard. */
export type Launch = (root: string, args: readonly string[]) => Promise<Launched>;

export interface Launched {
  /** One sentence for people. */
  readonly message: string;
  readonly done: boolean;
  /** The run that was started, or resumed. */
  readonly runId?: string;
}

/** An argument may have 128 KiB, and a character four bytes. */
const LONGEST_TASK = 30_000;

/** undefined: it is none. */
export function startArguments(body: string): readonly string[] | undefined {
  const { kind, text, worktree } = parseObject(body) ?? {};
  if (kind === 'prd') return ['prd', 'run'];
  if (typeof text !== 'string' || text.trim() === '' || text.length > LONGEST_TASK || text.includes('\0'))
    return undefined;
  if (kind === 'run') return ['run', `--prompt=${text}`];
  return kind === 'loop' ? ['loop', ...(worktree === true ? ['--worktree'] : []), '--', text] : undefined;
}

/** With more of what had run out. */
export function resumeArguments(runId: string, raise: Raise | null): readonly string[] {
  return ['resume', runId, ...(raise ? [`--${raise.flag}`, String(raise.to)] : [])];
}
