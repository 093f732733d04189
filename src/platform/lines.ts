/** Cuts a byte stream into lines of any length without holding the stream in memory. */

export interface LineSink {
  /** A whole line, without its line end. Bytes that are not UTF-8 become U+FFFD. */
  line(text: string): void;
  /** Asked once when a line grows long, with its head: true means that its body is not wanted. */
  isSkippable?(head: string): boolean;
  /** A line whose body was dropped: skippable, or over `maxBytes`. */
  cut?(head: string, bytes: number): void;
}

export interface LineSplitter {
  push(chunk: Buffer): void;
  /** The stream has ended; a last line without a line end is delivered. */
  end(): void;
}

export interface LineLimits {
  /** From this length on a line counts as long; its head is this much. */
  readonly longBytes: number;
  /** More than this of one line is never held. */
  readonly maxBytes: number;
}

const LIMITS: LineLimits = { longBytes: 64 * 1024, maxBytes: 128 * 1024 * 1024 };

const LF = 10;
const CR = 13;

export function createLineSplitter(sink: LineSink, limits: LineLimits = LIMITS): LineSplitter {
  let parts: Buffer[] = [];
  let length = 0;
  let asked = false;
  let dropping = false;

  const grow = (piece: Buffer) => {
    length += piece.length;
    if (dropping) return;
    parts.push(piece);
    if (!asked && length > limits.longBytes) {
      asked = true;
      if (sink.isSkippable?.(head())) drop();
    }
    if (length > limits.maxBytes) drop();
  };
  const head = () => decode(join(parts).subarray(0, limits.longBytes));
  const drop = () => {
    // A copy, so that the big chunks behind the head can be freed.
    parts = [Buffer.from(join(parts).subarray(0, limits.longBytes))];
    dropping = true;
  };
  const finish = () => {
    const bytes = length;
    const line = parts.length === 1 ? (parts[0] as Buffer) : join(parts);
    const wasDropped = dropping;
    parts = [];
    length = 0;
    asked = false;
    dropping = false;
    if (wasDropped) sink.cut?.(decode(line), bytes);
    else sink.line(decode(line));
  };

  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
        if (length === 0 && at - from <= limits.longBytes) sink.line(decode(chunk.subarray(from, at)));
        else {
          grow(chunk.subarray(from, at));
          finish();
        }
        from = at + 1;
      }
      if (from < chunk.length) grow(chunk.subarray(from));
    },
    end() {
      if (length > 0) finish();
    },
  };
}

function join(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

function decode(bytes: Buffer): string {
  const end = bytes.length > 0 && bytes[bytes.length - 1] === CR ? bytes.length - 1 : bytes.length;
  return bytes.toString('utf8', 0, end);
}
