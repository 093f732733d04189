/** How a run is steered from outside: the terminal and the dashboard send the same messages. */
import { type Message, readMessages, sendMessage } from './inbox.ts';
import { overviewOf } from './overview.ts';
import type { RunPaths } from './paths.ts';
import type { LiveRun } from './run-file.ts';

export interface Steered {
  /** One sentence for people. */
  readonly message: string;
  /** Whether it changed anything. */
  readonly done: boolean;
}

export function steerRun({ id, paths }: Pick<LiveRun, 'id' | 'paths'>, order: Message, now: number): Steered {
  const isPaused = pauseIsPending(paths) || overviewOf(id, paths).state === 'paused';
  if (order.kind === 'pause' && isPaused) return { message: `${id} is already paused.`, done: false };
  if (order.kind === 'continue' && !isPaused) return { message: `${id} is not paused.`, done: false };
  sendMessage(paths, order, now);
  return { message: confirmation(id, order), done: true };
}

function confirmation(id: string, order: Message): string {
  switch (order.kind) {
    case 'pause':
      return `${id} will pause after this turn. Continue it with: ralph continue ${id}`;
    case 'continue':
      return `${id} continues.`;
    case 'cancel':
      return `${id} stops ${order.gently ? 'after this step' : 'now'}. Its work is kept.`;
    case 'tell':
      return `Queued for the next iteration of ${id}.`;
    default:
      return order satisfies never;
  }
}

/** The run has been asked to pause and is still in its turn. */
export function pauseIsPending(paths: Pick<RunPaths, 'state'>): boolean {
  const last = readMessages(paths).findLast(({ kind }) => kind === 'pause' || kind === 'continue');
  return last?.kind === 'pause';
}
