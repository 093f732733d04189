/** Secrets that are known by their looks, whoever printed them: tokens, private keys, passwords in addresses. */

export const HIDDEN = '[redacted]';

/** How each begins, and what follows: eight word signs or more. */
const TOKENS: readonly (readonly [begin: string, rest: string])[] = [
  ['sk-ant-', '[\\w-]{16,}'],
  ['sk-', '(?:[A-Za-z0-9]{32,}|(?=[\\w-]{0,200}\\d)(?=[\\w-]{0,200}[A-Z])[\\w-]{20,})'],
  ['gh[opusr]_', '[A-Za-z0-9]{20,}'],
  ['github_pat_', '\\w{20,}'],
  ['gl(?:pat|dt|rt|ptt|cbt|ft|soat)-', '[\\w-]{20,}'],
  ['xox[abdeoprs]-', '[\\w-]{10,}'],
  ['xapp-', '\\d-[\\w-]{10,}'],
  ['(?:AKIA|ASIA)', '[A-Z0-9]{16}(?![A-Za-z0-9])'],
  ['AIza', '[\\w-]{35}'],
  ['ya29\\.', '[\\w-]{20,}'],
  ['npm_', '[A-Za-z0-9]{30,}'],
  ['pypi-', '[\\w-]{50,}'],
  ['hf_', '[A-Za-z0-9]{30,}'],
  ['dop_v1_', '[a-f0-9]{60,}'],
  ['SG\\.', '[\\w-]{16,}\\.[\\w-]{16,}'],
  ['(?:sk|rk|whsec)_', '(?:live_|test_)?[A-Za-z0-9]{16,}'],
  ['eyJ', '[\\w-]{8,4096}\\.[\\w-]{8,8192}\\.[\\w-]*'],
];
const TOKEN = new RegExp(TOKENS.map(([begin, rest]) => begin + rest).join('|'), 'y');

/** Each letter moves the hash on by five bits, so that fifteen bits hold three letters. */
const BITS = 0x7fff;

/** The first three letters of each, to look for them all at once. */
const BEGINNINGS =
  'sk- gho ghp ghu ghs ghr git glp gld glr glc glf gls xox xap AKI ASI AIz ya2 npm pyp hf_ dop SG. sk_ rk_ whs eyJ'.split(
    ' ',
  );
const nextHash = (hash: number, letter: number) => ((hash << 5) ^ letter) & BITS;
const begins = new Uint8Array(BITS + 1);
for (const word of BEGINNINGS)
  begins[Array.from(word, letter => letter.charCodeAt(0)).reduce(nextHash, 0)] = 1;

