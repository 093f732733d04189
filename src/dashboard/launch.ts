/**
 * What a page may start: a run with the settings of its project, or one that has stopped once more. Of its own it names a task, further
 * checks, one of the agents that are offered, and a limit; no text of it is ever read as a flag. A check is a command: whoever may start a
 * run may name one, with the same token in the header.
 */

import { parentOf } from '../domain/lanes/board.ts';
import type { Raise } from '../domain/run/resume-command.ts';
import { parseObject } from '../domain/text/json.ts';
import type { RunView } from '../report/run-view.ts';

/** Starts `ralph` with these arguments in the project, so that it outlives the dashboard. */
export type Launch = (root: string, args: readonly string[]) => Promise<Launched>;

export interface Launched {
  /** One sentence for people. */
  readonly message: string;
  readonly done: boolean;
  /** The run that was started, or resumed. */
  readonly runId?: string;
}

/** What the form of a project begins with, and may choose from. */
export interface Offers {
  /** The agents that are installed, and those that the settings name. */
  readonly agents: readonly string[];
  /** The one of the settings; null: the first that is installed. */
  readonly agent: string | null;
  /** Those of the settings: they always count. */
  readonly checks: readonly string[];
  readonly maxIterations: Readonly<Record<'loop' | 'run' | 'prd', number>>;
}

/** An argument may have 128 KiB, and a character four bytes. */
const LONGEST_TASK = 30_000;

/** undefined: it is none, or it chooses what was not offered. */
export function startArguments(
  body: string,
  { agents }: Pick<Offers, 'agents'>,
): readonly string[] | undefined {
  const asked = parseObject(body) ?? {};
  const { kind, text, worktree } = asked;
  const chosen = chosenFlags(asked, agents);
  if (!chosen) return undefined;
  if (kind === 'prd') return ['prd', 'run', ...chosen];
  if (!isText(text, LONGEST_TASK)) return undefined;
  if (kind === 'run') return ['run', `--prompt=${text}`, ...chosen];
  if (kind !== 'loop') return undefined;
  return ['loop', ...(worktree === true ? ['--worktree'] : []), ...chosen, '--', text];
}

const [MOST_CHECKS, LONGEST_CHECK] = [20, 2_000];

/** Each in one word with its flag: what it holds cannot be another one. */
function chosenFlags(
  { agent, checks = [], maxIterations }: Readonly<Record<string, unknown>>,
  agents: readonly string[],
): readonly string[] | undefined {
  if (agent !== undefined && !agents.some(each => each === agent)) return undefined;
  if (!Array.isArray(checks) || checks.length > MOST_CHECKS) return undefined;
  if (!checks.every(each => isText(each, LONGEST_CHECK) && !/[\r\n]/.test(each))) return undefined;
  if (maxIterations !== undefined && !(Number.isSafeInteger(maxIterations) && Number(maxIterations) > 0))
    return undefined;
  return [
    ...(agent === undefined ? [] : [`--agent=${agent}`]),
    ...checks.map(each => `--check=${each}`),
    ...(maxIterations === undefined ? [] : [`--max-iterations=${maxIterations}`]),
  ];
}

function isText(value: unknown, longest: number): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= longest && !value.includes('\0');
}

/** With more of what had run out. */
export function resumeArguments(runId: string, raise: Raise | null): readonly string[] {
  return ['resume', runId, ...(raise ? [`--${raise.flag}`, String(raise.to)] : [])];
}

/** From the files of one of its iterations; undefined: there is none of that number, or it is no run of one task. */
export function forkArguments(
  { runId, command, board, iterations }: RunView,
  body: string | undefined,
): readonly string[] | undefined {
  const { at } = parseObject(body ?? '') ?? {};
  if (command !== 'loop' || board || parentOf(runId) !== undefined) return undefined;
  if (!iterations.some(({ number }) => number === at)) return undefined;
  return ['fork', runId, '--at', String(at)];
}
