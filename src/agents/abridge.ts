/**
 * A line of JSON in passing: each long string in it is shortened to its beginning and its end while the bytes go by, so that
 * a tool's output of megabytes is neither held nor parsed. All the rest stays as it is, whatever its order and its spacing.
 */
import { isAscii } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { type ByteStore, createByteStore } from '../platform/byte-store.ts';

export interface Abridger {
  /** More of the line; the bytes are lent. */
  push(bytes: Buffer, from: number, to: number): void;
  /** The line, abridged; undefined when even so it was too long to be held. The next one can begin. */
  end(): string | undefined;
}

/** Characters. More than anybody looks at in a string that may be cut. */
const HEAD = 4_096;
/** Bytes. At least this much of the end is kept, for what some agents write there. */
const RUN = 1_024;
const MAX_BYTES = 16 * 1024 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;
const LETTER_U = 0x75;

/** Stands where something was left out, with the characters and the line ends that it had. Nobody outside can know it. */
const MARK = randomBytes(8).toString('hex');
const LEFT_OUT = new RegExp(`\\[${MARK} (\\d+) (\\d+)\\]`, 'g');

/** A text that may have been abridged, without the mark, and what was left out of it. */
export function abridged(text: string): {
  readonly text: string;
  readonly chars: number;
  readonly newlines: number;
} {
  let chars = 0;
  let newlines = 0;
  const rest = text.replace(LEFT_OUT, (_, someChars, someNewlines) => {
    chars += Number(someChars);
    newlines += Number(someNewlines);
    return '';
  });
  return { text: rest, chars, newlines };
}

export function createAbridger(): Abridger {
  const kept = createKept();
  const walker = createWalker();
  const runs = createRuns();
  let inside: 'structure' | 'head' | 'rest' = 'structure';
  let headLeft = HEAD;
  /** From here on the bytes at hand are to be kept. */
  let keepFrom = 0;

  const structure = (bytes: Buffer, from: number, to: number): number => {
    const quote = placeOf(QUOTE, bytes, from);
    if (quote >= to) return to;
    inside = 'head';
    headLeft = HEAD;
    return quote + 1;
  };
  const head = (bytes: Buffer, from: number, to: number): number => {
    const end = walker.walk(bytes, from, to, Math.max(headLeft, 0));
    if (end < to && bytes[end] === QUOTE) return close(end);
    headLeft -= walker.chars(bytes, from, end);
    if (end === to || headLeft > 0) return end;
    kept.push(bytes, keepFrom, end);
    inside = 'rest';
    return end;
  };
  const rest = (bytes: Buffer, from: number, to: number): number => {
    const end = walker.walk(bytes, from, to, Math.max(RUN - runs.bytes(), 0));
    runs.add(bytes, from, end, { chars: walker.chars(bytes, from, end), newlines: walker.newlines() });
    if (end === to) return end;
    if (bytes[end] !== QUOTE) {
      runs.next();
      return skip(bytes, end, walker.plainUntil(bytes, end, to));
    }
    runs.finish(kept);
    keepFrom = end;
    return close(end);
  };
  /** Most of a long string has nothing in it that must be looked at. */
  const skip = (bytes: Buffer, from: number, to: number): number => {
    if (to - from <= 2 * RUN) return from;
    let last = to - RUN;
    while (isContinuation(bytes[last])) last--;
    runs.skip(charsIn(bytes, from, last));
    runs.add(bytes, last, to, { chars: charsIn(bytes, last, to), newlines: 0 });
    return to;
  };
  const close = (quote: number): number => {
    inside = 'structure';
    return quote + 1;
  };

  return {
    push(bytes, from, to) {
      walker.begin();
      keepFrom = from;
      for (let at = from; at < to; ) {
        if (inside === 'structure') at = structure(bytes, at, to);
        else at = inside === 'head' ? head(bytes, at, to) : rest(bytes, at, to);
      }
      if (inside !== 'rest') kept.push(bytes, keepFrom, to);
    },
    end() {
      runs.finish(kept);
      inside = 'structure';
      walker.reset();
      return kept.take();
    },
  };
}

/**
 * Goes through a string from escape to escape and knows where a character begins. It leaves the search to the buffer,
 * which is faster at it than a loop in here.
 */
