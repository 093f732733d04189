/**
 * Long lines keep their head and their tail. In JSON that is done string by string, so that what stands around a long string,
 * such as an exit code behind a tool's output, is still read. What was left out is counted.
 */

/** Bytes kept at each end of a long string. */
const KEPT = 64 * 1024;
/** A line with more than this outside its long strings cannot be read. */
const MAX_LINE = 8 * 1024 * 1024;
/** Stands where something was left out, so that the two ends do not make a word, or a tag, that nobody wrote. */
const GAP = / \[\.\.\. (\d+) characters, (\d+) line ends left out \.\.\.\] /;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;
const LETTER_U = 0x75;

export interface LeftOut {
  readonly chars: number;
  readonly newlines: number;
}

/** One line of JSON, or its beginning, with long strings shortened. It is JSON again, however often it was shortened. */
export function shortenStrings(line: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (let open = line.indexOf(QUOTE); open !== -1; ) {
    const end = endOfString(line, open + 1);
    if (end - open > 3 * KEPT) {
      const head = walk(line, open + 1, open + KEPT);
      const before = gapAt(line, head.end);
      const middle = walk(line, head.end + (before?.length ?? 0), end - KEPT);
      parts.push(line.subarray(from, head.end), gap(middle, before));
      from = middle.end;
    }
    open = line.indexOf(QUOTE, end + 1);
  }
  const shorter = Buffer.concat([...parts, line.subarray(from)]);
  return shorter.length > MAX_LINE ? shortenText(shorter) : shorter;
}

/** Plain text without its middle. */
export function shortenText(line: Buffer): Buffer {
  if (line.length <= 3 * KEPT) return line;
  const ends = [line.subarray(0, KEPT), Buffer.from(' [...] '), line.subarray(line.length - KEPT)];
  return Buffer.concat(ends);
}

/** What was left out of a string of a shortened line, and the string without the note about it. */
export function leftOutOf(text: string): LeftOut & { readonly kept: string } {
  const found = text.length > KEPT / 4 ? GAP.exec(text) : null; // an escape is up to six bytes, and one character
  if (!found) return { kept: text, chars: 0, newlines: 0 };
  return { kept: text.replace(found[0], ''), chars: Number(found[1]), newlines: Number(found[2]) };
}

function gap(middle: LeftOut, before: LeftOut | undefined): Buffer {
  const chars = middle.chars + (before?.chars ?? 0);
  const newlines = middle.newlines + (before?.newlines ?? 0);
  return Buffer.from(` [... ${chars} characters, ${newlines} line ends left out ...] `);
}

/** The gap that an earlier shortening left: always at the same place, since the head is the same. */
function gapAt(line: Buffer, place: number): (LeftOut & { readonly length: number }) | undefined {
  const found = GAP.exec(line.toString('latin1', place, place + 100));
  if (found?.index !== 0) return undefined;
  return { chars: Number(found[1]), newlines: Number(found[2]), length: found[0].length };
}

/** The place of the closing quote; the end of the bytes where it is still to come. */
function endOfString(line: Buffer, from: number): number {
  for (let at = from; at < line.length; at++) {
    if (line[at] === QUOTE) return at;
    if (line[at] === BACKSLASH) at++;
  }
  return line.length;
}

/** From the character of a JSON string that begins at `from` to the first that begins at `to` or later, as JavaScript counts. */
function walk(line: Buffer, from: number, to: number): LeftOut & { readonly end: number } {
  let at = from;
  let chars = 0;
  let newlines = 0;
  while (at < to || isContinuation(line[at])) {
    const byte = line[at] as number;
    if (byte === BACKSLASH) {
      const letter = line[at + 1];
      if (letter === LETTER_N) newlines++;
      at += letter === LETTER_U ? 6 : 2;
      chars++;
    } else {
      if (!isContinuation(byte)) chars += byte >= 0xf0 ? 2 : 1;
      at++;
    }
  }
  return { end: at, chars, newlines };
}

/** Not the first byte of a character in UTF-8. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
