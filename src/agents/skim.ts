/**
 * Reads an agent's stream no more closely than it deserves: what cannot matter is not parsed, and a tool's output of megabytes
 * is never held. What an adapter does not know by its first bytes is read as a whole.
 */
import type { AgentEvent } from '../domain/agent-event.ts';
import { createByteStore } from '../platform/byte-store.ts';
import { createLineSplitter, type LineSplitter, type Passing } from '../platform/lines.ts';
import { createAbridger } from './abridge.ts';
import type { AgentAdapter } from './agent.ts';

export function createSkimmer(adapter: AgentAdapter, onEvent: (event: AgentEvent) => void): LineSplitter {
  const line = (text: string) => {
    if (text !== '') for (const event of adapter.read(text)) onEvent(event);
  };
  const tooLong = (bytes: number) =>
    onEvent({ kind: 'unknown', what: `a line of ${bytes} bytes, too long to be read` });
  const inPassing = abridging(line, tooLong);
  return createLineSplitter({
    line,
    passing(head) {
      switch (adapter.skim?.(head)) {
        case 'nothing':
          return LET_PASS;
        case 'abridged':
          return inPassing;
        default:
          return undefined;
      }
    },
    tooLong: (_, bytes) => tooLong(bytes),
  });
}

const LET_PASS: Passing = { push() {}, end() {} };

/** Shorter lines are read as they are: parsing them takes no longer than abridging them. */
const LONG = 64 * 1024;

function abridging(line: (text: string) => void, tooLong: (bytes: number) => void): Passing {
  const short = createByteStore();
  const abridger = createAbridger();
  let bytes = 0;
  return {
    push(chunk, from, to) {
      const wasShort = bytes <= LONG;
      bytes += to - from;
      if (bytes <= LONG) return short.push(chunk, from, to);
      if (wasShort) short.passOn(abridger);
      abridger.push(chunk, from, to);
    },
    end() {
      const text = bytes <= LONG ? short.text() : abridger.end();
      const length = bytes;
      short.clear();
      bytes = 0;
      if (text === undefined) tooLong(length);
      else line(text);
    },
  };
}
