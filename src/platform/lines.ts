/** Cuts a byte stream into lines of any length without holding the stream in memory. */
import { createByteStore } from './byte-store.ts';

export interface LineSink {
  /** A whole line, without its line end. Bytes that are not UTF-8 become U+FFFD. */
  line(text: string): void;
  /** Asked once for each line, with its first bytes, one character each: who takes it as it goes by. Nobody: it is held until it is whole. */
  passing?(head: string): Passing | undefined;
  /** A line of which more would have had to be held than may be. */
  tooLong?(head: string, bytes: number): void;
}

/** Takes the bytes of one line as they come, without its line end. */
export interface Passing {
  /** The bytes are lent: what is kept must be copied. */
  push(bytes: Buffer, from: number, to: number): void;
  end(): void;
}

export interface LineSplitter {
  /** The chunk is lent. */
  push(chunk: Buffer): void;
  /** The stream has ended; a last line without a line end is delivered. */
  end(): void;
}

export interface LineLimits {
  /** More than this of one line is never held. */
  readonly maxBytes: number;
}

const LIMITS: LineLimits = { maxBytes: 128 * 1024 * 1024 };
/** A line is told by this much of its beginning, or by all of it. */
const HEAD = 256;
/** What is told of a line that is too long. */
const LONG_HEAD = 64 * 1024;

const LF = 10;
const CR = 13;

export function createLineSplitter(sink: LineSink, { maxBytes }: LineLimits = LIMITS): LineSplitter {
  const held = createByteStore();
  /** Of the line so far. */
  let length = 0;
  let passing: Passing | undefined;
  let asked = sink.passing === undefined;

  /** Asks as soon as enough of the line is there. */
  const ask = (chunk: Buffer, from: number, to: number, isLast: boolean) => {
    if (!isLast && length + to - from < HEAD) return;
    asked = true;
    passing = sink.passing?.(
      held.latin1() + chunk.toString('latin1', from, Math.min(to, from + HEAD - length)),
    );
    if (!passing) return;
    held.passOn(passing);
    held.clear();
  };
  const add = (chunk: Buffer, from: number, to: number) => {
    length += to - from;
    if (passing) passing.push(chunk, from, to);
    else if (length <= maxBytes) held.push(chunk, from, to);
  };
  const finish = () => {
    if (passing) passing.end();
    else if (length > maxBytes) sink.tooLong?.(held.text(LONG_HEAD), length);
    else sink.line(withoutReturn(held.text()));
    held.clear();
    length = 0;
    passing = undefined;
    asked = sink.passing === undefined;
  };
  const piece = (chunk: Buffer, from: number, to: number, isLast: boolean) => {
    if (!asked) ask(chunk, from, to, isLast);
    if (isLast && length === 0 && !passing && to - from <= maxBytes) {
      asked = sink.passing === undefined;
      return sink.line(decode(chunk, from, to));
    }
    add(chunk, from, to);
    if (isLast) finish();
  };

  return {
    push(chunk) {
      for (let from = 0; from < chunk.length; ) {
        const newline = chunk.indexOf(LF, from);
        const to = newline === -1 ? chunk.length : newline;
        piece(chunk, from, to, newline !== -1);
        from = to + 1;
      }
    },
    end() {
      if (length > 0) piece(NOTHING, 0, 0, true);
    },
  };
}

const NOTHING = Buffer.alloc(0);

function decode(bytes: Buffer, from: number, to: number): string {
  return bytes.toString('utf8', from, to > from && bytes[to - 1] === CR ? to - 1 : to);
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
