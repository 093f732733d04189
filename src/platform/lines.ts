/** Cuts a byte stream into lines, and keeps a line of any length in bounded memory if the sink can shorten it. */

export interface LineSink {
  /** A line without its line end. Bytes that are not UTF-8 become U+FFFD. */
  line(text: string): void;
  /** Called when the unfinished line has grown long: returns what to hold of it instead. */
  shorten?(held: Buffer): Buffer;
}

export interface LineSplitter {
  /** The caller may reuse the chunk afterwards: an unfinished line is copied. */
  push(chunk: Buffer): void;
  /** The stream has ended; a last line without a line end is delivered. */
  end(): void;
}

/** Bytes. From here on a line is shortened, and again each time it has doubled. */
export const LONG_LINE = 1024 * 1024;

const LF = 10;
const CR = 13;

export function createLineSplitter({ line, shorten }: LineSink): LineSplitter {
  let pieces: Buffer[] = [];
  let length = 0;
  let limit = LONG_LINE;

  const hold = (bytes: Buffer) => {
    pieces.push(Buffer.from(bytes));
    length += bytes.length;
    if (!shorten || length <= limit) return;
    const shorter = shorten(Buffer.concat(pieces, length));
    pieces = [shorter];
    length = shorter.length;
    limit = Math.max(LONG_LINE, 2 * length);
  };
  const finish = () => {
    const whole = Buffer.concat(pieces, length);
    pieces = [];
    length = 0;
    limit = LONG_LINE;
    line(decode(whole));
  };

  return {
    push(chunk) {
      let from = 0;
      for (let to = chunk.indexOf(LF); to !== -1; to = chunk.indexOf(LF, from)) {
        const bytes = chunk.subarray(from, to);
        from = to + 1;
        if (pieces.length === 0) line(decode(bytes));
        else {
          hold(bytes);
          finish();
        }
      }
      if (from < chunk.length) hold(chunk.subarray(from));
    },
    end() {
      if (pieces.length > 0) finish();
    },
  };
}

function decode(bytes: Buffer): string {
  return bytes.toString('utf8', 0, bytes.at(-1) === CR ? bytes.length - 1 : bytes.length);
}
