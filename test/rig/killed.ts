/** Ralph is killed at a request that it sends to the forge; the same command is then started until it ends well. */
import type { Fake } from './forge.ts';
import { type RalphOptions, startRalph } from './ralph.ts';

/** `before` the forge does what it is asked, or `after` it and before it says so. */
export type Kill = readonly [nth: number, when: 'before' | 'after'];

/** Once for the kill, and as often again as it may take to finish. */
const MOST_STARTS = 4;

export async function killedAt(
  { state }: Fake,
  [nth, when]: Kill,
  args: readonly string[],
  options: RalphOptions,
) {
  const start = () => startRalph(args, options);
  const at = state.requests.length + nth;
  let running = start();
  const kill = async (count: number) => {
    if (count !== at) return;
    running.process.kill('SIGKILL');
    await running.finished;
  };
  if (when === 'before') state.arrives = kill;
  else state.done = kill;
  let ended = await running.finished;
  for (let starts = 1; starts < MOST_STARTS && ended.code !== 0; starts++) {
    running = start();
    ended = await running.finished;
  }
  return ended;
}
