/** Looks through bytes for places where a secret may begin, ten times as fast as taking it out: most files have none. */
import { LOOK_AHEAD, MAY_BEGIN, mayBegin } from './secret-formats.ts';
import type { SecretForm } from './secret-values.ts';

export interface SecretScan {
  /** More of the bytes. Returns whether a secret may begin in what was given so far; `isLast`: there is no more. */
  push(bytes: Uint8Array, isLast: boolean): boolean;
}

/** Each letter moves the hash on by five bits, so that fifteen bits hold three; small and capital letters are one. */
const BITS = 0x7fff;

function hashOf(one: number, two: number, three: number): number {
  return (((one | 0x20) << 10) ^ ((two | 0x20) << 5) ^ (three | 0x20)) & BITS;
}

const [LINE_END, TAB, BLANK] = [0x0a, 0x09, 0x20];

/** Bytes that are looked at closer: control characters, those with which a mark of no width begins, and line ends. */
const SPECIAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  (byte < 0x20 && byte !== TAB) || [0x7f, 0xc2, 0xd8, 0xe1, 0xe2, 0xef].includes(byte) ? 1 : 0,
);

/** So many bytes are kept to look back at. */
const LOOK_BACK = 256;

const utf8 = new TextEncoder();

export function createScanner(forms: readonly SecretForm[]): () => SecretScan {
  const begins = new Uint8Array(BITS + 1);
  const mark = (word: Uint8Array, kind: number) => {
    const [one = 0, two = 0, three = 0] = word;
    const hash = hashOf(one, two, three);
    begins[hash] = (begins[hash] ?? 0) | kind;
  };
  for (const word of MAY_BEGIN) mark(utf8.encode(word), LOOKS);
  const values = forms.map(({ text }) => utf8.encode(text).subarray(0, 8));
  for (const value of values) mark(value, VALUE);
  return () => {
    // What was not looked at yet, behind what was.
    let rest = new Uint8Array(LOOK_BACK);
    return {
      push(bytes, isLast) {
        const all = joined(rest, bytes);
        const end = isLast ? all.length : Math.max(LOOK_BACK, all.length - LOOK_AHEAD);
        if (holdsBeginning(all, end, { begins, values })) return true;
        rest = all.slice(end - LOOK_BACK);
        return false;
      },
    };
  };
}

/** What begins with three letters: something that is known by its looks, a value. */
const [LOOKS, VALUE] = [1, 2];

interface Beginnings {
  /** By the hash of the letters. */
  readonly begins: Uint8Array;
  readonly values: readonly Uint8Array[];
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
}

function holdsBeginning(bytes: Uint8Array, end: number, known: Beginnings): boolean {
  const { begins } = known;
  let hash = hashOf(0, bytes[LOOK_BACK - 2] ?? 0, bytes[LOOK_BACK - 1] ?? 0);
  for (let at = LOOK_BACK; at < end; at++) {
    const byte = bytes[at] as number;
    hash = ((hash << 5) ^ (byte | 0x20)) & BITS;
    if (((begins[hash] as number) | (SPECIAL[byte] as number)) === 0) continue;
    if (SPECIAL[byte] === 1 && isSuspect(bytes, at, known)) return true;
    if (begins[hash] !== 0 && isBeginning(bytes, at, begins[hash] ?? 0, known)) return true;
  }
  return false;
}

/** `at`: its third letter. */
function isBeginning(bytes: Uint8Array, at: number, kind: number, { values }: Beginnings): boolean {
  if ((kind & LOOKS) !== 0 && mayBegin(bytes.subarray(at - 2, at - 2 + LOOK_AHEAD))) return true;
  return (kind & VALUE) !== 0 && holdsValue(bytes, at, values);
}

/** What a reader does not see may stand inside a secret; a line end inside the first three letters of a value. */
function isSuspect(bytes: Uint8Array, at: number, known: Beginnings): boolean {
  const byte = bytes[at] ?? 0;
  if (byte !== LINE_END) return byte < 0x80 || isHidden(bytes, at);
  if (known.values.length === 0) return false;
  const [one, two] = [letterBefore(bytes, at), letterBehind(bytes, at)];
  if (one === undefined || two === undefined) return one === undefined;
  const [before, behind] = [letterBefore(bytes, one), letterBehind(bytes, two)];
  if (before === undefined) return true;
  const letter = (place: number) => bytes[place] ?? 0;
  const kinds = [
    [two, known.begins[hashOf(letter(before), letter(one), letter(two))]],
    [behind, behind && known.begins[hashOf(letter(one), letter(two), letter(behind))]],
  ] as const;
  return kinds.some(
    ([third, kind = 0]) =>
      third !== undefined && (kind & VALUE) !== 0 && holdsValue(bytes, third, known.values),
  );
}

/** Without line ends and the blanks behind them. undefined: it is further back than what is kept. */
function letterBefore(bytes: Uint8Array, at: number): number | undefined {
  for (let place = at - 1; place >= 0; place--) {
    let blanks = place;
    while (bytes[blanks] === BLANK || bytes[blanks] === TAB) blanks--;
    if (blanks < 0) return undefined;
    if (bytes[blanks] !== LINE_END) return place;
    place = blanks;
  }
  return undefined;
}

/** undefined: there is none. */
function letterBehind(bytes: Uint8Array, at: number): number | undefined {
  let isBroken = bytes[at] === LINE_END;
  for (let place = at + 1; place < bytes.length; place++) {
    const byte = bytes[place];
    if (byte === LINE_END) isBroken = true;
    else if (!isBroken || (byte !== BLANK && byte !== TAB)) return place;
  }
  return undefined;
}

/** What `visible` takes out and is no control character of ASCII: marks of no width, those of direction, C1. */
function isHidden(bytes: Uint8Array, at: number): boolean {
  const [first, second = 0, third = 0] = bytes.subarray(at, at + 3);
  if (first === 0xc2) return second < 0xa0 || second === 0xad;
  if (first === 0xd8) return second === 0x9c;
  if (first === 0xe1) return second === 0xa0 && third === 0x8e;
  if (first === 0xef) return second === 0xbb && third === 0xbf;
  if (second === 0x80) return third <= 0x8f || (third >= 0xaa && third <= 0xae);
  return second === 0x81 && third >= 0xa0 && third <= 0xaf;
}

/** Whether what follows a third letter, which is here, is the same as in a value, for eight bytes; at the end it may be. */
function holdsValue(bytes: Uint8Array, at: number, values: readonly Uint8Array[]): boolean {
  return values.some(value => {
    let place: number | undefined = at;
    for (let next = 2; next < value.length; next++) {
      if (place === undefined) return true;
      if (bytes[place] !== value[next]) return false;
      place = letterBehind(bytes, place);
    }
    return true;
  });
}
