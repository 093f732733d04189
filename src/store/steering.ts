/** Orders to a run from outside: the terminal and the dashboard give the same ones. Each leaves a note that the run looks for. */
import { existsSync, rmSync } from 'node:fs';
import { writePrivate } from '../platform/files.ts';
import { addHint } from './hints.ts';
import { CANCEL_NOW, type LiveRun } from './run-file.ts';

export type Order =
  | { readonly kind: 'pause' }
  | { readonly kind: 'continue' }
  /** `gently`: the step that it is in may finish. */
  | { readonly kind: 'cancel'; readonly gently: boolean }
  | { readonly kind: 'tell'; readonly hint: string };

export interface Steered {
  /** One sentence for people. */
  readonly message: string;
  /** Whether it changed anything. */
  readonly done: boolean;
}

/** More than anybody says in passing; a longer text belongs into a file of the project. */
export const LONGEST_HINT = 100_000;

export function giveOrder({ id, paths, file }: LiveRun, order: Order, now: number): Steered {
  switch (order.kind) {
    case 'pause':
      if (existsSync(paths.paused)) return { message: `${id} is paused already.`, done: false };
      writePrivate(paths.paused, '');
      return {
        message: `${id} pauses when the turn it is in has ended. \`ralph continue\` goes on.`,
        done: true,
      };
    case 'continue':
      if (!existsSync(paths.paused)) return { message: `${id} is not paused.`, done: false };
      rmSync(paths.paused, { force: true });
      return { message: `${id} goes on.`, done: true };
    case 'cancel': {
      // The note comes first: the run looks for it when the signal arrives.
      writePrivate(paths.cancelled, order.gently ? 'gently' : CANCEL_NOW);
      process.kill(file.process.pid, 'SIGTERM');
      const how = order.gently ? 'ending after the step it is in' : 'being ended';
      return { message: `${id} is ${how}; its work is kept.`, done: true };
    }
    case 'tell':
      addHint(paths, order.hint, now);
      return { message: `${id} tells it to the agent in its next iteration.`, done: true };
    default:
      return order satisfies never;
  }
}
