/** The time of a run on its own clock, also over several parts of it. */
import type { RunState } from '../domain/run/state.ts';
import { type Clock, secondsSince } from '../platform/clock.ts';

export interface Meter {
  /** The first event of this part is on the ledger: what is measured must not be more than what the ledger will say of it later. */
  begin(): void;
  /** Seconds since the run began, pauses and the time between its parts left out: what limits count. */
  elapsed(): number;
  /** The same with the pauses of this part. */
  duration(): number;
  /** Seconds in which the user had it paused. */
  pause(seconds: number): void;
}

export function createMeter(clock: Clock, { time }: RunState): Meter {
  const start = () => clock.ticks() - time.elapsed * 1000;
  let began = start();
  let paused = 0;
  return {
    begin() {
      began = start();
    },
    elapsed: () => secondsSince(clock, began) - paused,
    duration: () => secondsSince(clock, began),
    pause(seconds) {
      paused += seconds;
    },
  };
}
