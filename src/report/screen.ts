/** Lines that stay, above one live line that does not. Every change is one write, so nothing flickers. */
import { displayWidth } from '../platform/text.ts';

export interface Screen {
  /** Writes the lines at once. The live line follows when it is due. */
  update(lines: readonly string[]): void;
  /** Takes the live line away for good; lines can still be written. */
  close(): void;
}

export interface LiveScreenOptions {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** What the live line should say now; empty for none. */
  readonly line: () => string;
  /** Calls back once, later. Returns a function that cancels it. */
  readonly later: (ms: number, run: () => void) => () => void;
}

/** A log, a pipe: lines and nothing else. */
export function createPlainScreen(write: (text: string) => void): Screen {
  return {
    update(lines) {
      if (lines.length > 0) write(joined(lines));
    },
    close() {},
  };
}

const REDRAW_MS = 50;
const TICK_MS = 1_000;

export function createLiveScreen({ write, columns, clock, line, later }: LiveScreenOptions): Screen {
  let shown = '';
  let drawnAt = Number.NEGATIVE_INFINITY;
  let wakeAt = Number.POSITIVE_INFINITY;
  let cancel = () => {};
  let closed = false;

  const wake = (ms: number, now: number) => {
    if (wakeAt <= now + ms) return;
    cancel();
    wakeAt = now + ms;
    cancel = later(ms, () => {
      wakeAt = Number.POSITIVE_INFINITY;
      update([]);
    });
  };

  const update = (lines: readonly string[]) => {
    if (closed) return lines.length > 0 ? write(joined(lines)) : undefined;
    const now = clock();
    const due = Math.abs(now - drawnAt) >= REDRAW_MS;
    if (due) drawnAt = now;
    const next = due ? line() : lines.length > 0 ? '' : shown;
    if (lines.length > 0 || next !== shown) {
      write(erase(shown, columns()) + joined(lines) + draw(next));
      shown = next;
    }
    wake(due ? TICK_MS : REDRAW_MS, now);
  };

  return {
    update,
    close() {
      if (closed) return;
      closed = true;
      cancel();
      if (shown !== '') write(erase(shown, columns()));
    },
  };
}

function joined(lines: readonly string[]): string {
  return lines.map(line => `${line}\n`).join('');
}

/** A terminal that became narrower has broken the line into rows: the cursor is on the last one. */
function erase(shown: string, columns: number): string {
  if (shown === '') return '';
  const rows = Math.ceil(displayWidth(shown) / Math.max(1, columns));
  return `\r${rows > 1 ? `\x1b[${rows - 1}A` : ''}\x1b[J`;
}

/** Without automatic line breaks: terminals disagree about the width of some characters. */
function draw(line: string): string {
  return line === '' ? '' : `\x1b[?7l${line}\x1b[?7h`;
}
