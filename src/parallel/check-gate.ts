/** Checks of several lanes run side by side; one that must not be disturbed by them runs alone: those that have begun end first, others wait for it. */
import type { CheckGate } from '../run/turns/context.ts';

export interface AloneGate extends CheckGate {
  /** How many rounds run now, and how many have ever begun. */
  running(): number;
  begun(): number;
  alone<Result>(round: () => Promise<Result>): Promise<Result>;
}

export function createCheckGate(): AloneGate {
  let running = 0;
  let begun = 0;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  let isEmpty = () => {};
  const leave = () => {
    running--;
    if (running === 0) isEmpty();
  };
  const empty = () =>
    new Promise<void>(resolve => {
      isEmpty = resolve;
      if (running === 0) resolve();
    });
  return {
    running: () => running,
    begun: () => begun,
    async beside(round) {
      while (isClosed) await last;
      running++;
      begun++;
      try {
        return await round();
      } finally {
        leave();
      }
    },
    async alone(round) {
      while (isClosed) await last;
      isClosed = true;
      const done = empty()
        .then(round)
        .finally(() => {
          isClosed = false;
        });
      last = done.catch(() => {});
      return done;
    },
  };
}
