/** The normal form in which secrets are looked for: text by letters, whatever each is written as, without quotes, marks and line ends. */
import { holdsInvisible } from './visible.ts';

/** Where the next letter is read. */
export interface Position {
  next: number;
}

/** What is read is no letter: it may stand anywhere inside a secret. */
export const NO_LETTER = -1;

export const PLAIN = 0;
export const SKIPPED = 1;
const [LINE_END, ESCAPE, BACKSLASH, PERCENT, AMPERSAND, WIDE] = [2, 3, 4, 5, 6, 7];
const KINDS: Readonly<Record<string, number>> = {
  '\n': LINE_END,
  '\x1b': ESCAPE,
  '\\': BACKSLASH,
  '%': PERCENT,
  '&': AMPERSAND,
  '\t': PLAIN,
  '"': SKIPPED,
  "'": SKIPPED,
  '`': SKIPPED,
  '\x7f': SKIPPED,
};

/** Of a byte: its own letter, nothing, or more than that. */
export const KIND = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return WIDE as number;
  return KINDS[String.fromCharCode(byte)] ?? ((byte < 0x20 ? SKIPPED : PLAIN) as number);
});

/** Of a byte; 1: it may write another letter by several. */
export const ESCAPES = KIND.map(kind =>
  kind === BACKSLASH || kind === PERCENT || kind === AMPERSAND ? 1 : 0,
);

/** The letter that begins here; those that are not ASCII are one of 128. */
export function readLetter(bytes: Uint8Array, at: number, position: Position): number {
  position.next = at + 1;
  const byte = bytes[at] ?? 0;
  switch (KIND[byte]) {
    case PLAIN:
      return byte;
    case LINE_END:
      return breakLine(bytes, position);
    case ESCAPE:
      return passEscape(bytes, position);
    case BACKSLASH:
      return readBackslash(bytes, position);
    case PERCENT:
      return isHex(bytes[afterBreak(bytes, at + 1)])
        ? (readNumber(bytes, at, position, BY_PERCENT) ?? byte)
        : byte;
    case AMPERSAND:
      return mayBeEntity(bytes[afterBreak(bytes, at + 1)]) ? (readEntity(bytes, at, position) ?? byte) : byte;
    case WIDE:
      return readWide(bytes, at, position);
    default:
      return NO_LETTER;
  }
}

/** Blanks at the beginning of a line are how a printer sets it. */
function breakLine(bytes: Uint8Array, position: Position): number {
  while (bytes[position.next] === 0x20 || bytes[position.next] === 0x09) position.next++;
  return NO_LETTER;
}

const LONGEST_ESCAPE = 1_000;
const SEQUENCE = /^(?:\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-~]?)/;

/** `]`, `P`, `X`, `^` and `_` begin a text, up to its end. */
const BEGINS_TEXT = [0x5d, 0x50, 0x58, 0x5e, 0x5f];
const ENDS_TEXT = [0x07, 0x1b, 0x0a];

function passEscape(bytes: Uint8Array, position: Position): number {
  if (!BEGINS_TEXT.includes(bytes[position.next] ?? 0)) {
    position.next += SEQUENCE.exec(textOf(bytes, position.next, 32))?.[0].length ?? 0;
    return NO_LETTER;
  }
  const end = position.next + LONGEST_ESCAPE;
  while (position.next < end && !ENDS_TEXT.includes(bytes[position.next] ?? 0x0a)) position.next++;
  if (bytes[position.next] === 0x07) position.next++;
  return NO_LETTER;
}

/** A backslash, or as many as texts in texts have, and what it makes of the next letter. */
function readBackslash(bytes: Uint8Array, position: Position): number {
  while (bytes[position.next] === 0x5c) position.next++;
  const byte = bytes[position.next] ?? 0;
  if (byte === 0x6e || byte === 0x72) {
    position.next++;
    return breakLine(bytes, position);
  }
  if (byte === 0x74) {
    position.next++;
    return 0x09;
  }
  const cut = bytes[afterBreak(bytes, position.next)] ?? 0;
  const isNumber = cut === 0x75 || cut === 0x78 || cut === 0x55 || (byte >= 0x30 && byte <= 0x37);
  return isNumber ? (readNumber(bytes, position.next, position, BY_BACKSLASH) ?? NO_LETTER) : NO_LETTER;
}

interface Numbered {
  /** A number in hex; the last of several groups is one in octal. */
  readonly pattern: RegExp;
  /** A further byte of the same letter in UTF-8. */
  readonly more: RegExp;
}

const BY_PERCENT: Numbered = {
  pattern: /^%(?:25)*([0-9a-f]{2})/i,
  more: /^%(?:25)*([89ab][0-9a-f])/i,
};
const BY_BACKSLASH: Numbered = {
  pattern: /^(?:x([0-9a-f]{2})|u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|U([0-9a-f]{8})|(0?[0-3][0-7]{2}))/i,
  more: /^\\+(?:x([89ab][0-9a-f])|0?([23][0-7]{2}))/i,
};

