/** Timers of any length. Node's own fire after a millisecond when they are given more than 2,147,483,647 of them. */
import { systemClock } from './clock.ts';

export interface Timer {
  /** Starts to count anew. Cheap: it is called for every chunk that a child prints. */
  refresh(): void;
  clear(): void;
}

/** Milliseconds, well below what Node takes. */
const LONGEST = 2 ** 30;

/**
 * Acts once, `ms` after the last `refresh`, by the steady clock; `late` says by how many milliseconds it is late. What has arrived by
 * then is read first: a Ralph that was stopped for a while finds a timer that is due together with the news that makes it pointless.
 */
export function startTimer(ms: number, act: (late: number) => void): Timer {
  let due = systemClock.ticks() + ms;
  let timer: NodeJS.Timeout;
  let reading: NodeJS.Immediate | undefined;
  const left = () => due - systemClock.ticks();
  const arm = () => {
    timer = setTimeout(ring, Math.min(Math.max(0, Math.ceil(left())), LONGEST));
  };
  const ring = () => {
    const late = -left();
    // An immediate comes after everything that can be read has been read.
    reading = setImmediate(() => (left() > 0 ? arm() : act(Math.max(0, late))));
  };
  arm();
  return {
    refresh() {
      due = systemClock.ticks() + ms;
    },
    clear() {
      clearTimeout(timer);
      clearImmediate(reading);
    },
  };
}
