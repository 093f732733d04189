/**
 * A line of JSON in passing: each long string in it is shortened to its beginning and its end while the bytes go by, so that
 * a tool's output of megabytes is neither held nor parsed. All the rest stays as it is, whatever its order and its spacing.
 */
import { isAscii } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { createByteStore } from '../platform/byte-store.ts';

export interface Abridger {
  /** More of the line; the bytes are lent. */
  push(bytes: Buffer, from: number, to: number): void;
  /** The line, abridged; undefined when even so it was too long to be held. The next one can begin. */
  end(): string | undefined;
}

/** Characters. As much as anybody looks at in a string that may be cut, and a little more. */
const HEAD = 4_096;
/** Bytes. So much of the end is kept, for what some agents write there. */
const END = 600;
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
  if (!text.includes(MARK)) return { text, chars: 0, newlines: 0 };
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
  const head = createHead();
  const rest = createRest();
  let inside: 'structure' | 'head' | 'rest' = 'structure';
  /** From here on the bytes at hand are kept. */
  let keepFrom = 0;

  /** Each goes on to where the next one begins. */
  const passStructure = (bytes: Buffer, from: number, to: number): number => {
    const quote = placeOf(QUOTE, bytes, from);
    if (quote >= to) return to;
    inside = 'head';
    head.begin();
    return quote + 1;
  };
  const passHead = (bytes: Buffer, from: number, to: number): number => {
    const end = head.walk(bytes, from, to);
    if (end === to) return to;
    inside = bytes[end] === QUOTE ? 'structure' : 'rest';
    if (inside === 'structure') return end + 1;
    kept.push(bytes, keepFrom, end);
    return end;
  };
  const passRest = (bytes: Buffer, from: number, to: number): number => {
    const end = rest.walk(bytes, from, to);
    if (end === to) return to;
    rest.finish(kept);
    keepFrom = end;
    inside = 'structure';
    return end + 1;
  };

  return {
    push(bytes, from, to) {
      keepFrom = from;
      for (let at = from; at < to; ) {
        if (inside === 'structure') at = passStructure(bytes, at, to);
        else at = inside === 'head' ? passHead(bytes, at, to) : passRest(bytes, at, to);
      }
      if (inside !== 'rest') kept.push(bytes, keepFrom, to);
    },
    end() {
      rest.finish(kept);
      inside = 'structure';
      return kept.take();
    },
  };
}

/** Finds the end of a string, or where it has been enough of it: never within a character or an escape. */
function createHead() {
  let left = HEAD;
  /** Bytes that still belong to an escape; five until its letter is known. */
  let pending = 0;
  return {
    begin(): void {
      left = HEAD;
      pending = 0;
    },
    walk(bytes: Buffer, from: number, to: number): number {
      for (let at = from; at < to; at++) {
        const byte = bytes[at] as number;
        if (pending > 0) {
          pending = pending < 5 ? pending - 1 : byte === LETTER_U ? 4 : 0;
        } else if (!isContinuation(byte)) {
          if (left <= 0 || byte === QUOTE) return at;
          if (byte === BACKSLASH) pending = 5;
          left -= charsOf(byte);
        }
      }
      return to;
    },
  };
}

/**
 * Finds the end of a string whose head is past, counts what it has, and keeps the last of it. It goes from quote to quote and
 * from escape to escape by a search of the buffer's own, which is faster than a look at every byte.
 */
function createRest() {
  const ending = createEnding();
  let count: Count = NOTHING;
  /** The next byte is the letter of an escape. */
  let isEscaped = false;

  const endOf = (bytes: Buffer, from: number, to: number): number => {
    for (let at = placeOf(QUOTE, bytes, from); at < to; at = placeOf(QUOTE, bytes, at + 1)) {
      let first = at;
      while (first > from && bytes[first - 1] === BACKSLASH) first--;
      const backslashes = at - first + (first === from && isEscaped ? 1 : 0);
      if (backslashes % 2 === 0) return at;
    }
    return to;
  };

  return {
    walk(bytes: Buffer, from: number, to: number): number {
      const end = endOf(bytes, from, to);
      const { isOpen, ...more } = countIn(bytes, from, end, isEscaped);
      isEscaped = isOpen;
      count = plus(count, more);
      ending.push(bytes, from, end);
      return end;
    },
    /** The string is over. */
    finish(kept: Kept): void {
      const end = ending.take();
      const { isOpen: _, ...shown } = countIn(end, 0, end.length, false);
      const { chars, newlines } = plus(count, shown, -1);
      if (chars > 0) kept.write(`[${MARK} ${chars} ${newlines}]`);
      kept.push(end, 0, end.length);
      count = NOTHING;
      isEscaped = false;
    },
  };
}

interface Count {
  readonly chars: number;
  readonly newlines: number;
}

const NOTHING: Count = { chars: 0, newlines: 0 };

function plus(a: Count, b: Count, times = 1): Count {
  return { chars: a.chars + times * b.chars, newlines: a.newlines + times * b.newlines };
}

/** Characters as JavaScript counts them, of the inside of a string. `isOpen`: it ends in an escape without its letter. */
function countIn(
  bytes: Buffer,
  from: number,
  to: number,
  isEscaped: boolean,
): Count & { readonly isOpen: boolean } {
  let newlines = 0;
  let escaped = 0;
  let at = isEscaped ? from - 1 : placeOf(BACKSLASH, bytes, from);
  for (; at < to - 1; at = placeOf(BACKSLASH, bytes, at + 2)) {
    const letter = bytes[at + 1];
    if (letter === LETTER_N) newlines++;
    escaped += letter === LETTER_U ? 5 : 1;
  }
  return { chars: charsIn(bytes, from, to) - escaped, newlines, isOpen: at === to - 1 };
}

/** Characters where an escape is several; each is counted where it begins. */
function charsIn(bytes: Buffer, from: number, to: number): number {
  if (isAscii(bytes.subarray(from, to))) return to - from;
  let chars = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if (!isContinuation(byte)) chars += charsOf(byte);
  }
  return chars;
}

/** By its first byte. */
function charsOf(byte: number): number {
  return byte >= 0xf0 ? 2 : 1;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function placeOf(byte: number, bytes: Buffer, from: number): number {
  const place = bytes.indexOf(byte, from);
  return place === -1 ? bytes.length : place;
}

/** The last of what is pushed, from the beginning of a character on; all of it where that is not much. */
function createEnding() {
  const store = Buffer.allocUnsafeSlow(2 * END);
  let length = 0;
  let isAll = true;
  const keepLast = (bytes: number) => {
    store.copyWithin(0, length - bytes, length);
    length = bytes;
    isAll = false;
  };
  return {
    push(bytes: Buffer, from: number, to: number): void {
      const first = Math.max(from, to - END);
      if (first > from) keepLast(0);
      else if (length + to - from > store.length) keepLast(END);
      length += bytes.copy(store, length, first, to);
    },
    take(): Buffer {
      const end = store.subarray(isAll ? 0 : beginning(store, length), length);
      length = 0;
      isAll = true;
      return end;
    },
  };
}

/** Where a character surely begins: at a backslash that none is before, or far enough from any. */
function beginning(bytes: Buffer, length: number): number {
  let backslash = 0;
  for (let at = 1; at < length; at++) {
    const isBackslash = bytes[at] === BACKSLASH;
    if (isBackslash && bytes[at - 1] !== BACKSLASH) return at;
    if (at - backslash > LONGEST_ESCAPE && !isContinuation(bytes[at])) return at;
    if (isBackslash) backslash = at;
  }
  return length;
}

const LONGEST_ESCAPE = 6;

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