function readNumber(bytes: Uint8Array, at: number, position: Position, kind: Numbered): number | undefined {
  const ahead = unbroken(bytes, at);
  const found = kind.pattern.exec(ahead);
  if (!found) return undefined;
  let length = found[0].length;
  let code = numberOf(found);
  const count = code <= 0xff && !/^u/i.test(ahead) ? countMore(code) : 0;
  let joined = code & (0x3f >> count);
  let end = length;
  for (let left = count; left > 0; left--) {
    const next = kind.more.exec(ahead.slice(end));
    if (!next) break;
    joined = (joined << 6) | (numberOf(next) & 0x3f);
    end += next[0].length;
    if (left === 1) [code, length] = [joined, end];
  }
  const pair = /^\\+ud([c-f][0-9a-f]{2})/i.exec(ahead.slice(length));
  if (code >= 0xd800 && code < 0xdc00 && pair) {
    code = 0x10000 + ((code & 0x3ff) << 10) + (Number.parseInt(pair[1] ?? '', 16) & 0x3ff);
    length += pair[0].length;
  }
  position.next = endOf(bytes, at, length);
  return decoded(code, bytes, position);
}

/** Behind a line end, where there is one: a printer that breaks lines breaks them anywhere. */
function afterBreak(bytes: Uint8Array, at: number): number {
  const end = bytes[at] === 0x0d ? at + 1 : at;
  if (bytes[end] !== 0x0a) return at;
  const position = { next: end + 1 };
  breakLine(bytes, position);
  return position.next;
}

/** What stands here, as if no line ended in it. */
function unbroken(bytes: Uint8Array, at: number): string {
  const text = textOf(bytes, at, 64);
  return text.includes('\n') ? text.replace(/\r?\n[ \t]*/g, '') : text;
}

/** Behind so many letters of it. */
function endOf(bytes: Uint8Array, at: number, length: number): number {
  let end = at;
  for (let left = length; left > 0; left--) end = afterBreak(bytes, end) + 1;
  return end;
}

/** Hex, or octal where it is the last group of several. */
function numberOf(found: RegExpExecArray): number {
  const octal = found.length > 2 ? found.at(-1) : undefined;
  return octal !== undefined
    ? Number.parseInt(octal, 8)
    : Number.parseInt(found.slice(1).find(group => group !== undefined) ?? '', 16);
}

/** How many bytes follow the first one of a letter in UTF-8. */
function countMore(byte: number): number {
  if (byte < 0xc2 || byte > 0xf4) return 0;
  return byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
}

const ENTITY = /^&(?:amp;)*(?:#x0*([0-9a-f]{1,6});?|#0*(\d{1,7});?|([A-Za-z]{2,8});)/i;
const NAMES: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', excl: '!', num: '#', dollar: '$' },
  ...{ percnt: '%', lpar: '(', rpar: ')', ast: '*', plus: '+', comma: ',', period: '.', sol: '/' },
  ...{ colon: ':', semi: ';', equals: '=', quest: '?', commat: '@', lsqb: '[', bsol: '\\', rsqb: ']' },
  ...{ hat: '^', lowbar: '_', grave: '`', lcub: '{', verbar: '|', rcub: '}', dash: '-', hyphen: '-' },
};

function mayBeEntity(byte = 0): boolean {
  return byte === 0x23 || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a);
}

function readEntity(bytes: Uint8Array, at: number, position: Position): number | undefined {
  const found = ENTITY.exec(unbroken(bytes, at));
  if (!found) return undefined;
  const [all, hex, number, name = ''] = found;
  const known = Object.hasOwn(NAMES, name.toLowerCase()) ? NAMES[name.toLowerCase()] : undefined;
  const code = hex !== undefined ? Number.parseInt(hex, 16) : Number(number ?? known?.charCodeAt(0));
  if (Number.isNaN(code)) return undefined;
  position.next = endOf(bytes, at, all.length);
  return decoded(code, bytes, position);
}

/** A letter that was written by its number. */
function decoded(code: number, bytes: Uint8Array, position: Position): number {
  if (code >= 0x80) return wide(code);
  const kind = KIND[code];
  if (kind === LINE_END) return breakLine(bytes, position);
  if (kind === ESCAPE) return passEscape(bytes, position);
  return kind === SKIPPED || kind === BACKSLASH ? NO_LETTER : code;
}

function readWide(bytes: Uint8Array, at: number, position: Position): number {
  const first = bytes[at] ?? 0;
  const count = countMore(first);
  let code = count === 0 ? first : first & (0x3f >> count);
  for (let more = 1; more <= count; more++) {
    const byte = bytes[at + more] ?? 0;
    if (byte >> 6 !== 2) return wide(first);
    code = (code << 6) | (byte & 0x3f);
  }
  position.next = at + 1 + count;
  return wide(code);
}

function wide(code: number): number {
  return isInvisible(code) ? NO_LETTER : 0x80 | (code & 0x7f);
}

/** By code: 1 for seen, 2 for not seen. */
const seen = new Uint8Array(0x10000);

function isInvisible(code: number): boolean {
  if (code > 0x10ffff) return false;
  if (code > 0xffff) return holdsInvisible(String.fromCodePoint(code));
  if (seen[code] === 0) seen[code] = holdsInvisible(String.fromCharCode(code)) ? 2 : 1;
  return seen[code] === 2;
}

function isHex(byte = 0): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

function textOf(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}

/** The letters of a text, as many as are asked for. */
export function lettersOf(bytes: Uint8Array, most = Number.POSITIVE_INFINITY): Uint8Array {
  const position: Position = { next: 0 };
  const letters: number[] = [];
  while (position.next < bytes.length && letters.length < most) {
    const letter = readLetter(bytes, position.next, position);
    if (letter !== NO_LETTER) letters.push(letter);
  }
  return Uint8Array.from(letters);
}
