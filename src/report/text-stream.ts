/** The agent's words as they stream in, handed on as whole rows: a log never holds half a line, a screen never jumps. */
import { harmless, wrap } from '../platform/text.ts';

export interface TextStream {
  /** More words. Gives the rows that are full; the rest waits. */
  add(text: string): readonly string[];
  /** What waited, when no more words follow. */
  end(): readonly string[];
}

/** Invisible characters fill no row; past this many for a column they are passed on anyway. */
const UNITS_PER_COLUMN = 16;

export function createTextStream(width: () => number): TextStream {
  let waiting = '';

  return {
    add(text) {
      waiting += text;
      if (!text.includes('\n') && waiting.length <= width()) return [];
      // Cleaned as a whole, so that an escape sequence which came in two pieces is still seen as one.
      const rows = wrap(harmless(waiting), width());
      const rest = rows.at(-1) ?? '';
      const isOverlong = rest.length > width() * UNITS_PER_COLUMN;
      waiting = isOverlong ? '' : rest;
      return (isOverlong ? rows : rows.slice(0, -1)).map(row => row.trimEnd());
    },
    end() {
      const rows = waiting.trim() === '' ? [] : wrap(harmless(waiting).trimEnd(), width());
      waiting = '';
      return rows;
    },
  };
}
