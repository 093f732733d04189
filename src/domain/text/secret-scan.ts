/** Finds the places of secrets in one pass over bytes: of known values exactly, of what is known by its looks where it may begin. */
import { isInsideWord, LOOK_AHEAD, MAY_BEGIN, mayBegin } from './secret-formats.ts';
import {
  ESCAPES,
  KIND,
  lettersOf,
  NO_LETTER,
  PLAIN,
  type Position,
  readLetter,
  SKIPPED,
} from './secret-letters.ts';
import { BASE64_DIGIT, HEX_DIGIT, type Needle, type NeedleKind } from './secret-values.ts';

const utf8 = new TextEncoder();

export type Range = readonly [from: number, to: number];

export interface SecretScan {
  /** More of the bytes. Returns whether a secret may begin in what was given so far; `isLast`: there is no more. */
  push(bytes: Uint8Array, isLast: boolean): boolean;
}

export interface SecretFinder {
  readonly hasValues: boolean;
  /** Where values stand, in order. */
  find(bytes: Uint8Array): readonly Range[];
  /** Where the last bytes may be the beginning of a value; their length: nowhere. */
  openAt(bytes: Uint8Array): number;
  /** Whether anything is to be taken out of a text; never a wrong no. */
  mayHold(bytes: Uint8Array): boolean;
  scan(): SecretScan;
}

/** Each letter moves the hash on by five bits, so that fifteen bits hold three. */
const BITS = 0x7fff;
/** What stands for a blank in an address is a blank. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, letter) =>
  letter === 0x2b || letter === 0x09 ? 0x20 : letter,
);
/** Small and capital letters are one. */
const SMALL = FOLDED.map(letter => letter | 0x20);

function addTo(hash: number, letter: number): number {
  return ((hash << 5) ^ (SMALL[letter] as number)) & BITS;
}

function hashOf(letters: readonly number[]): number {
  return letters.reduce((hash, letter) => addTo(hash, letter), 0);
}

/** What begins with three letters. */
const LOOKS = 1;
const VALUE = 2;

interface Known {
  /** By the hash of three letters. */
  readonly begins: Uint8Array;
  readonly needles: ReadonlyMap<number, readonly Needle[]>;
  /** Which two bytes may be a part of what begins. */
  readonly parts: () => Uint8Array;
}

interface Hit {
  /** Where it begins, and behind it; undefined: the bytes end before it does. */
  readonly from: number;
  readonly to: number | undefined;
}

/** What a pass finds; true: it may stop. */
interface Watch {
  value(hit: Hit): boolean;
  /** Something that is known by its looks may begin here; undefined: it is not asked for. */
  readonly looks: (() => boolean) | undefined;
}

export function createFinder(needles: readonly Needle[]): SecretFinder {
  const known = prepare(needles);
  const longest = Math.max(0, ...needles.map(({ letters }) => letters.length));
  return {
    hasValues: needles.length > 0,
    find(bytes) {
      const hits: Hit[] = [];
      pass(bytes, 0, bytes.length, known, { value: hit => hits.push(hit) === 0, looks: undefined });
      return merged(hits);
    },
    openAt(bytes) {
      const hits: Hit[] = [];
      const from = Math.max(0, bytes.length - 2 * longest - 512);
      pass(bytes, from, bytes.length, known, { value: hit => hits.push(hit) === 0, looks: undefined });
      const open = hits.flatMap(hit => (hit.to === undefined ? [hit.from] : []));
      const first = Math.min(tailAt(bytes, needles), ...open);
      // Not inside of one that is whole.
      return merged(hits).find(([start, end]) => start < first && first < end)?.[0] ?? first;
    },
    mayHold: bytes => holds(bytes, 0, bytes.length, known),
    scan: () => createScan(known),
  };
}

/** Whether a secret may begin between two places. */
function holds(bytes: Uint8Array, from: number, end: number, known: Known): boolean {
  let isFound = false;
  const found = () => {
    isFound = true;
    return true;
  };
  pass(bytes, from, end, known, { value: found, looks: found });
  return isFound;
}