/** A token begins where a word does: at a sign, an escape such as `\n` in JSON, a colour, `%20`. */
const INSIDE_A_WORD = /[A-Za-z0-9_+/-]$/;
const WORD_BEGINS = /(?:\\[nrtbf]|\[[\d;]*m|%[0-9A-Fa-f]{2})$/;

/** Whether these letters end inside a word. */
export function isInsideWord(before: string): boolean {
  return INSIDE_A_WORD.test(before) && !WORD_BEGINS.test(before);
}

/** The key between its lines; of one that was cut off, as much as looks like a key. */
const PEM =
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:[^"'\\-]|-(?!----)|\\[nrt])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\\[nrt]|[\s>|#*])*[A-Za-z0-9+/=]{16,})+)/g;

/** What stands between the name of a header and its value, in a header, in JSON, in code. */
const HEADER =
  /((?:authorization|proxy-authorization)\\?["']?\s{0,4}[:=,]\s{0,4}\\?["'`]?(?:bearer|basic|token|digest)\s+|x-api-key\\?["']?\s{0,4}[:=,]\s{0,4}\\?["'`]?)[^\s"'`\\,]{6,}/gi;

/** What follows `://`: a user, and perhaps a password. */
const USER_INFO = /([^\s:/?#@"'<>\\`]{0,200})(?::([^\s/@"'<>\\`]{1,500}))?@/y;
/** A user of this length is a token. */
const LONG_USER = 20;
const QUERY_NAME =
  '[?&](?:access_token|auth_token|token|api_?key|password|passwd|secret|client_secret|signature|sig)=';
const SECRET_IN_QUERY = new RegExp(`(${QUERY_NAME})[^\\s&#"'<>\\\\\`]{6,}`, 'gi');
const SLACK_HOOK = /(hooks\.slack\.com\/(?:services|workflows)\/)[\w/]{8,}/g;

export function hideTokens(text: string): string {
  let clean = cutOut(text, tokensIn(text));
  if (clean.includes('PRIVATE KEY')) clean = clean.replace(PEM, HIDDEN);
  if (NAMED.test(clean)) clean = clean.replace(HEADER, `$1${HIDDEN}`);
  if (!clean.includes('://')) return clean;
  return cutOut(clean, passwordsIn(clean))
    .replace(SECRET_IN_QUERY, `$1${HIDDEN}`)
    .replace(SLACK_HOOK, `$1${HIDDEN}`);
}

const NAMED = /authorization|x-api-key/i;

/** Where one of the above may begin, by its first letters: those in small and in capital letters are one. */
export const MAY_BEGIN: readonly string[] = [
  ...BEGINNINGS,
  ...['pri', 'aut', 'x-a', '://', 'hoo'],
  ...['?', '&'].flatMap(sign => ['ac', 'au', 'to', 'ap', 'pa', 'se', 'cl', 'si'].map(name => sign + name)),
];

/** How many bytes `mayBegin` looks at: as long as a user with a password can be. */
export const LOOK_AHEAD = 3_000;

const TOKEN_BEGINS = `(?:${TOKENS.map(([begin]) => begin).join('|')})[\\w-]{8}`;
const BEGINS = new RegExp(`${TOKEN_BEGINS}|PRIVATE KEY|hooks\\.slack\\.com`, 'y');
const OTHER_BEGINS = new RegExp(`(?:authorization|x-api-key)[^]{0,16}?[:=,]|${QUERY_NAME}`, 'iy');

/** Whether one may begin with these bytes of UTF-8, as many as `LOOK_AHEAD`, or all that are left: never a wrong no. */
export function mayBegin(bytes: Uint8Array): boolean {
  if (bytes[0] === COLON) {
    USER_INFO.lastIndex = '://'.length;
    return USER_INFO.test(decode(bytes));
  }
  const text = String.fromCharCode(...bytes.subarray(0, LONGEST_BEGINNING));
  BEGINS.lastIndex = 0;
  OTHER_BEGINS.lastIndex = 0;
  return BEGINS.test(text) || OTHER_BEGINS.test(text);
}

const COLON = 0x3a;
const LONGEST_BEGINNING = 40;

let decoder: InstanceType<typeof TextDecoder> | undefined;

function decode(bytes: Uint8Array): string {
  decoder ??= new TextDecoder();
  return decoder.decode(bytes);
}

type Range = readonly [from: number, to: number];

function cutOut(text: string, ranges: readonly Range[]): string {
  let clean = '';
  let from = 0;
  for (const [start, end] of ranges) {
    clean += text.slice(from, start) + HIDDEN;
    from = end;
  }
  return from === 0 ? text : clean + text.slice(from);
}

function tokensIn(text: string): readonly Range[] {
  const found: Range[] = [];
  let end = 0;
  eachBeginning(text, at => {
    if (at < end || isInsideWord(text.slice(Math.max(0, at - 12), at))) return;
    const to = tokenEnd(text, at);
    if (to === undefined) return;
    end = to;
    found.push([at, end]);
  });
  return found;
}

/** Also where lines break it. */
function tokenEnd(text: string, at: number): number | undefined {
  TOKEN.lastIndex = at;
  const whole = TOKEN.exec(text)?.[0];
  const first = whole ?? pieceAt(text, at, FIRST_PIECE)?.word;
  if (first === undefined) return undefined;
  const pieces = [first];
  let [word, to] = [first, at + first.length];
  let end = whole === undefined ? undefined : to;
  for (let piece = pieceAt(text, to, NEXT_PIECE); piece; piece = pieceAt(text, to, NEXT_PIECE)) {
    if (FULL.test(word) || pieces.length > MOST_PIECES || word.length > LONGEST_BROKEN) break;
    if (!TOKEN_BEGIN.test(word) && word.length >= LONGEST_BEGIN) break;
    if (end !== undefined && !FULL.test(word + piece.word) && !belongs(piece.word, pieces)) break;
    pieces.push(piece.word);
    word += piece.word;
    to = piece.to;
    const token = word.length < SHORTEST_TOKEN ? undefined : matchAt(TOKEN, word);
    if (token !== undefined && (FULL.test(word) || isBroken(pieces))) end = to - word.length + token.length;
    if (token !== undefined && token.length < word.length) break;
  }
  return end;
}

/** So many letters on one line are no piece of a token that is not whole. */
const FIRST_PIECE = /([\w.-]{1,200})(?=\r?\n|\\r|\\n)/y;
const NEXT_PIECE = /(?:\r?\n|(?:\\r)?\\n)[ \t]*([\w.-]{1,4096})/y;
const LONGEST_BROKEN = 16_384;
const SHORTEST_TOKEN = 14;
const TOKEN_BEGIN = new RegExp(`^(?:${TOKENS.map(([begin]) => begin).join('|')})`);
const LONGEST_BEGIN = 'github_pat_'.length;
const MOST_PIECES = 40;
/** No word of a language: eight letters or more, with digits or both small and capital letters inside. */
const RANDOM = /^(?=.{8})(?=.*[a-z])(?=.*(?:\d|[a-z][A-Z])).*\w$/;
/** Of a kind whose length is known: no line after it belongs to it. */
const FULL =
  /^(?:gh[opusr]_\w{36}|github_pat_\w{82}|npm_\w{36}|AIza[\w-]{35}|hf_\w{34}|dop_v1_\w{64}|A[KS]IA\w{16})$/;

/** A program that breaks lines makes all of them as long, but the first and the last one. */
function isBroken([, ...rest]: readonly string[]): boolean {
  const width = rest[0]?.length ?? 0;
  const isEven = rest.slice(0, -1).every(piece => piece.length === width);
  return rest.every(piece => RANDOM.test(piece)) || (rest.length > 1 && isEven);
}

/** Whether one more line is a part of what is a token already. */
function belongs(word: string, [, ...rest]: readonly string[]): boolean {
  const width = rest[0]?.length ?? 0;
  return RANDOM.test(word) || word.length === width || (word.length < width && width <= NARROW);
}

const NARROW = 20;

function matchAt(pattern: RegExp, text: string): string | undefined {
  pattern.lastIndex = 0;
  return pattern.exec(text)?.[0];
}

function pieceAt(text: string, at: number, piece: RegExp) {
  piece.lastIndex = at;
  const word = piece.exec(text)?.[1];
  return word === undefined ? undefined : { word, to: piece.lastIndex };
}

function passwordsIn(text: string): readonly Range[] {
  const found: Range[] = [];
  for (let at = text.indexOf('://'); at !== -1; at = text.indexOf('://', at + 3)) {
    if (!/[a-z0-9]/i.test(text[at - 1] ?? '')) continue;
    USER_INFO.lastIndex = at + 3;
    const [, user = '', password] = USER_INFO.exec(text) ?? [];
    const end = USER_INFO.lastIndex - 1;
    if (password !== undefined) found.push([at + 4 + user.length, end]);
    else if (user.length >= LONG_USER && !user.includes('.')) found.push([at + 3, end]);
  }
  return found;
}

/** Where the last word begins, or the header or key that is still open: more may follow. */
export function openWord(text: string): number {
  const word = lastWord(text);
  const header =
    /(?:authorization|x-api-key)\S{0,8}\s{0,4}\S{0,10}\s*\S*$/i.exec(text.slice(-HEADER_TAIL))?.[0].length ??
    0;
  const key = text.lastIndexOf('-----BEGIN ');
  const isOpen =
    key !== -1 &&
    text.length - key < MOST_HELD &&
    !/-----END [A-Z0-9 ]*-----/.test(text.slice(key, text.length - word));
  return Math.min(text.length - Math.max(word, header), isOpen ? key : text.length);
}

/** From the end, sign by sign: a pattern would look at each place of a long line again. */
function lastWord(text: string): number {
  const most = Math.min(text.length, MOST_HELD);
  const length = lengthOfEnd(text, most, /\S/);
  if (length < MOST_HELD) return length;
  const inner = lengthOfEnd(
    text.slice(0, text.length - LONGEST_TOKEN),
    most - LONGEST_TOKEN,
    /[^"',;(){}<>|]/,
  );
  return inner === most - LONGEST_TOKEN ? LONGEST_TOKEN : LONGEST_TOKEN + inner;
}

/** How many signs of this kind stand at the end. */
function lengthOfEnd(text: string, most: number, kind: RegExp): number {
  let length = 0;
  while (length < most && kind.test(text[text.length - 1 - length] ?? '')) length++;
  return length;
}

/** Characters. A longer word is data, and a longer key is cut. */
const MOST_HELD = 16_384;
const LONGEST_TOKEN = 4_096;
const HEADER_TAIL = 200;

/** Calls `found` with each place at which a token may begin, in order: by its first three letters, hashed; lines may break them. */
function eachBeginning(text: string, found: (at: number) => void): void {
  let hash = 0;
  let one = -1;
  let two = -1;
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === LINE_END || letter === LINE_RETURN) {
      while (text[at + 1] === ' ' || text[at + 1] === '\t') at++;
      continue;
    }
    hash = nextHash(hash, letter);
    if (begins[hash] === 1 && one >= 0) found(one);
    one = two;
    two = at;
  }
}

const [LINE_END, LINE_RETURN] = [0x0a, 0x0d];
