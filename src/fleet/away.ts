/** A database or a remote that is away comes back: until then whoever needs it stands still. */
import { pause } from '../run/wait.ts';
import type { Database } from './database.ts';

export interface Patience {
  /** Why it waits; undefined: it does not any more. What it throws ends the wait. */
  troubled(error: unknown): void;
  /** It is tried once more at most. */
  readonly abort: AbortSignal;
}

/** Milliseconds between two tries, growing. */
const FIRST_WAIT = 250;
const LONGEST_WAIT = 5_000;

/** Tries again until it works. undefined: nobody waits for it any longer. */
export async function untilDone<Value>(
  action: () => Promise<Value>,
  { troubled, abort }: Patience,
): Promise<Value | undefined> {
  for (let wait = FIRST_WAIT; ; wait = Math.min(LONGEST_WAIT, wait * 2)) {
    try {
      const value = await action();
      troubled(undefined);
      return value;
    } catch (error) {
      troubled(error);
      if (abort.aborted) return undefined;
      await pause(wait, abort);
    }
  }
}

/** Waits for a database alone: of any other error it does not help to wait. */
export function untilAnswered<Value>(
  { problemOf }: Pick<Database, 'problemOf'>,
  action: () => Promise<Value>,
  { troubled, abort }: Patience,
): Promise<Value | undefined> {
  const orThrow = (error: unknown) => {
    if (error !== undefined && problemOf(error) === undefined) throw error;
    troubled(error);
  };
  return untilDone(action, { troubled: orThrow, abort });
}
