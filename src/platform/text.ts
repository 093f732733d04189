/** Text on a terminal: how wide it is, how it is cut, and how text from strangers is made harmless. */
import { ESCAPE_SEQUENCE } from '../domain/text/visible.ts';
import { stringWidth } from './width.ts';

/** Columns that a terminal needs for it. */
export function displayWidth(painted: string): number {
  const text = painted.includes('\x1b') ? painted.replace(COLOR, '') : painted;
  if (PLAIN.test(text)) return text.length;
  if (SIGN.test(text)) return 2;
  if (text.length > SHORT) return stringWidth(text);
  const known = widths.get(text);
  if (known !== undefined) return known;
  const width = stringWidth(text);
  if (widths.size >= MOST_KNOWN) widths.clear();
  widths.set(text, width);
  return width;
}

/** A column each, and nothing combines with its neighbour: most of what we ever measure. */
const PLAIN =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u2193\u21b3\u23bf\u23fa\u2500-\u257f\u2713\u2717]*$/;

const COLOR = /\x1b\[[\d;]*m/g;

/** One picture: what our own signs are, so that most runs never load the tables for all the rest. */
const SIGN = /^(?:(?=\p{Emoji_Presentation})\p{Extended_Pictographic}|\p{Extended_Pictographic}\ufe0f)$/u;

/** Single characters and markers come again and again, and measuring one is slow. */
const widths = new Map<string, number>();
const SHORT = 8;
const MOST_KNOWN = 4_096;

/**
 * Text that can do nothing to a terminal but be read: no escape sequence, no control character but `\n`, no
 * reordering. What a terminal would have overwritten after a `\r` stays visible, on a line of its own.
 */
export function harmless(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text
    .replace(ESCAPE_SEQUENCE, '')
    .replace(LINE_BREAK, '\n')
    .replaceAll('\t', TAB)
    .replace(CONTROL, '')
    .replace(LONE_SURROGATE, '\ufffd');
}

const TAB = '    ';

/** Anything `harmless` may have to touch; most text has none of it and is returned as it is. */
const SUSPECT = /[^\n\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\uffff]/;

/** Everything that some terminal takes for the end of a line. One run of `\r` is one break. */
const LINE_BREAK = /\r+\n?|[\x0b\x0c\x85\u2028\u2029]/g;

/** C0, DEL, C1, and the characters that turn the direction of what follows. */
const CONTROL = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** Written out it becomes U+FFFD, which is a column wide; half a pair is counted as none. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** At most `columns` wide; ends with `…` where something was cut. Expects harmless text without line breaks. */
export function clip(text: string, columns: number): string {
  if (text.length * 2 <= columns) return text;
  if (columns < 1) return '';
  const head = beginning(text, columns * UNITS_PER_COLUMN);
  if (head.length === text.length && displayWidth(text) <= columns) return text;
  return `${fitting(head, columns - 1)}…`;
}

/** More than this for a column is decoration; it bounds the work on a long string. */
const UNITS_PER_COLUMN = 16;

/** The first `units` code units, but never half a character. */
export function beginning(text: string, units: number): string {
  if (text.length <= units) return text;
  const last = text.charCodeAt(units - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? units - 1 : units);
}

function fitting(text: string, columns: number): string {
  let end = 0;
  let width = 0;
  for (const { segment } of segmentsOf(text)) {
    width += displayWidth(segment);
    if (width > columns) break;
    end += segment.length;
  }
  return text.slice(0, end);
}

let graphemes: Intl.Segmenter | undefined;

function segmentsOf(text: string): Iterable<{ readonly segment: string }> {
  if (PLAIN.test(text)) return Array.from(text, segment => ({ segment }));
  graphemes ??= new Intl.Segmenter(); // slow to make
  return graphemes.segment(text);
}

/** Any text as one harmless line of at most `columns`. Looks only at as much of it as can be shown. */
export function oneLine(text: string, columns: number): string {
  const head = beginning(text, columns * UNITS_PER_COLUMN + 256);
  const line = harmless(head).replace(/\s+/g, ' ').trim();
  return clip(head.length < text.length ? `${line}…` : line, columns);
}

/**
 * Breaks harmless text into rows of at most `columns`, between words where it can. A row keeps the indentation of
 * its line, and that of a list item. White space at a break goes; at the very end it stays, so that a caller can continue from there.
 */
export function wrap(text: string, columns: number): readonly string[] {
  const lines = text.split('\n');
  return lines.flatMap((line, at) => wrapLine(at < lines.length - 1 ? line.trimEnd() : line, columns));
}

/** The same, but a line that is there for its command stays whole: what is broken cannot be pasted. */
export function wrapAround(text: string, columns: number): readonly string[] {
  return COMMAND_LINE.test(text) ? [text] : wrap(text, columns);
}

/** `- Log: `ralph log ID``. */
const COMMAND_LINE = /^ *(- )?\w+: `[^`]+`[^`]*$/;