function prepare(needles: readonly Needle[]): Known {
  const begins = new Uint8Array(BITS + 1);
  const byHash = new Map<number, Needle[]>();
  for (const letters of looks()) begins[hashOf(letters)] = LOOKS;
  for (const needle of needles) {
    for (const hash of new Set(beginnings(needle).map(hashOf))) {
      begins[hash] = (begins[hash] ?? 0) | VALUE;
      byHash.set(hash, [...(byHash.get(hash) ?? []), needle]);
    }
  }
  let parts: Uint8Array | undefined;
  return {
    begins,
    needles: byHash,
    parts() {
      lookPairs ??= pairsOf(looks());
      parts ??= needles.length === 0 ? lookPairs : pairsOf([...looks(), ...needles.flatMap(beginnings)]);
      return parts;
    },
  };
}

/** Where there are no values, those of all who look. */
let lookPairs: Uint8Array | undefined;

function looks(): readonly (readonly number[])[] {
  return MAY_BEGIN.map(word => [...utf8.encode(word).subarray(0, 3)]);
}

/** Each three letters that it may begin with; small and capital letters are one. */
function beginnings({ kind, letters }: Needle): readonly (readonly number[])[] {
  const [one = 0, two = 0, three = 0] = letters;
  if (kind === 'text') return [[one, two, three]];
  if (kind === 'hex') {
    const [first, second, third] = [one, two, three].map(digit => WRITTEN.hex[digit]?.[0] ?? 0);
    return [third ?? 0, ...BETWEEN.hex].map(last => [first ?? 0, second ?? 0, last]);
  }
  const [ones = [], twos = [], threes = []] = [one, two, three].map(digit => WRITTEN.base64[digit]);
  return ones.flatMap(a => twos.flatMap(b => threes.map(c => [a, b, c])));
}

const DIGITS = { hex: HEX_DIGIT, base64: BASE64_DIGIT };
/** The letters of each digit. */
const WRITTEN = { hex: writtenAs(HEX_DIGIT), base64: writtenAs(BASE64_DIGIT) };

function writtenAs(digits: Uint8Array): readonly (readonly number[])[] {
  const all = Array.from({ length: 64 }, (): number[] => []);
  digits.forEach((digit, letter) => {
    all[digit]?.push(letter);
  });
  return all;
}

/** Of a byte that is its own letter, that letter as it is added to a hash; of any other one `ODD`. */
const ODD = 0xff;
const QUICK = SMALL.map((letter, byte) => (KIND[byte] === PLAIN ? letter : ODD));

/** Calls `watch` with what begins between two places, in no order. */
function pass(bytes: Uint8Array, from: number, end: number, known: Known, watch: Watch): void {
  const { begins } = known;
  const wanted = watch.looks === undefined ? VALUE : LOOKS | VALUE;
  const leap = end - from < LEAST_LEAPT ? undefined : leapOver(bytes);
  const parts = leap ? known.parts() : begins;
  const position: Position = { next: from };
  let hash = 0;
  let one = from;
  let two = from;
  let walked = from + STRIDE;
  for (let at = from, next = from; at < end; at = next) {
    if (at >= walked && leap && two === at - 1 && one === at - 2) {
      at = Math.max(at, leapFrom(one, leap, begins, parts));
      if (at >= end) return;
      [one, two] = [at - 2, at - 1];
      hash = ((QUICK[bytes[one] as number] as number) << 5) ^ (QUICK[bytes[two] as number] as number);
      walked = at + STRIDE;
    }
    const byte = bytes[at] as number;
    next = at + 1;
    let small = QUICK[byte] as number;
    if (small === ODD) {
      if (KIND[byte] === SKIPPED) continue;
      const letter = readLetter(bytes, at, position);
      next = position.next;
      if (ESCAPES[byte] === 1 && next > at + 1 && probe(bytes, at + 1, next, known, watch)) return;
      if (letter === NO_LETTER) continue;
      small = SMALL[letter] as number;
    }
    hash = ((hash << 5) ^ small) & BITS;
    if (((begins[hash] as number) & wanted) !== 0 && isFound(bytes, one, hash, known, watch)) return;
    one = two;
    two = at;
  }
}

/** In fewer bytes every letter is looked at. */
const LEAST_LEAPT = 1_000;
/** So many letters are looked at before the next leap. */
const STRIDE = 4;

/** Bytes, looked at two by two. */
interface Leap {
  readonly bytes: Uint8Array;
  readonly words: Uint16Array;
  /** Where the first word begins. */
  readonly odd: number;
}

