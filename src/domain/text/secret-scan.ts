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
  /** Values that begin with two letters, which are the last of a text. */
  readonly pairs: ReadonlyMap<number, readonly Needle[]>;
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
      const first = Math.min(pairAt(bytes, known), ...open);
      // Not inside of one that is whole.
      return merged(hits).find(([start, end]) => start < first && first < end)?.[0] ?? first;
    },
    scan: () => createScan(known),
  };
}

function prepare(needles: readonly Needle[]): Known {
  const begins = new Uint8Array(BITS + 1);
  const byHash = new Map<number, Needle[]>();
  const pairs = new Map<number, Needle[]>();
  for (const word of MAY_BEGIN) begins[hashOf([...utf8.encode(word).subarray(0, 3)])] = LOOKS;
  for (const needle of needles) {
    for (const hash of new Set(beginnings(needle).map(hashOf))) {
      begins[hash] = (begins[hash] ?? 0) | VALUE;
      byHash.set(hash, [...(byHash.get(hash) ?? []), needle]);
    }
    if (needle.kind === 'base64') continue;
    const pair = hashOf(beginnings(needle)[0]?.slice(0, 2) ?? []);
    pairs.set(pair, [...(pairs.get(pair) ?? []), needle]);
  }
  return { begins, needles: byHash, pairs };
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

/** Calls `watch` with what begins between two places, in no order. */
function pass(bytes: Uint8Array, from: number, end: number, known: Known, watch: Watch): void {
  const { begins } = known;
  const wanted = watch.looks === undefined ? VALUE : LOOKS | VALUE;
  const position: Position = { next: from };
  let hash = 0;
  let one = from;
  let two = from;
  let next = from;
  for (let at = from; at < end; at = next) {
    const byte = bytes[at] as number;
    let letter = byte;
    next = at + 1;
    const kind = KIND[byte];
    if (kind === SKIPPED) continue;
    if (kind !== PLAIN) {
      letter = readLetter(bytes, at, position);
      next = position.next;
      if (ESCAPES[byte] === 1 && next > at + 1 && probe(bytes, at + 1, next, known, watch)) return;
      if (letter === NO_LETTER) continue;
    }
    hash = addTo(hash, letter);
    if (((begins[hash] as number) & wanted) !== 0 && isFound(bytes, one, hash, known, watch)) return;
    one = two;
    two = at;
  }
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

/** Where the last letters are the beginning of a value, although too few to look it up. */
function pairAt(bytes: Uint8Array, { pairs }: Known): number {
  const position: Position = { next: Math.max(0, bytes.length - SHORT_TAIL) };
  const letters: [at: number, letter: number][] = [];
  while (position.next < bytes.length) {
    const at = position.next;
    const letter = readLetter(bytes, at, position);
    if (letter !== NO_LETTER) letters.push([at, letter]);
  }
  const last = letters.slice(-3);
  for (const pair of [last.slice(0, 2), last.slice(-2)]) {
    const at = pair[0]?.[0] ?? 0;
    const needles = pairs.get(hashOf(pair.map(([, letter]) => letter))) ?? [];
    if (needles.some(needle => follow(bytes, at, needle) === OPEN)) return at;
  }
  return bytes.length;
}

const SHORT_TAIL = 64;

function createScan(known: Known): SecretScan {
  // What was not looked at yet, behind what was.
  let rest = new Uint8Array(0);
  let from = 0;
  return {
    push(bytes, isLast) {
      const all = new Uint8Array(rest.length + bytes.length);
      all.set(rest);
      all.set(bytes, rest.length);
      const end = isLast ? all.length : Math.max(from, all.length - LOOK_AHEAD);
      let isFound = false;
      const found = () => {
        isFound = true;
        return true;
      };
      pass(all, Math.max(0, from - LOOK_BACK), end, known, { value: found, looks: found });
      rest = all.slice(Math.max(0, end - LOOK_BACK));
      from = end - (all.length - rest.length);
      return isFound;
    },
  };
}

/** So many bytes are kept to look back at. */
const LOOK_BACK = 1_000;