function wrapLine(line: string, columns: number): readonly string[] {
  if (line.length * 2 <= columns || widthUpTo(line, columns) <= columns) return [line];
  const indent = ' '.repeat(Math.min(INDENTATION.exec(line)?.[0].length ?? 0, Math.floor(columns / 2)));
  return (PLAIN.test(line) && wrapPlain(line, columns, indent)) || wrapWords(line, columns, indent);
}

/** The same as `wrapWords` and ten times as fast, where every character is one column and no word is too long for a row. */
function wrapPlain(line: string, columns: number, indent: string): readonly string[] | undefined {
  const rows: string[] = [];
  let from = indent.length;
  while (line.length - from > columns - indent.length) {
    const space = line.lastIndexOf(' ', from + columns - indent.length);
    const row = line.slice(from, space).trimEnd();
    if (space <= from || row === '') return undefined;
    rows.push(rows.length === 0 ? line.slice(0, space).trimEnd() : indent + row);
    from = space + 1;
    while (line[from] === ' ') from++;
  }
  return [...rows, indent + line.slice(from)];
}

function wrapWords(line: string, columns: number, indent: string): readonly string[] {
  const rows: string[] = [];
  let row = '';
  let width = 0;
  const next = () => {
    if (row.trim() !== '') rows.push(row.trimEnd());
    row = indent;
    width = indent.length;
  };
  for (const word of line.match(/ +|[^ ]+/g) ?? []) {
    const wordWidth = widthUpTo(word, columns);
    if (width + wordWidth > columns) next();
    if (width + wordWidth <= columns) {
      if (word.startsWith(' ') && row === indent && rows.length > 0) continue;
      row += word;
      width += wordWidth;
    } else if (!word.startsWith(' ')) {
      for (const piece of pieces(word, columns - width)) {
        if (row !== indent) next();
        row += piece;
      }
      width = displayWidth(row);
    }
  }
  return [...rows, row];
}

/** Does not measure what is far too long to fit. */
function widthUpTo(text: string, columns: number): number {
  return text.length > columns * UNITS_PER_COLUMN ? Number.POSITIVE_INFINITY : displayWidth(text);
}

const INDENTATION = /^ *(?:[-*] |\d{1,3}\. )?/;

/** A word that is wider than a row, cut between graphemes; a grapheme can be as wide as it likes, and is cut too. */
function pieces(word: string, columns: number): readonly string[] {
  const found: string[] = [];
  let piece = '';
  let width = 0;
  const add = (unit: string, unitWidth: number) => {
    if (piece !== '' && width + unitWidth > columns) {
      found.push(piece);
      piece = '';
      width = 0;
    }
    piece += unit;
    width += unitWidth;
  };
  for (const { segment } of segmentsOf(word)) {
    const segmentWidth = displayWidth(segment);
    if (segmentWidth <= columns) add(segment, segmentWidth);
    else for (const character of segment) add(character, displayWidth(character));
  }
  return [...found, piece];
}