function leapOver(bytes: Uint8Array): Leap {
  const odd = bytes.byteOffset & 1;
  return {
    bytes,
    words: new Uint16Array(bytes.buffer, bytes.byteOffset + odd, (bytes.length - odd) >> 1),
    odd,
  };
}

/** Returns the place before which, from a place on, nothing begins. Of any three letters, two are one of the pairs that are looked up. */
function leapFrom(from: number, { bytes, words, odd }: Leap, begins: Uint8Array, pairs: Uint8Array): number {
  const last = words.length - 1;
  let at = Math.max(0, (from - odd) >> 1);
  while (at < last) {
    const isPart = pairs[words[at] as number] as number;
    if (isPart === 0 && pairs[words[at + 1] as number] === 0) at += 2;
    else if (isPart !== 0 && !isHarmless(bytes, odd + 2 * at, begins)) break;
    else at++;
  }
  return odd + 2 * at;
}

/** Of two bytes, with the one before and the one behind: all are their own letters, and nothing begins there. */
function isHarmless(bytes: Uint8Array, at: number, begins: Uint8Array): boolean {
  const before = QUICK[bytes[at - 1] as number] ?? ODD;
  const one = QUICK[bytes[at] as number] as number;
  const two = QUICK[bytes[at + 1] as number] as number;
  const behind = QUICK[bytes[at + 2] as number] ?? ODD;
  if (before === ODD || one === ODD || two === ODD || behind === ODD) return false;
  const hash = (one << 5) ^ two;
  return begins[((before << 10) ^ hash) & BITS] === 0 && begins[((hash << 5) ^ behind) & BITS] === 0;
}

/** Of two bytes as one number; 1: three letters may begin or end with them, or one of them is not its own letter. */
function pairsOf(triples: readonly (readonly number[])[]): Uint8Array {
  const isSmallEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
  const numberOf = (first: number, second: number) =>
    isSmallEndian ? first | (second << 8) : (first << 8) | second;
  const pairs = new Uint8Array(0x10000).fill(1);
  const plain = [...QUICK.keys()].filter(byte => QUICK[byte] !== ODD);
  /** The bytes that are one letter in a hash. */
  const spellings = Array.from({ length: 256 }, (): number[] => []);
  for (const byte of plain) spellings[QUICK[byte] as number]?.push(byte);
  const spelled = (letter: number) => spellings[SMALL[letter] as number] ?? [];
  for (const first of plain) for (const second of plain) pairs[numberOf(first, second)] = 0;
  for (const [one = 0, two = 0, three = 0] of triples)
    for (const [begin, end] of [
      [one, two],
      [two, three],
    ] as const)
      for (const first of spelled(begin))
        for (const second of spelled(end)) pairs[numberOf(first, second)] = 1;
  return pairs;
}

/** A value may also begin inside of what is read as one letter: behind a sign that only looks like the beginning of an escape. */
function probe(bytes: Uint8Array, from: number, to: number, known: Known, watch: Watch): boolean {
  for (let at = from; at < to; at++) {
    const [one, two, three] = [bytes[at] ?? 0, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0];
    const hash = addTo(addTo(addTo(0, one), two), three);
    if (((known.begins[hash] ?? 0) & VALUE) !== 0 && isFound(bytes, at, hash, known, watch)) return true;
  }
  return false;
}

function isFound(bytes: Uint8Array, at: number, hash: number, known: Known, watch: Watch): boolean {
  for (const needle of known.needles.get(hash) ?? []) {
    const to = follow(bytes, at, needle);
    if (to === NO || (to !== OPEN && needle.isWord && !isWord(bytes, at, to))) continue;
    if (watch.value({ from: at, to: to === OPEN ? undefined : to })) return true;
  }
  const mayLook = watch.looks !== undefined && ((known.begins[hash] ?? 0) & LOOKS) !== 0;
  return mayLook && hasLooks(bytes, at) && watch.looks();
}

/** As it is, or without what a reader does not see: so many letters tell. */
const TELLING = 40;

