/** A reader of events as a table: a row for each kind, so that the compiler names every reader that a new kind needs. */
import { BOARD_EVENTS, type BoardEvent } from '../domain/lanes/board-event.ts';
import type { LedgerOnly, RunEvent } from '../domain/run/event.ts';

export type Of<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;

/** null: no news for this reader. */
export type EventTable<Args extends readonly unknown[], Result> = {
  readonly [Type in RunEvent['type']]: ((event: Of<Type>, ...args: Args) => Result) | null;
};

/** What happens on the board of a parallel run, for those who do not show it. */
export const BOARD_ONLY = forBoard(null);

/** The same for each of them. */
export function forBoard<Reader>(read: Reader): Readonly<Record<BoardEvent['type'], Reader>> {
  const rows = Object.keys(BOARD_EVENTS).map(type => [type, read]);
  return Object.fromEntries(rows) as Record<BoardEvent['type'], Reader>;
}

/** What is written down only so that a run can be resumed or judged again. */
export const LEDGER_ONLY: Readonly<Record<LedgerOnly['type'], null>> = {
  prepared: null,
  'turn-ended': null,
  tampered: null,
  judged: null,
  'scm-started': null,
  'restore-started': null,
  'forge-started': null,
};

export function lookUp<Args extends readonly unknown[], Result>(
  table: Partial<EventTable<Args, Result>>,
  event: RunEvent,
  ...args: Args
): Result | undefined {
  const read = table[event.type] as ((event: RunEvent, ...args: Args) => Result) | null | undefined;
  return read?.(event, ...args);
}
