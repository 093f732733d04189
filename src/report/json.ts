/** `--events`: one JSON event a line, each with its time. */
import type { RecordedEvent } from '../domain/event.ts';

export function createJsonWriter(write: (line: string) => void): (event: RecordedEvent) => void {
  return ({ time, run, iteration, ...event }) => {
    const at = new Date(time).toISOString();
    write(`${JSON.stringify({ at, run, iteration, ...event })}\n`);
  };
}