function hasLooks(bytes: Uint8Array, at: number): boolean {
  if (mayBegin(bytes.subarray(at, at + LOOK_AHEAD))) return true;
  const isPlain = bytes.subarray(at, at + TELLING).every(byte => KIND[byte] === PLAIN);
  return !isPlain && mayBegin(lettersOf(bytes.subarray(at), TELLING));
}

const [NO, OPEN] = [-1, -2];

/** Behind the last letter of it, where it begins here. */
function follow(bytes: Uint8Array, at: number, { kind, letters }: Needle): number {
  const position: Position = { next: at };
  const between = BETWEEN[kind];
  for (let matched = 0; matched < letters.length; ) {
    if (position.next >= bytes.length) return OPEN;
    const letter = readLetter(bytes, position.next, position);
    if (letter === NO_LETTER || (matched > 0 && between.includes(letter))) continue;
    const isPrefix = kind === 'hex' && letter === 0x30 && ((bytes[position.next] ?? 0) | 0x20) === 0x78;
    if (isPrefix) position.next++;
    else if (!isSame(kind, letter, letters[matched++] as number)) return NO;
  }
  return position.next;
}

/** What may stand between two digits. */
const BETWEEN: Readonly<Record<NeedleKind, Uint8Array>> = {
  text: new Uint8Array(0),
  hex: utf8.encode(' \t:,;-_.|'),
  base64: utf8.encode(' \t'),
};

function isSame(kind: NeedleKind, letter: number, wanted: number): boolean {
  return kind === 'text' ? FOLDED[letter] === FOLDED[wanted] : DIGITS[kind][letter] === wanted;
}

function isWord(bytes: Uint8Array, from: number, to: number): boolean {
  const before = String.fromCharCode(...bytes.subarray(Math.max(0, from - 12), from));
  const continues = /[A-Za-z0-9]$/.test(before) && isInsideWord(before);
  return !continues && !/[A-Za-z0-9]/.test(String.fromCharCode(bytes[to] ?? 0));
}

/** In order, those that overlap as one. */
function merged(hits: readonly Hit[]): readonly Range[] {
  const ranges: [from: number, to: number][] = [];
  const sorted = hits.flatMap(({ from, to }) => (to === undefined ? [] : [[from, to] as [number, number]]));
  for (const range of sorted.sort(([one], [other]) => one - other)) {
    const last = ranges.at(-1);
    if (last && range[0] < last[1]) last[1] = Math.max(last[1], range[1]);
    else ranges.push(range);
  }
  return ranges;
}

/** Where the last letters are the beginning of a value, although too few to look it up; one is enough at the beginning of a word. */
function tailAt(bytes: Uint8Array, needles: readonly Needle[]): number {
  const position: Position = { next: Math.max(0, bytes.length - SHORT_TAIL) };
  const letters: number[] = [];
  while (position.next < bytes.length) {
    const at = position.next;
    if (readLetter(bytes, at, position) !== NO_LETTER) letters.push(at);
  }
  const isOpen = (at: number, left: number) => {
    const isInside = /[A-Za-z0-9]/.test(String.fromCharCode(bytes[at - 1] ?? 0));
    return needles.some(
      needle => (!isInside || (left > 1 && needle.kind !== 'base64')) && follow(bytes, at, needle) === OPEN,
    );
  };
  const last = letters.slice(-3);
  return last.find((at, index) => isOpen(at, last.length - index)) ?? bytes.length;
}

const SHORT_TAIL = 64;

function createScan(known: Known): SecretScan {
  // What was not looked at yet, behind what was; one buffer for all of it.
  let room = new Uint8Array(0);
  let kept = 0;
  let from = 0;
  return {
    push(bytes, isLast) {
      const length = kept + bytes.length;
      if (length > room.length) {
        const larger = new Uint8Array(length + LOOK_BACK + LOOK_AHEAD);
        larger.set(room.subarray(0, kept));
        room = larger;
      }
      room.set(bytes, kept);
      const end = isLast ? length : Math.max(from, length - LOOK_AHEAD);
      const isFound = holds(room.subarray(0, length), Math.max(0, from - LOOK_BACK), end, known);
      const passed = Math.max(0, end - LOOK_BACK);
      room.copyWithin(0, passed, length);
      kept = length - passed;
      from = end - passed;
      return isFound;
    },
  };
}

/** So many bytes are kept to look back at. */
const LOOK_BACK = 1_000;
