/** Which values of an environment are secrets, and as what they are looked for. */
import { lettersOf } from './secret-letters.ts';

/** The variables that a program is started with. */
export type Env = Readonly<Record<string, string | undefined>>;

export function secretNeedles(env: Env): readonly Needle[] {
  const values = new Set(
    Object.entries(env).flatMap(([name, value]) => (value ? secretsIn(name, value) : [])),
  );
  return [...values].flatMap(needlesOf);
}

/** What cannot be a secret although its name looks like one. */
const NO_SECRET =
  /author|tokeni[sz]|keyboard|keymap|keyring|keycode|monkey|passenger|compass|bypass|(^|_)SSH_AUTH_SOCK$|^(OLD)?PWD$/i;
const STRONG =
  /token|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|(^|_)(pat|pwd)(_|\d*$)|pass(_|\d*$)/i;
const WEAK = /key|auth|cookie|webhook|dsn/i;

/** Shorter values are words that stand in any text. */
const SHORTEST = 8;
/** Shorter ones are taken for a password where they are no plain word. */
const SHORTEST_PASSWORD = 6;
const LONG = 12;

/** What everybody uses on their own machine, and any text may hold. */
const COMMON = new Set(
  'password passw0rd postgres mysql mariadb mongodb redis rabbitmq guest admin administrator root user username test testing tester example changeme default localhost minioadmin development production secret dummy'.split(
    ' ',
  ),
);

function secretsIn(name: string, raw: string): readonly string[] {
  const value = raw.trim();
  const found = value.includes('://') ? passwordsIn(value) : [];
  const isStrong = STRONG.test(name);
  if (!isStrong && (!WEAK.test(name) || isPlainWord(value))) return found;
  if (NO_SECRET.test(name) || /^(?:[/~]|\.{1,2}\/|[A-Za-z]:\\)/.test(value)) return found;
  const lines = value.includes('\n') ? value.split('\n').filter(line => line.trim().length >= 16) : [];
  return [...found, ...[value, ...lines.map(line => line.trim())].filter(isTelling)];
}

/** Letters only, or words of letters: `interactive`, `device-code`. */
function isPlainWord(value: string): boolean {
  return /^[a-z]+(?:[-_. ][a-z]+)*$/i.test(value) && value.length < 24;
}

function isTelling(value: string): boolean {
  if (COMMON.has(value.toLowerCase()) || !/\S{6}/.test(value)) return false;
  return value.length >= (isPlainWord(value) || /^\d+$/.test(value) ? SHORTEST : SHORTEST_PASSWORD);
}

/** `scheme://user:password@host`, whatever the variable is called; a password may hold any sign. */
export function passwordsIn(value: string): readonly string[] {
  const [, user = '', password = '', place = ''] =
    /^[a-z][\w+.-]*:\/\/([^:/@]*):(.+)@([^@]*)$/is.exec(value) ?? [];
  if (password === '' || password === user || place.includes(password)) return [];
  const plain = decodeUri(password);
  return [...new Set([password, plain])].filter(isTelling);
}

/** What is not so written stays as it is. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** How a secret is looked for: the letters of a text, the digits of bytes in hex, or those of base64. */
export type NeedleKind = 'text' | 'hex' | 'base64';

export interface Needle {
  readonly kind: NeedleKind;
  readonly letters: Uint8Array;
  /** Short: it counts only where it stands as a word of its own. */
  readonly isWord: boolean;
}

const utf8 = new TextEncoder();

function needlesOf(value: string): readonly Needle[] {
  const json = JSON.stringify(value).slice(1, -1);
  const texts = distinct([value, json].map(each => utf8.encode(each)));
  const plain = distinct([...texts, byNumber(value)].map(each => lettersOf(each)))
    .filter(letters => letters.length >= SHORTEST_PASSWORD)
    .map(letters => ({ kind: 'text', letters, isWord: letters.length < LONG }) as const);
  if (value.length < SHORTEST) return plain;
  const inAddress = utf8.encode(encodeURIComponent(new TextDecoder().decode(utf8.encode(value))));
  const binary = distinct([...texts, inAddress]).flatMap(binaryNeedles);
  const twice = value.length > LONGEST_TWICE ? [] : distinct(binary.flatMap(printed)).flatMap(binaryNeedles);
  return [...plain, ...binary, ...binaryNeedles(utf16(value)), ...twice];
}

/** Each byte by its number: what looks like an escape in the value itself is none then. */
function byNumber(value: string): Uint8Array {
  const bytes = Array.from(utf8.encode(value), byte => `%${byte.toString(16).padStart(2, '0')}`);
  return utf8.encode(bytes.join(''));
}

/** A longer one is a key or a certificate: what finds it encoded twice would take longer to make than a start may. */
const LONGEST_TWICE = 256;

function distinct(all: readonly Uint8Array[]): readonly Uint8Array[] {
  return [...new Map(all.map(each => [each.join(), each])).values()];
}

function utf16(text: string): Uint8Array {
  const units = Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return Uint8Array.from({ length: 2 * text.length }, (_, at) => (units[at >> 1] ?? 0) >> (8 * (at & 1)));
}

/** In hex, and in base64 at each of the three places it can begin at, such as behind `user:`. */
function binaryNeedles(bytes: Uint8Array): readonly Needle[] {
  const base64 = [0, 1, 2].map(shift => base64Digits(bytes, shift));
  return [
    { kind: 'hex', letters: hexDigits(bytes), isWord: false },
    ...base64.map(letters => ({ kind: 'base64', letters, isWord: false }) as const),
  ];
}

function printed({ kind, letters }: Needle): readonly Uint8Array[] {
  const alphabets = kind === 'hex' ? HEX_ALPHABETS : BASE64_ALPHABETS;
  return alphabets.map(alphabet => letters.map(digit => alphabet.charCodeAt(digit)));
}

const HEX_ALPHABETS = ['0123456789abcdef', '0123456789ABCDEF'];
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const BASE64_ALPHABETS = [`${LETTERS}+/`, `${LETTERS}-_`];

/** Of a letter, as a digit of hex; 255: none. */
export const HEX_DIGIT = digitsOf(HEX_ALPHABETS);
/** Of base64, as files and as addresses have it. */
export const BASE64_DIGIT = digitsOf(BASE64_ALPHABETS);

function digitsOf(alphabets: readonly string[]): Uint8Array {
  const digits = new Uint8Array(256).fill(255);
  for (const alphabet of alphabets)
    for (let digit = 0; digit < alphabet.length; digit++) digits[alphabet.charCodeAt(digit)] = digit;
  return digits;
}

function hexDigits(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(
    { length: 2 * bytes.length },
    (_, at) => ((bytes[at >> 1] ?? 0) >> (at & 1 ? 0 : 4)) & 15,
  );
}

/** Digits that also depend on what stands before or behind are left out. */
function base64Digits(bytes: Uint8Array, shift: number): Uint8Array {
  const first = shift === 0 ? 0 : shift + 1;
  const length = Math.floor(((shift + bytes.length) * 8) / 6) - first;
  const digits = new Uint8Array(length);
  for (let at = 0; at < length; at++) {
    const bit = 6 * (first + at) - 8 * shift;
    const two = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    digits[at] = (two >> (10 - (bit & 7))) & 63;
  }
  return digits;
}