function createWalker() {
  /** What is still to come of an escape that the last piece ended in. */
  let pending = 0;
  let quote = -1;
  let backslash = -1;
  /** Of the last walk. */
  let newlines = 0;
  let escaped = 0;

  /** Where the bytes end that stand for themselves. */
  const plainUntil = (bytes: Buffer, from: number, to: number): number => {
    if (backslash < from) backslash = placeOf(BACKSLASH, bytes, from);
    if (quote < from) quote = placeOf(QUOTE, bytes, from);
    return Math.min(to, quote, backslash);
  };

  return {
    plainUntil,
    /** Other bytes than before. */
    begin(): void {
      quote = -1;
      backslash = -1;
    },
    reset(): void {
      pending = 0;
    },
    newlines: () => newlines,
    /** An escape is one of them. */
    chars: (bytes: Buffer, from: number, to: number) => charsIn(bytes, from, to) - escaped,
    /** Stops at the quote that ends the string, and at the first character after `most` bytes. */
    walk(bytes: Buffer, from: number, to: number, most: number): number {
      newlines = 0;
      escaped = 0;
      let at = from;
      for (;;) {
        if (pending > 0) {
          if (at === to) break;
          if (pending === LETTER_NEXT) {
            if (bytes[at] === LETTER_N) newlines++;
            pending = bytes[at] === LETTER_U ? DIGITS_NEXT : 0;
            at++;
            escaped++;
            continue;
          }
          const digits = Math.min(pending, to - at);
          pending -= digits;
          escaped += digits;
          at += digits;
          continue;
        }
        const plain = plainUntil(bytes, at, to);
        if (plain - from >= most) {
          at = Math.max(at, from + most);
          while (at < plain && isContinuation(bytes[at])) at++;
          if (at < plain || plain === to || bytes[plain] === BACKSLASH) break;
        }
        at = plain;
        if (at === to || bytes[at] === QUOTE) break;
        pending = LETTER_NEXT;
        at++;
      }
      return at;
    },
  };
}

const LETTER_NEXT = 5;
const DIGITS_NEXT = 4;

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Characters as JavaScript counts them. */
function charsIn(bytes: Buffer, from: number, to: number): number {
  if (isAscii(bytes.subarray(from, to))) return to - from;
  let chars = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if (!isContinuation(byte)) chars += byte >= 0xf0 ? 2 : 1;
  }
  return chars;
}

function placeOf(byte: number, bytes: Buffer, from: number): number {
  const place = bytes.indexOf(byte, from);
  return place === -1 ? bytes.length : place;
}

interface Counts {
  readonly chars: number;
  readonly newlines: number;
}

/** What comes after the head of a string, in runs of whole characters: the last two are its end, the others are left out. */
function createRuns() {
  let before = createRun();
  let current = createRun();
  let chars = 0;
  let newlines = 0;
  const leaveOut = (run: Run) => {
    chars += run.chars;
    newlines += run.newlines;
    empty(run);
  };
  return {
    /** Of the current one. */
    bytes: () => current.bytes.length(),
    add(bytes: Buffer, from: number, to: number, more: Counts): void {
      current.bytes.push(bytes, from, to);
      current.chars += more.chars;
      current.newlines += more.newlines;
    },
    next(): void {
      leaveOut(before);
      [before, current] = [current, before];
    },
    /** All so far is left out, and so many characters more. */
    skip(more: number): void {
      leaveOut(before);
      leaveOut(current);
      chars += more;
    },
    /** The string is over. */
    finish(kept: Kept): void {
      if (chars > 0) kept.write(`[${MARK} ${chars} ${newlines}]`);
      chars = 0;
      newlines = 0;
      for (const run of [before, current]) {
        run.bytes.passOn(kept);
        empty(run);
      }
    },
  };
}

interface Run {
  readonly bytes: ByteStore;
  chars: number;
  newlines: number;
}

const createRun = (): Run => ({ bytes: createByteStore(), chars: 0, newlines: 0 });

function empty(run: Run): void {
  run.bytes.clear();
  run.chars = 0;
  run.newlines = 0;
}

interface Kept {
  push(bytes: Buffer, from: number, to: number): void;
  write(text: string): void;
  take(): string | undefined;
}

function createKept(): Kept {
  const store = createByteStore();
  let isTooLong = false;
  const push = (bytes: Buffer, from: number, to: number) => {
    isTooLong ||= store.length() + to - from > MAX_BYTES;
    if (!isTooLong) store.push(bytes, from, to);
  };
  return {
    push,
    write: text => push(Buffer.from(text), 0, text.length),
    take() {
      const text = isTooLong ? undefined : store.text();
      store.clear();
      isTooLong = false;
      return text;
    },
  };
}
