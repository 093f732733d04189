/** Ralph is killed at a request that it sends to the forge; the same command is then started until it ends well. */
import { expect } from 'vitest';
import type { Fake } from './forge.ts';
import { type RalphOptions, startRalph } from './ralph.ts';

/** At which step, a request that does not repeat itself or a push, or at which of those that are `what`: `before` the forge does what it is asked, which it then never does, or `after` it and before it says so. */
export type Kill = readonly [nth: number, when: 'before' | 'after', what?: string | undefined];

/** Once for the kill, and as often again as it may take to finish. */
const MOST_STARTS = 4;

export async function killedAt(
  { state, seePushes }: Fake,
  [nth, when, wanted]: Kill,
  args: readonly string[],
  options: RalphOptions,
) {
  seePushes();
  const start = () => startRalph(args, options);
  const at = state.steps + nth;
  let running = start();
  let isKilled = false;
  let met = 0;
  const kill = async (count: number, what: string) => {
    if (what === wanted) met++;
    if (isKilled || (wanted === undefined ? state.steps < at : met < nth)) return;
    isKilled = true;
    if (when === 'before') state.faults.set(count, { close: true });
    running.process.kill('SIGKILL');
    await running.finished;
  };
  if (when === 'before') state.arrives = kill;
  else state.done = kill;
  let ended = await running.finished;
  const second = secondNow();
  // What a later start makes anew is another commit.
  await expect.poll(secondNow, { interval: 20 }).not.toBe(second);
  for (let starts = 1; starts < MOST_STARTS && ended.code !== 0; starts++) {
    running = start();
    ended = await running.finished;
  }
  if (!isKilled) throw new Error(`it was over after ${state.steps - at + nth} requests`);
  return ended;
}

/** As git has it in a commit. */
const secondNow = () => Math.floor(Date.now() / 1_000);
