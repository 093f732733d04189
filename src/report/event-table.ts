/** A reader of events as a table: a row for each kind, so that the compiler names every reader that a new kind needs. */
import { BOARD_EVENTS, type BoardEvent } from '../domain/lanes/board-event.ts';
import { LEDGER_ONLY, type RunEvent } from '../domain/run/event.ts';

import { sameFor } from '../domain/text/fields.ts';

export type Of<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;

/** null: no news for this reader. */
export type EventTable<Args extends readonly unknown[], Result> = {
  readonly [Type in RunEvent['type']]: ((event: Of<Type>, ...args: Args) => Result) | null;
};

/** What happens on the board of a parallel run. */
export const BOARD = Object.keys(BOARD_EVENTS) as readonly BoardEvent['type'][];

/** What was done at the forge, or said there. */
export const FORGE = ['forge', 'forge-round', 'forge-noted', 'forge-ended', 'forge-said'] as const;

/** For those who do not show the board, and what is no news for readers. */
export const NO_BOARD = sameFor(null, ...BOARD);
export const NO_NEWS = sameFor(null, ...LEDGER_ONLY);

export function lookUp<Args extends readonly unknown[], Result>(
  table: Partial<EventTable<Args, Result>>,
  event: RunEvent,
  ...args: Args
): Result | undefined {
  const read = table[event.type] as ((event: RunEvent, ...args: Args) => Result) | null | undefined;
  return read?.(event, ...args);
}
