/** `--events`: one JSON event a line, each with its time. */
import type { Emit } from '../domain/event.ts';

/** `clock`: milliseconds since 1970. */
export function createJsonWriter(write: (line: string) => void, clock: () => number): Emit {
  return event => write(`${JSON.stringify({ at: new Date(clock()).toISOString(), ...event })}\n`);
}
