/** `--events`: one JSON event a line, each with its time. */
import type { Emit } from '../domain/event.ts';

export interface JsonWriterOptions {
  readonly write: (line: string) => void;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export function createJsonWriter({ write, clock }: JsonWriterOptions): Emit {
  return event => write(`${JSON.stringify({ at: new Date(clock()).toISOString(), ...event })}\n`);
}
